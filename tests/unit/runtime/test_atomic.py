import errno
import os
import stat

import pytest

from fairfl.runtime import atomic


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_interruption_keeps_the_old_file_and_removes_the_new(tmp_path, error):
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(error), atomic.replacing(path) as temp:
        temp.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x"]


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


# -- a full disk ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("at", ["fsync", "replace", "open"])
def test_a_full_disk_at_any_step(tmp_path, monkeypatch, at, number):
    path = tmp_path / "x"
    path.write_text("old")

    def fail(first, *rest):
        raise OSError(number, "full", *([] if at == "fsync" else [first]))

    with monkeypatch.context() as patch, pytest.raises(OSError) as caught:
        patch.setattr(os, at, fail)
        atomic.write_bytes(path, b"new")
    assert (caught.value.errno, caught.value.filename, caught.value.filename2) == (number, str(path), None)
    assert path.read_text() == "old" and names(tmp_path) == ["x"]


def test_a_file_name_that_is_too_long_is_named(tmp_path):
    path = tmp_path / ("x" * 250)
    with pytest.raises(OSError) as caught:
        atomic.write_bytes(path, b"1")
    assert caught.value.filename == str(path)


def test_only_temporary_files_of_the_named_files_are_swept(tmp_path):
    left = [".q=1.0.json.123-0123abcd.tmp", ".checkpoint.pt.4-deadbeef.tmp"]
    others = [
        ".q=1.0.json.gz.123-0123abcd.tmp",  # another job's, alive
        ".json.123-0123abcd.tmp",
        "q=1.0.json.123-0123abcd.tmp",
        ".q=1.0.json.tmp",
        ".q=1.0.json.123-0123abcd.tmp.txt",
    ]
    for name in left + others:
        (tmp_path / name).write_text("")
    atomic.sweep([tmp_path / "q=1.0.json", tmp_path / "checkpoint.pt", tmp_path / "no/such/folder/x"])
    assert names(tmp_path) == sorted(others)
