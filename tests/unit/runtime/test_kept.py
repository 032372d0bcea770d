"""Results that are moved out of the way of a job, and back."""

import os
from pathlib import Path

import pytest

from fairfl.runtime import kept, records

RECORD = Path("results/quick/records/train/a.json")
FILES = ("results/quick/runs/a/metrics.parquet", "results/quick/runs/a/summary.json")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def finish(text: str = "1", spec: str = "x") -> None:
    for path in map(Path, FILES):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"loss": {text}}}')
    records.write(RECORD, {"who": spec}, {}, map(Path, FILES))


def keep(damaged: bool = False) -> kept.Kept | None:
    return kept.keep("results/quick", "train/a", RECORD, damaged)


def test_what_is_kept_outlives_its_copy_that_was_damaged():
    """A command was killed between putting it back and its end."""
    finish()
    result = keep()
    result.put_back(RECORD)
    Path(FILES[0]).unlink()
    Path(FILES[0]).write_text('{"loss": 2}')
    again = keep()
    assert again.folder == result.folder and again.whole and not any(map(os.path.exists, (*FILES, RECORD)))
    result.put_back(RECORD)
    os.replace(result.folder / "1", FILES[1])  # and here before it was whole
    assert keep().whole


def test_a_move_that_was_killed_is_completed():
    finish()
    result = keep()
    os.replace(result.folder / "1", FILES[1])
    result.gather()
    assert not os.path.exists(FILES[1]) and result.whole
    os.replace(result.folder / "1", FILES[1])
    Path(FILES[1]).write_text('{"loss": 2}')  # another job's
    result.gather()
    assert os.path.exists(FILES[1])


def test_what_never_finished_is_not_kept():
    assert keep() is None
    finish()
    Path(FILES[1]).unlink()
    assert keep() is None and os.path.exists(FILES[0])


def test_the_oldest_go_first():
    folders = []
    for age, spec in enumerate("abc"):
        finish(spec=spec)
        folders.append(keep().folder)
        os.utime(folders[-1], (age, age))
    size = sum(file.stat().st_size for file in folders[0].iterdir())
    kept.trim("results/quick", 2 * size)
    assert [folder.exists() for folder in folders] == [False, True, True]
    assert [found.record["spec"]["who"] for found in kept.of("results/quick", "train/a")] == ["c", "b"]
    kept.trim("results/quick", 0, {folders[1]})
    assert [folder.exists() for folder in folders] == [False, True, False]
    kept.trim("results/quick", 0)
    assert not Path("results/quick/kept").exists()
