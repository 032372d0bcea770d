"""Command lines of all jobs: specs, options and files that cannot be are one `error:` line, and nothing is left."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairfl.experiments.paper import Artifact
from fairfl.jobs import (
    calibrate,
    claims,
    collect,
    comparison,
    fetch,
    figure,
    local_optimum,
    partition,
    prepare,
    surrogate,
    table,
    timing,
    train,
    tune,
)
from fairfl.planning import plan
from tests.bad_input.refusals import command_refused, names
from tests.unit.edited_papers import ROOT
from tests.unit.jobs import test_calibrate, test_collect, test_timing, test_train, test_tune

TRAIN, EAGLE = test_train.SPEC, test_train.EAGLE
ALONE = ("model", "loss", "optimizer", "learning_rate", "weight_decay", "batch_size", "precision", "seed")
LEARNT = {key: TRAIN[key] for key in ALONE}
OPTIMUM = {"client": 3, "local_optimum": {"max_steps": 2, "flat_window": 1, "flat_tolerance": 0.0}}
CNN = {"name": "cnn", "channels": [2, 2, 2], "kernel": 3, "padding": 1, "hidden": 3}
KNOWN = {"clusters": 1, "method": "known", "epochs": 2, "every": 1, "batch_size": "setting"}
CLUSTER = {"data": {"name": "toy"}, "cluster": 0, "evaluated_parts": ["test"], "surrogate": KNOWN}
DEAL = {
    "data": {"name": "toy"}, "samples": None, "partition": {"name": "plain"}, "partition_seed": None, "clients": 3,
    "split": {"train": 0.6, "validation": 0.2, "test": 0.2, "order": "shuffled"}, "seed": 0,
}  # fmt: skip
CELL = Artifact(
    kind="table", title="T", caption="c", settings=["toy"], rows=[{"algorithm": "fedavg"}], columns=["loss"]
)
ARTIFACT = {
    "paper": "demo", "id": "table1", "artifact": CELL.model_dump(mode="json"), "algorithms": {"fedavg": "FedAvg"},
    "metrics": {"loss": {"name": "loss", "meaning": "loss", "unit": "nats", "direction": "down", "digits": 3}},
    "scale": "tiny", "settings": {"toy": {"data": "d", "rounds": 1, "seeds": 1, "changed": []}},
    "files": {"tidy": {"toy": "gone.csv"}},
}  # fmt: skip
FILES = "--data data.safetensors --partition partition.parquet --out out"
TABLE = "--csv out.csv --md out.md --tex out.tex"
SPECS = [  # job, its spec, the rest of its command line, the refusal
    (train, TRAIN | {"model": {"name": "os"}}, "model.name: 'os' is not one of the models; known: bert"),
    (train, TRAIN | {"rounds": 0}, "rounds: 0: expected more than 0"),
    (train, TRAIN | {"hyperparameters": {"weighting": "sizes"}}, "toy: weighting: 'sizes'"),
    (train, TRAIN | {"model": CNN}, "toy: cnn with 3 blocks is too deep for images of shape [1, 4, 4]"),
    (train, TRAIN | {"loss": "logistic"}, "toy: loss logistic is for 2 classes, the data have 3"),
    (train, {}, "--spec: model: missing; it has no default"),
    (local_optimum, LEARNT | OPTIMUM, "no such client 3"),
    (local_optimum, LEARNT | OPTIMUM | {"model": {"name": "lstm"}, "client": 1}, "optimum of client 1: lstm need"),
    (surrogate, LEARNT | CLUSTER, "toy has no bayes_loss"),
    (timing, test_timing.SPEC | {"variants": [test_timing.VARIANT | {"loss": "x"}]}, "variants.0.loss: 'x'"),
    (partition, DEAL | {"samples": 1000}, "samples is 1000, the data set has only 36"),
    (tune, test_tune.SPEC | {"points": 3}, "points: 3: expected a list"),
    (collect, test_collect.SPEC, "No such file"),
    (table, ARTIFACT | {"artifact": ARTIFACT["artifact"] | {"kind": "tabel"}}, "artifact.kind: 'tabel'"),
    (table, ARTIFACT, "gone.csv"),
    (figure, ARTIFACT | {"artifact": ARTIFACT["artifact"] | {"kind": "figure", "plot": "x"}}, "artifact.plot: 'x'"),
    (prepare, {"name": "digit"}, "--spec: name: 'digit' is not one of the data sets; did you mean 'digits'?"),
]
OPTIONS = {
    train: f"{FILES} --checkpoint out.pt", surrogate: f"{FILES} --checkpoint out.pt", local_optimum: FILES,
    timing: FILES, partition: "--data data.safetensors --out out --statistics out.csv", table: TABLE,
    figure: "--csv out.csv --pdf out.pdf --png out.png", prepare: "--folder raw --out out",
    tune: "--trials trials --out out", collect: "--results results --final out.csv --rounds out.parquet",
}  # fmt: skip
NO_SPECS = ["", "{", "spec.json", "[]", "null", "NaN", '{"a": 1, "a": 2}', "[" * 10**5]
ARGUMENTS = [
    ("--threads", "0", "expected a whole number from 1"),
    ("--backend", "fast", "invalid choice: 'fast'"),
    ("--data", "gone.safetensors", "gone.safetensors"),
    ("--partition", "gone.parquet", "gone.parquet"),
    ("--optima", "gone", "gone/client0.json: No such file or directory"),
    ("--inputs", '{"a": 3}', "--inputs: a.str: 3: expected a text"),
    ("--inputs", '{"a/b": "0123"}', "a/b: has no record (a/b)"),
]
FETCH = [
    ("--dataset mnits", "'mnits' is not one of the data sets; did you mean 'mnist'?"),
    ('--dataset mnist --options {"prat":1}', "--options: prat: unknown key (value 1); did you mean 'part'?"),
    ("--dataset cinic10 --folder data.safetensors", "data.safetensors"),
    ("--dataset cinic10 --mirror ~nobody-of-this-name/x", "missing (no such folder)"),
]
SMALL = '{"scale": "quick", "papers": ["eagle"], "artifacts": ["eagle_table3"]}'
CONFIGS = [
    ("{", "--config: not valid JSON"),
    ("[1]", "--config: [1]: expected a mapping"),
    ('{"papers": ["eagle"]}', "config.yaml: scale: missing; it has no default"),
]
JUDGED = ["--root", str(ROOT), "--results", "results", "--out", "out", "--config"]
LINES = [
    *((job, ["--spec", json.dumps(spec), *OPTIONS[job].split()], words) for job, spec, words in SPECS),
    *((train, ["--spec", spec, *OPTIONS[train].split()], "--spec") for spec in NO_SPECS),
    *(
        (train, ["--spec", json.dumps(TRAIN | EAGLE), *OPTIONS[train].split(), "--record", "r", *option], words)
        for *option, words in ARGUMENTS
    ),
    *((fetch, ["--offline", "--out", "marker.json", *line.split()], words) for line, words in FETCH),
    # Without files of our numbers all of these would seem not to have run.
    *((job, [*JUDGED, SMALL], "--spec") for job in (comparison, claims)),
    *((comparison, [*JUDGED, config], words) for config, words in CONFIGS),
    *((plan, ["--root", str(ROOT), "--config", config], words) for config, words in CONFIGS),
]


@pytest.fixture
def refuses(tmp_path, monkeypatch, capsys):
    """Runs a command where the files of a training are, and leaves them as they are."""
    monkeypatch.chdir(tmp_path)
    test_train.Job(tmp_path)

    def run(job, argv, words):
        before = names(tmp_path)
        code = 2 if "--threads" in argv or "--backend" in argv else 1
        command_refused(job.main, argv, capsys, words, code=code)
        assert names(tmp_path) == before

    return run


@pytest.mark.parametrize(("job", "argv", "words"), LINES, ids=[f"{c[0].__name__}-{c[2][:40]}" for c in LINES])
def test_a_line_that_cannot_be_meant(refuses, job, argv, words):
    refuses(job, argv, words)


def test_a_calibration_without_printed_numbers(refuses, tmp_path):
    spec = test_calibrate.written(tmp_path, [(0.5, 0.8)] * 3) | {"files": {"tidy": {}, "reported": {}}}
    argv = ["--spec", json.dumps(spec), "--out", "out.json", "--md", "out.md"]
    refuses(calibrate, argv, "no number for gap_max of fedavg is reported")


@pytest.mark.parametrize("content", [None, b"\xff\x00garbage" * 200, b""], ids=["gone", "garbage", "empty"])
@pytest.mark.parametrize("name", ["summary.json", "metrics.parquet"])
def test_runs_that_cannot_be_read(refuses, tmp_path, name, content):
    run = test_collect.write_run(tmp_path / "results", test_collect.SPEC["runs"][0])
    pq.write_table(pa.table({"round": [0] * 3, "client": range(3), "loss_test": [1.0] * 3}), run / "metrics.parquet")
    (run / name).unlink()
    if content is not None:
        (run / name).write_bytes(content)
    spec = json.dumps(test_collect.SPEC | {"optima_seeds": []})
    refuses(collect, ["--spec", spec, *OPTIONS[collect].split()], name)
