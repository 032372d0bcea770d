"""Raw data files: damaged ones are refused by name, without a traceback."""

import gzip
import os
import tarfile

import numpy as np
import pytest

from fairfl.data import checks, femnist, reddit
from fairfl.data.download import FileSources
from fairfl.data.formats import archives
from fairfl.data.interface import RemoteFile
from tests.bad_input.refusals import MISTAKES, names, refused
from tests.unit.data import toys
from tests.unit.data.toys import member, put


def tar(*members):
    return toys.tar(members, "w")


def zipped(**contents):
    return toys.zipped(contents.items())


def leaf(x="[[" + "1.0," * 783 + "1.0]]", y="[5]", users='["a"]', data=None):
    data = data or f'{{"a": {{"x": {x}, "y": {y}}}}}'
    return f'{{"users": {users}, "user_data": {data}}}'


def words_of(users):
    return f'{{"users": {users}, "user_data": {{"a": {{"x": [[["a"]]], "y": [[["a"]]]}}}}}}'


# Readers of one file below a folder, and what stands in it.
def read_tar(folder, data):
    list(archives.read_members(put(folder / "x.tar", data), lambda name: True))


def read_zip(folder, data):
    archives.read_zip_member(put(folder / "x.zip", data), "a")


def read_leaf(folder, text):
    put(folder / "femnist/femnist_leaf.tar.gz", toys.tar([("all_data_0.json", text.encode())]))
    return femnist.prepare(folder, femnist.Config(form="leaf"), 0).tensors["labels"]


def read_reddit(folder, text):
    parts = [(f"new_small_data/{part}_data.json", text) for part in ("train", "val", "test")]
    put(folder / "reddit/reddit_subsampled.zip", toys.zipped(parts))
    reddit.prepare(folder, reddit.Config(), 0)


def read_database(folder, statements):
    good = toys.example(pixels=np.ones(784), label=3)
    rows = {("a", "all_train"): [good], ("b", "all_test"): [good]}
    put(folder / "femnist/emnist_all.sqlite.lzma", toys.database(rows, statements))
    return femnist.prepare(folder, femnist.Config(form="tff"), 0).tensors["labels"]


FILES = [
    (read_tar, b"", "x.tar: damaged archive"),
    (read_tar, gzip.compress(tar(member("a", b"x" * 900)))[:-20], "x.tar: damaged archive"),
    (read_tar, tar(member("a\nerror: x"), member("./a\nerror: x")), r"'a\nerror: x' is there twice"),
    (read_zip, zipped(a=b"x" * 100)[:-10], "x.zip: damaged archive"),
    (read_zip, zipped(b=b"x"), "x.zip: damaged archive"),
    (read_zip, zipped(a=b"x" * 100).replace(b"\x08\x00", b"\x63\x00"), "x.zip: damaged archive"),
    (read_leaf, "[" * 100_000, "nested too deep"),
    (read_leaf, leaf(x="[[" + "2," * 783 + "2]]"), "a pixel is not within 0..1"),
    *((read_leaf, leaf(**given), words) for given, words in MISTAKES["leaf"]),
    (read_reddit, "{", "reddit_subsampled.zip: "),
    (read_reddit, words_of('["a", "a"]'), "'a' is given twice"),
    (read_reddit, words_of("null"), "not in LEAF's form"),
    (read_reddit, words_of('["a"]'), "a piece of 1 words with 1 targets; expected 10"),
    (read_database, ["DROP TABLE examples"], "not the database that is expected (no such table: examples)"),
    (read_database, ["UPDATE examples SET serialized_example_proto = 'text'"], "emnist_all.sqlite.lzma: not the datab"),
    (read_database, ["UPDATE examples SET serialized_example_proto = x''"], "not stored as a tf.train.Example with 'p"),
]


@pytest.mark.parametrize(("read", "given", "words"), FILES, ids=[f"{c[0].__name__}-{c[2][:40]}" for c in FILES])
def test_damaged_files(tmp_path, any_checksum, read, given, words):
    refused(lambda: read(tmp_path, given), words)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_whole_files_are_read(tmp_path, any_checksum):
    assert len(read_leaf(tmp_path, leaf())) == 1 and len(read_database(tmp_path, [])) == 2


LINKS = [("/etc/passwd", tarfile.SYMTYPE), ("../secret", tarfile.LNKTYPE), ("", tarfile.FIFOTYPE)]


@pytest.mark.parametrize(("link", "kind"), LINKS)
def test_links_and_devices_in_archives_are_never_followed(tmp_path, link, kind):
    put(tmp_path / "secret", b"secret")
    path = put(tmp_path / "in" / "x.tar", tar(member("other"), member("wanted", kind=kind, link=link)))
    assert list(archives.read_members(path, "wanted".__eq__)) == []


@pytest.mark.parametrize("name", ["../x", "/tmp/fairfl-x", "~/x"])
def test_names_in_archives_are_no_paths(tmp_path, name):
    path = put(tmp_path / "in" / "x.tar", tar(member(name, b"evil")))
    assert [data for _, data in archives.read_members(path, lambda _: True)] == [b"evil"]
    assert archives.read_zip_member(put(tmp_path / "in" / "x.zip", zipped(**{name: b"evil"})), name) == b"evil"
    assert names(tmp_path) == ["in", "in/x.tar", "in/x.zip"]


# -- the data folder and mirrors ----------------------------------------------------------------------
FILE = RemoteFile("x")


def test_a_bad_container_is_named_with_what_fetches_it(tmp_path):
    put(tmp_path / "set" / "x", b"PK" + b"\0" * 100)
    words = "truncated or damaged torch file", "run fairfl.jobs.fetch --dataset set"
    refused(lambda: checks.usable(tmp_path, RemoteFile("x", magic="torch"), "set"), *words)


def test_a_bad_file_behind_a_link_stays_where_it_is(tmp_path, capsys):
    put(tmp_path / "elsewhere" / "y", b"<html>")
    (tmp_path / "data" / "set").mkdir(parents=True)
    (tmp_path / "data" / "set" / "x").symlink_to(tmp_path / "elsewhere" / "y")
    refused(lambda: FileSources(tmp_path / "data").find(FILE, "set"), "a web page", "set aside as x.bad-")
    assert (tmp_path / "elsewhere" / "y").read_bytes() == b"<html>"
    assert not (tmp_path / "data" / "set" / "x").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "gone"])
def test_what_is_no_regular_file_is_not_opened(tmp_path, kind):
    place = tmp_path / "set" / "x"
    place.parent.mkdir()
    {"folder": place.mkdir, "pipe": lambda: os.mkfifo(place), "gone": lambda: place.symlink_to("nowhere")}[kind]()
    refused(lambda: checks.usable(tmp_path, FILE, "set"), "not a regular file")
    refused(lambda: FileSources(tmp_path).find(FILE, "set"), "not a regular file", "What to do")
    refused(lambda: FileSources(tmp_path / "other", [str(tmp_path)]).find(FILE, "set"), "not a regular file")
