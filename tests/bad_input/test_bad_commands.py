"""Command lines of all jobs: specs, options and files that cannot be are one `error:` line, and nothing is left."""

import json
from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bad_input.refusals import MISTAKES, command_refused, names
from tests.unit.edited_papers import ROOT, changed
from tests.unit.jobs import test_calibrate, test_collect, test_timing, test_train, test_tune

COMMANDS = MISTAKES["commands"]
GIVEN = COMMANDS["specs"]  # by rule, without what tests of the jobs have
ALONE = ("model", "loss", "optimizer", "learning_rate", "weight_decay", "batch_size", "precision", "seed")
LEARNT = {key: test_train.SPEC[key] for key in ALONE}
WHOLE = {
    "train": test_train.SPEC,
    "local_optimum": LEARNT | GIVEN["local_optimum"],
    "surrogate": LEARNT | GIVEN["surrogate"],
    "timing": test_timing.SPEC | {"variants": [test_timing.VARIANT | {"loss": "x"}]},
    "partition": GIVEN["partition"],
    "tune": test_tune.SPEC,
    "collect": test_collect.SPEC,
    "table": GIVEN["table"],
    "figure": GIVEN["table"],
    "prepare": {"name": "digit"},
}
JUDGED = ["--root", str(ROOT), "--results", "results", "--out", "out", "--config"]


def line(job, spec, *more):
    return job, ["--spec", spec, *COMMANDS["options"][job].split(), *more]


def lines():
    """(job, its command line, words of the refusal)."""
    for job, changes, words in COMMANDS["spec"]:
        yield *line(job, json.dumps(changed(WHOLE[job], changes))), words
    for spec in [*COMMANDS["no_spec"], "[" * 10**5]:
        yield *line("train", spec), "--spec"
    for *option, words in COMMANDS["option"]:
        yield *line("train", json.dumps(test_train.SPEC | test_train.EAGLE), "--record", "r", *option), words
    for more, words in COMMANDS["fetch"]:
        yield "fetch", ["--offline", "--out", "marker.json", *more.split()], words
    for job in ("comparison", "claims"):  # without files of our numbers all of these would seem not to have run
        yield job, [*JUDGED, COMMANDS["judged"]], "--spec"
    for config, words in COMMANDS["config"]:
        yield "comparison", [*JUDGED, config], words
        yield "plan", ["--root", str(ROOT), "--config", config], words


LINES = [*lines()]


@pytest.fixture
def refuses(tmp_path, monkeypatch, capsys):
    """Runs a command where the files of a training are, and leaves them as they are."""
    monkeypatch.chdir(tmp_path)
    test_train.Job(tmp_path)

    def run(job, argv, words):
        before = names(tmp_path)
        module = import_module("fairfl.planning.plan" if job == "plan" else f"fairfl.jobs.{job}")
        code = 2 if "--threads" in argv or "--backend" in argv else 1
        command_refused(module.main, argv, capsys, words, code=code)
        assert names(tmp_path) == before

    return run


@pytest.mark.parametrize(("job", "argv", "words"), LINES, ids=[f"{job}-{words[:40]}" for job, _, words in LINES])
def test_a_line_that_cannot_be_meant(refuses, job, argv, words):
    refuses(job, argv, words)


def test_a_calibration_without_printed_numbers(refuses, tmp_path):
    spec = test_calibrate.written(tmp_path, [(0.5, 0.8)] * 3) | {"files": {"tidy": {}, "reported": {}}}
    argv = ["--spec", json.dumps(spec), "--out", "out.json", "--md", "out.md"]
    refuses("calibrate", argv, "no number for gap_max of fedavg is reported")


@pytest.mark.parametrize("content", [None, b"\xff\x00garbage" * 200, b""], ids=["gone", "garbage", "empty"])
@pytest.mark.parametrize("name", ["summary.json", "metrics.parquet"])
def test_runs_that_cannot_be_read(refuses, tmp_path, name, content):
    run = test_collect.write_run(tmp_path / "results", test_collect.SPEC["runs"][0])
    pq.write_table(pa.table({"round": [0] * 3, "client": range(3), "loss_test": [1.0] * 3}), run / "metrics.parquet")
    (run / name).unlink()
    if content is not None:
        (run / name).write_bytes(content)
    refuses(*line("collect", json.dumps(test_collect.SPEC | {"optima_seeds": []})), name)
