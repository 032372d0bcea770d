"""What a call does with results that its jobs were to replace or to put back, however it ends."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.runtime import kept, records
from fairfl.workflow.invocation import Call
from fairfl.workflow.rerun import KEPT, RerunDecision

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


def call(*jobs: SimpleNamespace, back: dict[str, kept.Kept] | None = None, keep: int = 10**6) -> Call:
    """One that has begun. `back`: what is to be put back, by job."""
    back = back or {}
    known = {one.name: one for one in jobs}
    rerun = SimpleNamespace(
        graph=SimpleNamespace(job=known.__getitem__),
        verdict=lambda name: RerunDecision(KEPT if name in back else "edited"),
        restored=[{"job": name} for name in back],
        kept=back,
        say=print,
        intact=SimpleNamespace(save=lambda: None),
    )
    made = Call(lambda judge: known, lambda: rerun, keep)
    made.begin(rerun, [name for name in known if name not in back])
    return made


def superseded(one: SimpleNamespace) -> kept.Kept:
    """The result `first` is kept, that of `second` is in its place."""
    finish(one, "first")
    result = kept.keep(RESULTS, one.name, Path(one.record), damaged=False)
    finish(one, "second")
    return result


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


@pytest.mark.parametrize("keep", [0, 10**6])
@pytest.mark.parametrize("begun", [False, True])
def test_what_could_not_be_put_back_is_still_kept(keep, begun):
    one = job("one")
    running = call(one, back={"one": (result := superseded(one))}, keep=keep)
    if begun:
        result.put_back(Path(one.record))
        remove(one)
    running.end()
    assert said_in(one) == "second" and result.whole
