import os
import stat

import pytest

from fairfl import atomic


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_write_text_makes_folders_and_leaves_one_file(tmp_path):
    path = tmp_path / "a" / "b.txt"
    atomic.write_text(path, "zwölf\n")
    assert path.read_bytes() == "zwölf\n".encode()
    assert names(path.parent) == ["b.txt"]


def test_write_bytes_replaces(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old and longer")
    atomic.write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_interruption_keeps_the_old_file_and_removes_the_new(tmp_path, error):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(error), atomic.replacing(path) as temp:
        temp.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x"]


def test_the_old_file_stands_until_the_end(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with atomic.replacing(path) as temp:
        assert temp.parent == path.parent
        temp.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_content_is_synced_before_the_rename(tmp_path, monkeypatch):
    order = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("sync"), sync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append("rename"), rename(a, b)))
    atomic.write_bytes(tmp_path / "x", b"1")
    assert order[:2] == ["sync", "rename"]


def test_mode_follows_the_umask(tmp_path):
    old = os.umask(0o022)
    try:
        atomic.write_bytes(tmp_path / "x", b"1")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644


def test_failing_rename_leaves_nothing(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError):
        atomic.write_bytes(tmp_path / "x", b"1")
    assert names(tmp_path) == ["x"]
