"""Raw data files: damaged, lying and hostile ones are refused by name, without a traceback and in bounded memory."""

import contextlib
import gzip
import io
import os
import struct
import tarfile
import tracemalloc
import zipfile

import numpy as np
import pytest
from PIL import Image

from fairfl.data import checks, download, femnist, reddit
from fairfl.data.formats import archives, pictures
from fairfl.data.interface import RemoteFile
from tests.bad_input.refusals import names, refused
from tests.unit.data import tff_files


@pytest.fixture
def small_files(monkeypatch):
    monkeypatch.setattr(archives, "_LARGEST", 1000)


@contextlib.contextmanager
def at_most(mebibytes):
    """What is done inside takes no more memory than this at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < mebibytes * 2**20
    finally:
        tracemalloc.stop()


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


def header(name, size, kind=b"0"):
    """A header with any size, as base-256 (GNU) where eight digits are not enough."""
    digits = b"%011o\0" % size if 0 <= size < 8**11 else b"\x80" + size.to_bytes(11, "big", signed=size < 0)
    if size < 0:
        digits = b"\xff" + digits[1:]
    block = bytearray(512)
    block[0:100] = name.encode().ljust(100, b"\0")
    block[100:108], block[108:116], block[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    block[124:136], block[136:148], block[156:157] = digits, b"00000000000\0", kind
    block[257:265] = b"ustar  \0"
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


BOMB = b"\0" * (64 * 2**20)
TARS = [
    (b"", "damaged archive"),
    (gzip.compress(tar(member("a", b"x" * 900)))[:-20], "damaged archive"),
    (tar(member("a", b"x" * 900))[:1000], "damaged archive"),
    (header("a", 2**40) + b"x" * 512, "a has 1099511627776 bytes; expected 1000 at most"),
    (header("a", -1) + b"x" * 512, "a has -1 bytes"),
    (header("@LongLink", 2**40, b"L") + b"x" * 512, "damaged archive (a header of 1099511627776 bytes)"),
    (header("p", 2**40, b"x") + b"x" * 512, "damaged archive (a header of 1099511627776 bytes)"),
    (gzip.compress(header("p", len(BOMB), b"x") + BOMB), "damaged archive (a header of 67108864 bytes)"),
    (gzip.compress(tar(member("a", BOMB))), "a has 67108864 bytes; expected 1000 at most"),
    (tar(member("a"), member("./a")), "a is there twice"),
    (tar(member("a\nerror: x", BOMB[:2000])), r"'a\nerror: x' has 2000 bytes"),
]


@pytest.mark.parametrize(("data", "words"), TARS, ids=[f"{n}-{words[:40]}" for n, (_, words) in enumerate(TARS)])
def test_tar_archives(tmp_path, small_files, data, words):
    path = put(tmp_path / "x.tar", data)
    with at_most(40):
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


def lying(data, size):
    """The directory says that the first member has another size."""
    at = data.index(b"PK\x01\x02")
    return data[: at + 24] + struct.pack("<I", size) + data[at + 28 :]


ZIPS = [
    (b"", "damaged archive"),
    (zipped(a=b"x" * 100)[:-10], "damaged archive"),
    (zipped(b=b"x"), "has no file a"),
    (zipped(a=BOMB), "a has 67108864 bytes; expected 1000 at most"),
    (lying(zipped(a=BOMB), 100), "damaged archive"),
    (zipped(a=b"x" * 100).replace(b"\x08\x00", b"\x63\x00"), "damaged archive"),
]


@pytest.mark.parametrize(("data", "words"), ZIPS, ids=[f"{n}-{words[:40]}" for n, (_, words) in enumerate(ZIPS)])
def test_zip_archives(tmp_path, small_files, data, words):
    path = put(tmp_path / "x.zip", data)
    with at_most(8):
        refused(lambda: archives.zip_member(path, "a"), "x.zip: ", words)


# -- what is checked before anything is read -----------------------------------------------------
HEADS = [
    ("gzip", b"\x1f\x8b" + b"\xff" * 50, "truncated or damaged gzip file"),
    ("gzip", gzip.compress(BOMB), "gzip file that unpacks to more than"),
    ("zip", zipped(a=BOMB), "zip file that unpacks to more than"),
    ("torch", b"PK" + b"\0" * 100, "truncated or damaged torch file"),
]


@pytest.mark.parametrize(("magic", "data", "words"), HEADS, ids=[words[:40] for *_, words in HEADS])
def test_containers(tmp_path, monkeypatch, magic, data, words):
    monkeypatch.setattr(checks, "_HARMLESS", 2**20)
    file = RemoteFile("x", (), magic=magic, why_no_sha256="a test")
    put(tmp_path / "set" / "x", data)
    refused(lambda: checks.usable(tmp_path, file, "set"), words, "run fairfl.jobs.fetch --dataset set")


# -- links in the data folder ---------------------------------------------------------------------
FILE = RemoteFile("x", (), why_no_sha256="a test")


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


# -- pictures --------------------------------------------------------------------------------
def picture(kind, size=(32, 32)):
    out = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (*size[::-1], 3), dtype=np.uint8)).save(out, kind)
    return out.getvalue()


def huge_png():
    data = bytearray(picture("PNG"))
    data[16:24] = struct.pack(">II", 2**20, 2**20)
    return bytes(data)


PICTURES = [
    (b"", "damaged, or not a PNG file"),
    (picture("JPEG"), "damaged, or not a PNG file"),
    (picture("PNG")[:200], "damaged, or not a PNG file"),
    (picture("PNG", (16, 32)), "the image is 16x32; expected 32x32"),
    (huge_png(), ""),
]


@pytest.mark.parametrize(("data", "words"), PICTURES, ids=[words[:40] for _, words in PICTURES])
def test_pictures(data, words):
    refused(lambda: pictures.decode(data, "PNG", "a\n.png", 32), r"'a\n.png': ", words)


# -- JSON, CSV, databases ----------------------------------------------------------------------------
def leaf(folder, text):
    content = text if isinstance(text, bytes) else text.encode()
    put(folder / "femnist" / "femnist_leaf.tar.gz", gzip.compress(tar(member("all_data_0.json", content))))


def leaf_of(user="a", x="[[" + "1.0," * 783 + "1.0]]", y="[5]", size="[1]"):
    return f'{{"users": ["{user}"], "num_samples": {size}, "user_data": {{"{user}": {{"x": {x}, "y": {y}}}}}}}'


LEAF = [
    ("[" * 100_000, "nested too deep"),
    (leaf_of(x="[[NaN]]"), "NaN is no number of JSON"),
    (leaf_of(x="[[" + "1," * 783 + "9" * 5000 + "]]"), "not a file of LEAF"),
    (leaf_of(x="[[" + "true," * 783 + "true]]"), "an image has not 784 numbers"),
    (leaf_of(x="[[[" + "1," * 783 + "1]]]"), None),
    (leaf_of(x="[[" + "2," * 783 + "2]]"), "a pixel is not within 0..1"),
    (leaf_of(y="[62]"), "a label is 62; expected a whole number within 0..61"),
    (leaf_of(y="[true]"), "a label is True"),
    ('{"users": [], "num_samples": [], "user_data": {}}', "holds no characters"),
    (leaf_of(y='["' + "5" * 10**5 + '"]'), "a label is '5555"),
    (leaf_of(size="[2]"), "1 images and 1 labels; num_samples is 2"),
    (leaf_of(user="a\\nerror: x", y="[99]"), r"writer 'a\nerror: x': a label is 99"),
    (leaf_of().replace('"users"', '"users": [], "users"'), "'users' is given twice"),
    (leaf_of().replace('["a"]', '["a", "a"]').replace("[1]", "[1, 1]"), "writer a comes twice"),
]


@pytest.mark.parametrize(("text", "words"), LEAF, ids=[str(words)[:40] for _, words in LEAF])
def test_files_of_leaf(tmp_path, any_checksum, text, words):
    leaf(tmp_path, text)
    if words is None:
        assert len(femnist.prepare(tmp_path, femnist.Config(form="leaf"), 0).tensors["labels"]) == 1
    else:
        refused(lambda: femnist.prepare(tmp_path, femnist.Config(form="leaf"), 0), "femnist_leaf.tar.gz", words)
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
    (["DROP TABLE examples", "CREATE VIEW examples AS SELECT 1"], "no table examples"),
    (
        [
            "DROP TABLE client_metadata",
            "CREATE VIEW client_metadata AS WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x FROM n) SELECT 1",
        ],
        "no table client_metadata",
    ),
    (["UPDATE client_metadata SET client_id = NULL"], "user None has 1 examples; expected a name"),
    (["UPDATE client_metadata SET num_examples = -1"], "has -1 examples"),
    (["INSERT INTO client_metadata SELECT * FROM client_metadata"], "a user is given twice in all_train"),
    (["UPDATE examples SET serialized_example_proto = 'text'"], "is 'text'; expected bytes"),
    (["UPDATE examples SET serialized_example_proto = x'ffffffffffffffffffffffff'"], "not a protocol buffer message"),
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
