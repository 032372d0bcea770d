import contextlib
import errno
import os
import stat
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from fairfl.runtime import atomic, cli
from fairfl.simulation.checkpoint import Checkpoint


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


# -- a full disk ------------------------------------------------------------------------------------
@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 KiB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True)
    except OSError as error:
        pytest.skip(f"mount cannot be run: {error}")
    if done.returncode:
        pytest.skip(f"a small disk cannot be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def write_plainly(path):
    atomic.write_bytes(path, b"0" * 100_000)


def write_in_pieces(path):
    with atomic.replacing(path) as temp, temp.open("wb") as file:
        for _ in range(1000):
            file.write(b"0" * 100)


def write_table(path):
    with atomic.replacing(path) as temp:
        pq.write_table(pa.table({"a": np.random.default_rng(0).random(10_000)}), temp)


def save_checkpoint(path):
    Checkpoint(path, "id", 0).save({"x": torch.zeros(50_000)})


@pytest.mark.parametrize("write", [write_plainly, write_in_pieces, write_table, save_checkpoint])
def test_a_full_disk_keeps_the_old_file_and_is_reported_by_its_name(small_disk, write, capsys):
    path = small_disk / "x"
    path.write_text("old")
    with pytest.raises(SystemExit):
        cli.run(lambda argv: write(path))
    assert capsys.readouterr().err == f"error: {path}: No space left on device\n"
    assert path.read_text() == "old" and names(small_disk) == ["x"]
    path.write_bytes(b"0" * 60_000)  # there is room again


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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_device(tmp_path):
    with pytest.raises(OSError) as caught, atomic.replacing(tmp_path / "x"), open("/dev/full", "wb") as full:
        full.write(b"0")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "x"))
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "no", "input"), ConnectionResetError(104, "reset")])
def test_errors_about_something_else_pass_as_they_are(tmp_path, error):
    with pytest.raises(OSError) as caught, atomic.replacing(tmp_path / "x"):
        raise error
    assert caught.value is error and names(tmp_path) == []


def test_a_file_name_that_is_too_long_is_named(tmp_path):
    path = tmp_path / ("x" * 250)
    with pytest.raises(OSError) as caught:
        atomic.write_bytes(path, b"1")
    assert caught.value.filename == str(path)


# -- permits ----------------------------------------------------------------------------------------
class Refused(Exception):
    pass


@contextlib.contextmanager
def refusal():
    raise Refused
    yield


def test_without_a_permit_nothing_changes(tmp_path):
    path = tmp_path / "x"
    path.write_text("old")
    with atomic.permitted_by(refusal):
        for action in (lambda: atomic.write_bytes(path, b"new"), lambda: atomic.remove(path)):
            with pytest.raises(Refused):
                action()
    assert path.read_text() == "old" and names(tmp_path) == ["x"]
    atomic.remove(path)
    atomic.remove(path)
    assert names(tmp_path) == []


def test_a_refusal_comes_before_the_error_that_it_led_to(tmp_path):
    with atomic.permitted_by(refusal), pytest.raises(Refused), atomic.replacing(tmp_path / "x") as temp:
        temp.unlink()


def test_permits_nest(tmp_path):
    used = []

    @contextlib.contextmanager
    def permit(name):
        used.append(name)
        yield

    with atomic.permitted_by(lambda: permit("outer")):
        with contextlib.suppress(ValueError), atomic.permitted_by(lambda: permit("inner")):
            atomic.write_bytes(tmp_path / "x", b"1")
            raise ValueError
        atomic.write_bytes(tmp_path / "x", b"2")
    atomic.write_bytes(tmp_path / "x", b"3")
    assert used == ["inner", "outer"]
