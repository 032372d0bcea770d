"""What a call does with results that its jobs were to replace, however it ends."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.runtime import kept, records
from fairfl.workflow.invocation import Invocation

RESULTS = "results/tiny"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def job(name: str) -> SimpleNamespace:
    outputs = (f"{RESULTS}/runs/{name}/a.json", f"{RESULTS}/runs/{name}/b.json")
    return SimpleNamespace(
        name=name, results=RESULTS, record=f"{RESULTS}/records/{name}.json", outputs=outputs, inputs=()
    )


def finish(done: SimpleNamespace, spec: str) -> None:
    for path in map(Path, done.outputs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"made": "{spec}"}}')
    records.write(Path(done.record), {"is": spec}, {}, map(Path, done.outputs))


def remove(done: SimpleNamespace) -> None:
    """As Snakemake does with the files of a job that is to start or has failed."""
    for path in done.outputs:
        Path(path).unlink(missing_ok=True)


def said_in(done: SimpleNamespace) -> str:
    record = records.read(done.record)
    assert record and not any(records.damage(path, record) for path in done.outputs)
    return record["spec"]["is"]


def call(*jobs: SimpleNamespace, keep: int = 10**6) -> Invocation:
    """One that has begun, of which all jobs are to run."""
    known = {one.name: one for one in jobs}
    rerun = SimpleNamespace(
        graph=SimpleNamespace(job=known.__getitem__),
        reason=lambda name: "edited",
        say=print,
        checksums=SimpleNamespace(save=lambda: None),
    )
    made = Invocation(lambda judge: known, lambda: rerun, keep)
    made.begin(rerun, known)
    return made


def test_one_that_cannot_be_moved_back_is_named_and_leaves_the_others_alone(monkeypatch, capsys):
    one, two = job("one"), job("two")
    for each in (one, two):
        finish(each, "old")
    running, move = call(one, two, keep=0), os.replace

    def refuse(source, target):
        if str(target) == one.outputs[1]:
            raise OSError(28, "No space left on device")
        move(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    running.end()
    assert said_in(two) == "old" and "one: what it had left stays in results/tiny/kept/one/" in capsys.readouterr().err
    (result,) = kept.of(RESULTS, "one")
    assert result.whole


# -- results that are moved out of the way of a job, and back ---------------------------------------
RECORD = Path("results/quick/records/train/a.json")
FILES = ("results/quick/runs/a/metrics.parquet", "results/quick/runs/a/summary.json")


def leave(text: str = "1", spec: str = "x") -> None:
    for path in map(Path, FILES):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"loss": {text}}}')
    records.write(RECORD, {"who": spec}, {}, map(Path, FILES))


def keep(damaged: bool = False) -> kept.Kept | None:
    return kept.keep("results/quick", "train/a", RECORD, damaged)


def test_what_is_kept_outlives_its_copy_that_was_damaged():
    """A command was killed between keeping it and its end."""
    leave()
    result = keep()
    leave()
    Path(FILES[0]).write_text('{"loss": 2}')
    again = keep()
    assert again.folder == result.folder and again.whole and not any(map(os.path.exists, (*FILES, RECORD)))


def test_a_move_that_was_killed_is_completed():
    leave()
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
    leave()
    Path(FILES[1]).unlink()
    assert keep() is None and os.path.exists(FILES[0])


def test_the_oldest_go_first():
    folders = []
    for age, spec in enumerate("abc"):
        leave(spec=spec)
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
