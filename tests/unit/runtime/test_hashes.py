"""Hashes of files that planning asks for again and again: read once for each state, by this process and the next."""

import os
import time

import pytest

from fairfl.runtime import hashes


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A file that has not changed for a while, which no test waits for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(hashes, "SETTLED_NS", -1)
    forget()
    yield tmp_path / "weights.pth"
    forget()


def forget() -> None:
    """As a new process knows nothing."""
    hashes._index.cache_clear()


def reads(monkeypatch) -> list:
    read, digest = [], hashes._read
    monkeypatch.setattr(hashes, "_read", lambda path: read.append(path) or digest(path))
    return read


def test_a_file_is_read_once_for_each_state(path, monkeypatch):
    path.write_bytes(b"first")
    read, first = reads(monkeypatch), hashes.sha256(path)
    assert hashes.sha256(path) == first and len(read) == 1
    forget()
    assert hashes.sha256(path) == first and len(read) == 1
    time.sleep(0.02)  # clocks of file systems tick
    before = path.stat()
    with path.open("r+b") as file:  # the same inode, size and time of modification
        file.write(b"other")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert hashes.sha256(path) != first and len(read) == 2


def test_a_file_that_has_just_changed_is_read_again(path, monkeypatch):
    """Two changes within one tick of the clock look like one."""
    monkeypatch.setattr(hashes, "SETTLED_NS", 10**12)
    path.write_bytes(b"first")
    read = reads(monkeypatch)
    assert hashes.sha256(path) == hashes.sha256(path) and len(read) == 2


@pytest.mark.parametrize("damaged", ["{", "[]", '{"%s": 1}', '{"%s": []}'])
def test_a_damaged_memory_is_no_memory(path, damaged):
    path.write_bytes(b"first")
    first = hashes.sha256(path)
    hashes.MEMORY.write_text(damaged.replace("%s", str(path)))
    forget()
    assert hashes.sha256(path) == first


def test_a_file_of_a_job_is_checked_once_for_each_state(path):
    def is_known(index: hashes.Index, checksum: str = "sum") -> bool:
        return index.has(str(path), path.stat(), checksum)

    path.write_text("1")
    index = hashes.Index(hashes.INTACT)
    assert [is_known(index), is_known(index)] == [False, True]
    index.save()
    assert is_known(hashes.Index(hashes.INTACT)) and not is_known(hashes.Index(hashes.INTACT), "another sum")
    before = path.stat()
    with path.open("r+") as file:  # the same inode, size and time of modification
        file.write("2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_known(hashes.Index(hashes.INTACT))
