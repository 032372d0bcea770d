"""Raw data files: damaged ones are refused by name, without a traceback."""

import gzip
import io
import os
import tarfile
import zipfile

import numpy as np
import pytest

from fairfl.data import checks, download, femnist, reddit
from fairfl.data.formats import archives
from fairfl.data.interface import RemoteFile
from tests.bad_input.refusals import names, refused
from tests.unit.data import tff_files


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


# -- tar --------------------------------------------------------------------------------------------
def member(name, content=b"x", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.size, info.type = len(content) if kind == tarfile.REGTYPE else 0, kind
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def tar(*members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content) if info.type == tarfile.REGTYPE else None)
    return out.getvalue()


TARS = [
    (b"", "damaged archive"),
    (gzip.compress(tar(member("a", b"x" * 900)))[:-20], "damaged archive"),
    (tar(member("a", b"x" * 900))[:1000], "damaged archive"),
    (tar(member("a"), member("./a")), "a is there twice"),
    (tar(member("a\nerror: x"), member("a\nerror: x")), r"'a\nerror: x' is there twice"),
]


@pytest.mark.parametrize(("data", "words"), TARS, ids=[f"{n}-{words[:40]}" for n, (_, words) in enumerate(TARS)])
def test_tar_archives(tmp_path, data, words):
    path = put(tmp_path / "x.tar", data)
    refused(lambda: list(archives.members(path, lambda name: True)), "x.tar: ", words)
    assert names(tmp_path) == ["x.tar"]


LINKS = [
    member("wanted", kind=tarfile.SYMTYPE, linkname="/etc/passwd"),
    member("wanted", kind=tarfile.LNKTYPE, linkname="../secret"),
    member("wanted", kind=tarfile.CHRTYPE, devmajor=1, devminor=5),
    member("wanted", kind=tarfile.FIFOTYPE),
]


@pytest.mark.parametrize("link", LINKS, ids=lambda link: f"{link[0].type}{link[0].linkname}")
def test_links_and_devices_in_archives_are_never_followed(tmp_path, link):
    put(tmp_path / "secret", b"secret")
    path = put(tmp_path / "in" / "x.tar", tar(member("other", b"o"), link))
    assert list(archives.members(path, "wanted".__eq__)) == []


@pytest.mark.parametrize("name", ["../x", "/tmp/fairfl-x", "a/../../x", "~/x", "C:\\x", "x/"])
def test_names_in_archives_are_no_paths(tmp_path, name):
    path = put(tmp_path / "in" / "x.tar", tar(member(name, b"evil")))
    assert [data for _, data in archives.members(path, lambda _: True)] == [b"evil"]
    assert archives.zip_member(put(tmp_path / "in" / "x.zip", zipped(**{name: b"evil"})), name) == b"evil"
    assert names(tmp_path) == ["in", "in/x.tar", "in/x.zip"]


# -- zip --------------------------------------------------------------------------------------------
def zipped(**contents):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return out.getvalue()


ZIPS = [b"", zipped(a=b"x" * 100)[:-10], zipped(b=b"x"), zipped(a=b"x" * 100).replace(b"\x08\x00", b"\x63\x00")]


@pytest.mark.parametrize("data", ZIPS, ids=range(len(ZIPS)))
def test_zip_archives(tmp_path, data):
    path = put(tmp_path / "x.zip", data)
    refused(lambda: archives.zip_member(path, "a"), "x.zip: damaged archive")


# -- what is checked before anything is read -----------------------------------------------------
def test_containers(tmp_path):
    put(tmp_path / "set" / "x", b"PK" + b"\0" * 100)
    file = RemoteFile("x", magic="torch")
    refused(
        lambda: checks.usable(tmp_path, file, "set"),
        "truncated or damaged torch file",
        "run fairfl.jobs.fetch --dataset set",
    )


# -- links in the data folder ---------------------------------------------------------------------
FILE = RemoteFile("x")


def test_a_bad_file_behind_a_link_stays_where_it_is(tmp_path, capsys):
    put(tmp_path / "elsewhere" / "y", b"<html>")
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "data" / "set" / "x").symlink_to(tmp_path / "elsewhere" / "y")
    refused(lambda: download.find(FILE, "set", tmp_path / "data", []), "a web page", "set aside as x.bad-")
    assert (tmp_path / "elsewhere" / "y").read_bytes() == b"<html>"
    assert not (tmp_path / "data" / "set" / "x").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "circle", "gone"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, kind):
    place = tmp_path / "set" / "x"
    place.parent.mkdir()
    {
        "folder": lambda: place.mkdir(),
        "pipe": lambda: os.mkfifo(place),
        "circle": lambda: place.symlink_to("x"),
        "gone": lambda: place.symlink_to("nowhere"),
    }[kind]()
    fault = "is not a regular file" if kind in ("folder", "pipe") else "is missing"
    refused(lambda: checks.usable(tmp_path, FILE, "set"), fault)
    refused(lambda: download.find(FILE, "set", tmp_path, []), "not a regular file", "What to do")
    refused(lambda: download.find(FILE, "set", tmp_path / "other", [str(tmp_path)]), "not a regular file")


MIRRORS = [
    ("~nobody-of-this-name/x", "missing (no such folder)"),
    ("http://[x", "no address (Invalid IPv6 URL)"),
    ("a\0b", "missing"),
]


@pytest.mark.parametrize(("mirror", "words"), MIRRORS, ids=lambda v: repr(v)[:20])
def test_mirrors_that_are_none(tmp_path, mirror, words):
    refused(lambda: download.find(FILE, "set", tmp_path, [mirror]), "no usable copy of x", words)
    assert names(tmp_path) == []


# -- JSON, CSV, databases ----------------------------------------------------------------------------
def leaf(folder, text):
    content = text if isinstance(text, bytes) else text.encode()
    put(folder / "femnist" / "femnist_leaf.tar.gz", gzip.compress(tar(member("all_data_0.json", content))))


def leaf_of(user="a", x="[[" + "1.0," * 783 + "1.0]]", y="[5]"):
    return f'{{"users": ["{user}"], "user_data": {{"{user}": {{"x": {x}, "y": {y}}}}}}}'


LEAF = [
    ("[" * 100_000, "nested too deep"),
    (leaf_of(x="[[NaN]]"), "NaN is no number of JSON"),
    (leaf_of(x="[[" + "1," * 783 + "9" * 5000 + "]]"), "not a file of LEAF"),
    (leaf_of(x="[[1,2]]"), "not a file of LEAF (cannot reshape"),
    (leaf_of(x="[[[" + "1," * 783 + "1]]]"), None),
    (leaf_of(x="[[" + "2," * 783 + "2]]"), "a pixel is not within 0..1"),
    (leaf_of(y="[62]"), "labels row 0 is 62; expected 0..61"),
    (leaf_of(y="[5, 5]"), "writer a has 1 images and 2 labels"),
    ('{"users": [], "user_data": {}}', "holds no characters"),
    (leaf_of().replace('"users"', '"users": [], "users"'), "'users' is given twice"),
    (leaf_of().replace('["a"]', '["a", "a"]'), "writer a comes twice"),
]


@pytest.mark.parametrize(("text", "words"), LEAF, ids=[str(words)[:40] for _, words in LEAF])
def test_files_of_leaf(tmp_path, any_checksum, text, words):
    leaf(tmp_path, text)
    if words is None:
        assert len(femnist.prepare(tmp_path, femnist.Config(form="leaf"), 0).tensors["labels"]) == 1
    else:
        refused(lambda: femnist.prepare(tmp_path, femnist.Config(form="leaf"), 0), "femnist", words)
    assert names(tmp_path / "femnist") == ["femnist_leaf.tar.gz"]


PIECE = '{"x": [[["a"]]], "y": [[["a"]]]}'
REDDIT = [
    ("{", "not in LEAF's form"),
    ("[" * 10**5, "nested too deep"),
    ('{"users": ["a", "a"], "user_data": {"a": ' + PIECE + "}}", "'a' is given twice"),
    ('{"users": null, "user_data": {}}', "not in LEAF's form"),
    ('{"users": ["a"], "user_data": {"a": ' + PIECE + "}}", "a piece of 1 words with 1 targets; expected 10"),
]


@pytest.mark.parametrize(("text", "words"), REDDIT, ids=[words[:30] for _, words in REDDIT])
def test_files_of_reddit(tmp_path, any_checksum, text, words):
    parts = {f"new_small_data/{part}_data.json": text for part in ("train", "val", "test")}
    put(tmp_path / "reddit" / "reddit_subsampled.zip", zipped(**parts))
    refused(lambda: reddit.prepare(tmp_path, reddit.Config(), 0), "reddit_subsampled.zip: ", words)


GOOD = tff_files.example(pixels=np.ones(784), label=3)
DATABASES = [
    ([], None),
    (["DROP TABLE examples"], "not the database that is expected (no such table: examples)"),
    (["UPDATE examples SET serialized_example_proto = 'text'"], "not the database that is expected"),
    (["UPDATE examples SET serialized_example_proto = x'ffffffff'"], "not the database that is expected"),
    (["UPDATE examples SET serialized_example_proto = x''"], "not stored as a tf.train.Example with 'pixels'"),
    (["ALTER TABLE examples RENAME COLUMN client_id TO client"], "no such column: client_id"),
]


@pytest.mark.parametrize(("statements", "words"), DATABASES, ids=[str(words)[:40] for _, words in DATABASES])
def test_databases(tmp_path, any_checksum, statements, words):
    path = tmp_path / "femnist" / "emnist_all.sqlite.lzma"
    tff_files.pack(path, {("a", "all_train"): [GOOD], ("b", "all_test"): [GOOD]}, statements)
    if words is None:
        assert len(femnist.prepare(tmp_path, femnist.Config(form="tff"), 0).tensors["labels"]) == 2
    else:
        refused(lambda: femnist.prepare(tmp_path, femnist.Config(form="tff"), 0), "emnist_all.sqlite.lzma: ", words)
    assert names(tmp_path / "femnist") == [path.name]
