"""Hashes of files that planning asks for again and again: read once for each state, by this process and the next."""

import os
import tracemalloc
from pathlib import Path

import pytest

from fairfl.runtime import hashes


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file that has not changed for a while, which no test waits for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    (tmp_path / "weights.pth").write_bytes(b"first")
    return tmp_path / "weights.pth"


def reads(path) -> tuple[set[str], int]:
    """Checksums that a plan finds and keeps for the next one, and how often it has read the file."""
    read = []
    index = hashes.Index(hashes.OUTPUTS, lambda place: read.append(place) or Path(place).read_text())
    found = {index.checksum(str(path)) for _ in range(2)}
    index.save()
    return found, len(read)


def test_a_file_is_read_once_for_each_state(path):
    assert [reads(path), reads(path)] == [({"first"}, 1), ({"first"}, 0)]
    before = path.stat()
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the clock of the file system ticks
        with path.open("r+b") as file:  # the same inode, size and time of modification
            file.write(b"other")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [reads(path), reads(path)] == [({"other"}, 1), ({"other"}, 0)]


def test_a_file_that_has_just_changed_is_read_again(path, monkeypatch):
    """Two changes within one tick of the clock look like one."""
    monkeypatch.setattr(hashes, "SETTLED_NS", 10**12)
    assert reads(path) == reads(path) == ({"first"}, 2)


@pytest.mark.parametrize("damaged", ["{", "[]", '{"%s": 1}', '{"%s": []}'])
def test_a_damaged_memory_is_no_memory(path, damaged):
    hashes.OUTPUTS.write_text(damaged.replace("%s", str(path)))
    assert reads(path) == ({"first"}, 1)


def test_sha256_is_kept_for_the_next_plan(path):
    hashes._index.cache_clear()
    first = hashes.sha256(path)
    assert first == "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e"
    assert first in hashes.MEMORY.read_text()
    hashes._index.cache_clear()


def test_a_large_file_is_not_read_into_memory(path):
    with path.open("wb") as file:
        file.truncate(2**26)
    tracemalloc.start()
    try:
        hashes.sha256(path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()
