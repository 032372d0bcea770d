"""Command lines of all jobs: specs, options and files that cannot be are one `error:` line, and nothing is left."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairfl.experiments.paper import Artifact, Row
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
    kind="table", title="T", caption="c", settings=["toy"], rows=[Row(algorithm="fedavg")], columns=["loss"]
)
ARTIFACT = {
    "paper": "demo", "id": "table1", "artifact": CELL.model_dump(mode="json"), "algorithms": {"fedavg": "FedAvg"},
    "metrics": {"loss": {"name": "loss", "meaning": "loss", "unit": "nats", "direction": "down", "digits": 3}},
    "scale": "tiny", "settings": {"toy": {"data": "d", "rounds": 1, "seeds": 1, "changed": []}},
    "files": {"tidy": {"toy": "gone.csv"}},
}  # fmt: skip
FILES = "--data data.safetensors --partition partition.parquet --out out"
TABLE = "--csv out.csv --md out.md --tex out.tex"
CALIBRATED = {"files": {"tidy": {}, "reported": {}}}
SPECS = [  # job, its spec, the rest of its command line, the refusal
    (train, TRAIN | {"model": {"name": "os"}}, "model.name: 'os' is not one of the models; known: bert"),
    (train, TRAIN | {"rounds": 0}, "rounds: 0: expected more than 0"),
    (train, TRAIN | {"hyperparameters": {"weighting": "sizes"}}, "toy: weighting: 'sizes'"),
    (train, TRAIN | {"model": CNN}, "toy: cnn with 3 blocks is too deep for images of shape [1, 4, 4]"),
    (train, TRAIN | {"loss": "logistic"}, "toy: loss logistic is for 2 classes, the data have 3"),
    (train, {}, "--spec: model: missing; it has no default"),
    (local_optimum, LEARNT | OPTIMUM, "no such client 3"),
    (
        local_optimum,
        LEARNT | OPTIMUM | {"client": 1, "model": {"name": "lstm"}},
        "local optimum of client 1: lstm need",
    ),
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


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files of a training, as the working folder."""
    monkeypatch.chdir(tmp_path)
    test_train.Job(tmp_path)
    return tmp_path


def refuses(here, capsys, main, argv, *words, code=1):
    before = names(here)
    command_refused(main, argv, capsys, *words, code=code)
    assert names(here) == before


@pytest.mark.parametrize(("job", "spec", "words"), SPECS, ids=[f"{c[0].__name__}-{c[2][:40]}" for c in SPECS])
def test_specs_of_another_form(here, capsys, job, spec, words):
    refuses(here, capsys, job.main, ["--spec", json.dumps(spec), *OPTIONS[job].split()], words)


NO_SPECS = ["", "{", "spec.json", "[]", "null", "NaN", '{"a": 1, "a": 2}', "[" * 10**5]


@pytest.mark.parametrize("spec", NO_SPECS, ids=lambda text: text[:12])
def test_specs_that_are_none(here, capsys, spec):
    refuses(here, capsys, train.main, ["--spec", spec, *OPTIONS[train].split()], "--spec")


def test_a_calibration_without_printed_numbers(here, tmp_path, capsys):
    spec = test_calibrate.written(tmp_path, [(0.5, 0.8)] * 3) | CALIBRATED
    argv = ["--spec", json.dumps(spec), "--out", "out.json", "--md", "out.md"]
    refuses(here, capsys, calibrate.main, argv, "no number for gap_max of fedavg is reported")


@pytest.mark.parametrize("content", [None, b"\xff\x00garbage" * 200, b""], ids=["gone", "garbage", "empty"])
@pytest.mark.parametrize("name", ["summary.json", "metrics.parquet"])
def test_runs_that_cannot_be_read(here, capsys, name, content):
    run = test_collect.write_run(here / "results", test_collect.SPEC["runs"][0])
    pq.write_table(pa.table({"round": [0] * 3, "client": range(3), "loss_test": [1.0] * 3}), run / "metrics.parquet")
    (run / name).unlink()
    if content is not None:
        (run / name).write_bytes(content)
    spec = json.dumps(test_collect.SPEC | {"optima_seeds": []})
    refuses(here, capsys, collect.main, ["--spec", spec, *OPTIONS[collect].split()], name)


ARGUMENTS = [
    ("--threads", "0", "expected a whole number from 1"),
    ("--backend", "fast", "invalid choice: 'fast'"),
    ("--data", "gone.safetensors", "gone.safetensors"),
    ("--partition", "gone.parquet", "gone.parquet"),
    ("--optima", "gone", "gone/client0.json: No such file or directory"),
    ("--inputs", '{"a": 3}', "--inputs: a.str: 3: expected a text"),
    ("--inputs", '{"a/b": "0123"}', "a/b: has no record (a/b)"),
]


@pytest.mark.parametrize(("option", "value", "words"), ARGUMENTS, ids=[f"{o}={v[:12]}" for o, v, _ in ARGUMENTS])
def test_options(here, capsys, option, value, words):
    spec = TRAIN | (EAGLE if option == "--optima" else {})
    argv = ["--spec", json.dumps(spec), *OPTIONS[train].split(), "--record", "record.json", option, value]
    refuses(here, capsys, train.main, argv, words, code=2 if option in ("--threads", "--backend") else 1)


FETCH = [
    ("--dataset mnits", "'mnits' is not one of the data sets; did you mean 'mnist'?"),
    ('--dataset mnist --options {"prat":1}', "--options: prat: unknown key (value 1); did you mean 'part'?"),
    ("--dataset cinic10 --folder data.safetensors", "data.safetensors"),
    ("--dataset cinic10 --mirror ~nobody-of-this-name/x", "missing (no such folder)"),
]


@pytest.mark.parametrize(("words", "message"), FETCH, ids=[words for words, _ in FETCH])
def test_fetch(here, capsys, words, message):
    refuses(here, capsys, fetch.main, ["--offline", "--out", "marker.json", *words.split()], message)


@pytest.mark.parametrize("module", [comparison, claims], ids=lambda module: module.__name__)
def test_without_a_spec_nothing_is_judged(here, root, capsys, module):
    """It names the files of our numbers: without it all of these would seem not to have run."""
    config = '{"scale": "quick", "papers": ["eagle"], "artifacts": ["eagle_table3"]}'
    argv = ["--config", config, "--root", root, "--results", "results", "--out", "out"]
    refuses(here, capsys, module.main, argv, "--spec")


CONFIGS = [
    ("{", "--config: not valid JSON"),
    ("[1]", "--config: [1]: expected a mapping"),
    ('{"papers": ["eagle"]}', "config.yaml: scale: missing; it has no default"),
]


@pytest.mark.parametrize(("config", "words"), CONFIGS, ids=[words[:40] for _, words in CONFIGS])
@pytest.mark.parametrize("module", [comparison, plan], ids=lambda module: module.__name__)
def test_configs(here, root, capsys, module, config, words):
    rest = [] if module is plan else ["--results", "results", "--out", "out"]
    refuses(here, capsys, module.main, ["--config", config, "--root", root, *rest], words)
