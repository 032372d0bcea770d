"""The copy of the project that jobs work from."""

import errno
import os
import py_compile
import shutil
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from fairfl.runtime import locks, sealed
from fairfl.workflow import snapshot
from fairfl.workflow.session import Session

MODULE = "src/fairfl/a.py"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed, "contents", {})
    for name in (MODULE, "src/opacus.py", "papers/p.yaml", "papers/reported/p/t.csv", "scales/s.yaml", "config.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    os.mkfifo(tmp_path / "src/fairfl/pipe")
    (tmp_path / "src/fairfl/link.py").symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "elsewhere.py").write_text("linked")
    (tmp_path / "papers/gone.yaml").symlink_to("nowhere")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {sealed.LOCK}


def test_a_copy_has_the_package_and_settings_and_nothing_that_may_shadow_a_library(root):
    copy = snapshot.take(root, root / "results")
    assert names(copy) == {
        MODULE, "src/fairfl/link.py", "papers/p.yaml", "papers/reported/p/t.csv", "scales/s.yaml", "config.yaml"
    }  # fmt: skip
    (root / "elsewhere.py").write_text("edited")
    assert (copy / "src/fairfl/link.py").read_text() == "linked"
    assert snapshot.edited(root, copy) == ["src/fairfl/link.py"]


def test_what_planning_has_read_is_what_is_copied(root):
    sealed.read_bytes(root / MODULE)
    sealed.read_bytes(root / "scales/s.yaml")
    (root / MODULE).write_text("edited")
    (root / "scales/s.yaml").unlink()
    copy = snapshot.take(root, root / "results")
    assert (copy / MODULE).read_text() == MODULE and (copy / "scales/s.yaml").read_text() == "scales/s.yaml"
    assert snapshot.edited(root, copy) == ["scales/s.yaml", MODULE]


def test_what_a_report_has_written_into_the_record_is_no_edit(root):
    """It is copied all the same: the page and the next plan read it."""
    record = root / "results/recorded/claims.csv"
    record.parent.mkdir(parents=True)
    record.write_text("before")
    copy = snapshot.take(root, root / "results/full")
    record.write_text("after")
    assert (copy / "results/recorded/claims.csv").read_text() == "before" and snapshot.edited(root, copy) == []


def test_large_files_are_copied_only_if_planning_has_read_them(root, monkeypatch):
    monkeypatch.setattr(snapshot, "_LARGEST", 100)
    for name in ("papers/weights.bin", "src/fairfl/read.bin"):
        (root / name).write_bytes(bytes(101))
    sealed.read_bytes(root / "src/fairfl/read.bin")
    copy = snapshot.take(root, root / "results")
    assert (copy / "src/fairfl/read.bin").exists() and not (copy / "papers/weights.bin").exists()
    assert snapshot.edited(root, copy) == [] and snapshot.take(root, root / "results") == copy
    (root / "src/fairfl/read.bin").write_bytes(bytes(102))
    assert snapshot.edited(root, copy) == ["src/fairfl/read.bin"]


@pytest.mark.parametrize("deleted", [False, True])
def test_the_last_words_tell_an_edit_from_a_copy_that_was_deleted(root, monkeypatch, deleted):
    copy, said = snapshot.take(root, root / "results"), []
    (root / MODULE).write_text("edited")
    if deleted:
        shutil.rmtree(copy)
    monkeypatch.setenv(sealed.VARIABLE, str(copy))
    session = Session.__new__(Session)
    session.display, session.root, session.say = None, root, said.append
    session._say_last_words()
    words = " was deleted while jobs worked from it" if deleted else f"edited meanwhile: {MODULE}; "
    assert len(said) == 1 and words in said[0]


def test_a_name_that_is_no_text_is_copied(root):
    odd = Path(os.fsdecode(b"papers/notes-\xe9.txt"))
    (root / odd).write_text("odd")
    copy = snapshot.take(root, root / "results")
    assert (copy / odd).read_text() == "odd" and snapshot.edited(root, copy) == []


def test_a_copy_is_taken_again_unless_it_was_damaged(root):
    copy = snapshot.take(root, root / "results")
    made = (copy / MODULE).stat().st_ino
    assert snapshot.take(root, root / "results") == copy and (copy / MODULE).stat().st_ino == made
    (copy / MODULE).chmod(0o644)
    (copy / MODULE).write_text("damaged")
    assert snapshot.take(root, root / "results") == copy and (copy / MODULE).read_text() == MODULE
    assert snapshot.edited(root, copy) == []


def test_old_copies_go_when_no_job_uses_them(root):
    first = snapshot.take(root, root / "results")
    (root / MODULE).write_text("second")
    with locks.use(first / sealed.LOCK):
        second = snapshot.take(root, root / "results")
        assert first != second and first.is_dir()
    (second.parent / ".half").mkdir()  # of a call that was killed
    snapshot.take(root, root / "results")
    assert list(second.parent.iterdir()) == [second]


def test_bytecode_comes_along_only_for_the_same_source(root):
    (root / MODULE).write_text("X = 1")
    (root / "src/fairfl/b.py").write_text("Y = 1")
    old = snapshot.take(root, root / "results")
    for name in (MODULE, "src/fairfl/b.py"):
        py_compile.compile(str(old / name))
    (root / "src/fairfl/b.py").write_text("Y = 2")
    new = snapshot.take(root, root / "results")
    assert Path(cache_from_source(str(new / MODULE))).exists() and (new / MODULE).stat().st_mtime < 2**32
    assert not Path(cache_from_source(str(new / "src/fairfl/b.py"))).exists()


def test_a_full_disk_is_named_and_leaves_no_half_of_a_copy(root, monkeypatch):
    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a write says it: without a file

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*results/\.code/\."):
        snapshot.take(root, root / "results")
    assert not list((root / "results/.code").iterdir())
