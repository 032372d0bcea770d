"""Command lines of all jobs: specs, options and files that cannot be are one `error:` line, and nothing is left."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairfl.data.interface import assemble
from fairfl.experiments.paper import Artifact, Row
from fairfl.jobs import (
    calibrate,
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
from fairfl.planning import budget, plan
from fairfl.runtime.fingerprint import fingerprint
from tests.bad_input.refusals import command_refused, names

LEARNT = {
    "model": {"name": "logistic_regression", "init": "zeros"},
    "loss": "cross_entropy",
    "optimizer": "sgd",
    "learning_rate": 0.2,
    "weight_decay": 0.0,
    "batch_size": None,
    "precision": "fp32",
    "seed": 1,
}
TRAINED = LEARNT | {
    "setting": "toy",
    "variant": "default",
    "algorithm": "fedavg",
    "hyperparameters": {"weighting": "size"},
    "modifiers": {},
    "clients_per_round": 3,
    "rounds": 2,
    "local_epochs": 1,
    "lr_decay": None,
    "evaluate_every": 1,
    "evaluated_parts": ["train", "test"],
    "keep": "nothing",
}
SURROGATE = {"clusters": 1, "method": "trained", "epochs": 2, "every": 1, "batch_size": "setting"}
ARTIFACT = {
    "paper": "demo",
    "id": "table1",
    "artifact": Artifact(
        kind="table", title="T", caption="c", settings=["toy"], rows=[Row(algorithm="fedavg")], columns=["loss"]
    ).model_dump(mode="json"),
    "metrics": {"loss": {"name": "loss", "meaning": "loss", "unit": "nats", "direction": "down", "digits": 3}},
    "algorithms": {"fedavg": "FedAvg"},
    "scale": "tiny",
    "settings": {"toy": {"data": "d", "rounds": 1, "seeds": 1, "changed": []}},
    "files": {"tidy": {"toy": "gone.csv"}},
}  # fmt: skip
JOBS = {
    "train": (train.main, TRAINED, {"--data": "data", "--partition": "deal", "--out": "out", "--checkpoint": "out.pt"}),
    "optimum": (
        local_optimum.main,
        LEARNT | {"client": 0, "local_optimum": {"max_steps": 2, "flat_window": 1, "flat_tolerance": 0.0}},
        {"--data": "data", "--partition": "deal", "--out": "out.json"},
    ),
    "surrogate": (
        surrogate.main,
        LEARNT | {"data": {"name": "toy"}, "cluster": 0, "evaluated_parts": ["test"], "surrogate": SURROGATE},
        {"--data": "data", "--partition": "deal", "--out": "out.json", "--checkpoint": "out.pt"},
    ),
    "timing": (
        timing.main,
        {"setting": "toy", "clients": 3, "variants": [TRAINED | {"shown": ""}], "rounds": 1, "inferences": 0}
        | {"metrics": 0, "precision": "fp32"},
        {"--data": "data", "--partition": "deal", "--out": "out.json"},
    ),
    "partition": (
        partition.main,
        {
            "data": {"name": "toy", "stands_in_for": None}, "samples": None, "partition": {"name": "plain"},
            "partition_seed": None, "label_noise": None, "clients": 3, "seed": 0,
            "split": {"train": 0.6, "validation": 0.2, "test": 0.2, "order": "shuffled"},
        },
        {"--data": "data", "--out": "out.parquet", "--statistics": "out.csv"},
    ),
    "tune": (
        tune.main,
        {
            "setting": "toy", "algorithm": "fedavg", "data": "d", "metric": "loss", "direction": "up", "seeds": [0],
            "points": [
                {"setting": "toy", "shown": "", "learning_rate": 0.1, "batch_size": None, "hyperparameters": {}}
            ],
        },
        {"--trials": "tidy", "--out": "out.json"},
    ),
    "calibrate": (
        calibrate.main,
        {
            "setting": "toy", "data": "d", "changed": [], "algorithm": "fedavg", "facts": {}, "targets": {"loss": 0.1},
            "metrics": {"loss": {"name": "l", "meaning": "m", "unit": "nats"}},
            "points": [{"setting": "toy", "options": {}, "changes": {}, "departures": []}],
            "reported_seeds": 1, "level": 0.05, "files": {"tidy": {"toy": "tidy"}, "reported": {"table1": "printed"}},
        },
        {"--out": "out.json", "--csv": "out.csv", "--md": "out.md"},
    ),
    "tidy": (
        collect.main,
        {
            "setting": "toy", "data": "d", "rounds": 2, "reported_part": "test", "gap_part": "test",
            "late_evaluations": None, "baseline": [],
            "runs": [{"id": "toy/fedavg/default/seed1", "algorithm": "fedavg", "hyperparameters": "", "seed": 1}],
            "local_only": False, "seeds": [1], "optima_seeds": [], "surrogates": 0, "loss_unit": "nats", "clients": 3,
        },
        {"--results": "results", "--final": "out.csv", "--rounds": "out.parquet"},
    ),
    "table": (table.main, ARTIFACT, {"--csv": "out.csv", "--md": "out.md", "--tex": "out.tex"}),
    "figure": (figure.main, ARTIFACT, {"--csv": "out.csv", "--pdf": "out.pdf", "--png": "out.png"}),
    "prepare": (prepare.main, {"name": "digits", "options": {}, "seed": 0}, {"--folder": "raw", "--out": "out"}),
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with small files that every job accepts, as the working folder."""
    monkeypatch.chdir(tmp_path)
    images = np.random.default_rng(0).integers(0, 256, (36, 1, 4, 4), dtype=np.uint8)
    prepare.write(tmp_path / "data", assemble("toy", 3, "made", images, np.arange(36) // 3 % 3))
    deal = {"row": range(36), "client": [row % 3 for row in range(36)], "part": [row // 3 % 3 for row in range(36)]}
    pq.write_table(pa.table(deal), tmp_path / "deal")
    (tmp_path / "printed").write_text(
        "artifact,setting,algorithm,hyperparameters,metric,value,spread,spread_kind,unit,note\n"
        "table1,toy,fedavg,,loss,1.0,,unknown,nats,\n"
    )
    (tmp_path / "tidy").write_text(
        "setting,algorithm,hyperparameters,seed,metric,value,unit,run,fingerprint\ntoy,fedavg,,0,loss,1.0,nats,r,f\n"
    )
    run = tmp_path / "results" / "runs" / "toy" / "fedavg" / "default" / "seed1"
    run.mkdir(parents=True)
    spec = {"setting": "toy", "algorithm": "fedavg", "variant": "default", "seed": 1}
    summary = {"spec": spec, "fingerprint": fingerprint(spec), "data_source": "made", "measures": {}}
    (run / "summary.json").write_text(json.dumps(summary))
    return tmp_path


def arguments(job, spec=None, **changes):
    """The job's command line; `spec` as text, `changes` by option ('data', 'out')."""
    main, own, files = JOBS[job]
    given = files | {f"--{name}": value for name, value in changes.items()}
    return main, ["--spec", json.dumps(own) if spec is None else spec, *(w for pair in given.items() for w in pair)]


def refuses(here, capsys, job, *words, spec=None, code=1, **changes):
    before = names(here)
    main, argv = arguments(job, spec, **changes)
    command_refused(main, argv, capsys, *words, code=code)
    assert names(here) == before


def changed(spec, keys, value):
    spec = json.loads(json.dumps(spec))
    *parents, last = [int(key) if key.isdigit() else key for key in keys.split("/")]
    node = spec
    for key in parents:
        node = node[key]
    if value is None and last != "batch_size":
        del node[last]
    else:
        node[last] = value
    return json.dumps(spec)


@pytest.mark.parametrize("job", [name for name in JOBS if name not in ("tidy", "table", "figure")])
def test_the_jobs_of_these_tests_are_fine(here, job, capsys):
    main, argv = arguments(job)
    main(argv)
    assert any(name.startswith("out") for name in names(here))


NO_SPECS = ["", "{", "spec.json", "[]", "3", "null", '"x"', "NaN", '{"a": NaN}', '{"a": 1, "a": 2}', "9" * 5000]
NO_SPECS += ["[" * 10**5]


@pytest.mark.parametrize("spec", NO_SPECS, ids=lambda text: text[:12])
def test_specs_that_are_none(here, capsys, spec):
    refuses(here, capsys, "train", "--spec", spec=spec)


@pytest.mark.parametrize("job", JOBS)
def test_every_key_of_a_spec_is_needed_and_typed(here, capsys, job):
    own = JOBS[job][1]
    optional = {"label_noise", "baseline", "options", "seed"} if job in ("partition", "tidy", "prepare") else set()
    for key in set(own) - optional - {"code"}:
        rest = {name: value for name, value in own.items() if name != key}
        if key != "files":  # the workflow adds them to the spec of an artifact
            refuses(here, capsys, job, "--spec", key, spec=json.dumps(rest))
        refuses(here, capsys, job, "--spec", key, spec=json.dumps(rest | {key: [{"x": 1}, None, "y"]}))


SPECS = [
    ("train", "model/name", "os", "model.name: 'os' is not one of the models; known: bert"),
    ("train", "algorithm", "../x", "algorithm: '../x' is not one of the algorithms; known: "),
    ("train", "rounds", 0, "rounds: 0: expected more than 0"),
    ("train", "rounds", "2", "rounds: '2': expected a whole number"),
    ("train", "seed", -1, "seed: -1: expected 0 or more"),
    ("train", "lr_decay", {"factor": "0.5"}, "lr_decay.factor: '0.5': expected a number"),
    ("train", "hyperparameters", {"weighting": "sizes"}, "toy: weighting: 'sizes'"),
    ("train", "modifiers", {"dp": 3}, "modifiers.dp: 3: expected a mapping"),
    ("optimum", "client", 3, "there is no client 3"),
    ("surrogate", "surrogate/method", "known", "toy has no bayes_loss"),
    ("timing", "variants/0/loss", "x", "variants.0.loss: 'x'"),
    ("partition", "partition/name", "cut", "partition.name: 'cut' is not one of the partitioners; known: "),
    ("partition", "samples", 1000, "samples is 1000, the data set has only 36"),
    ("tune", "metric", "los", "'los'; did you mean 'loss'"),
    ("tune", "seeds", [5], "no run of some seed"),
    ("calibrate", "files/reported", {}, "no number for loss of fedavg is reported"),
    ("tidy", "runs/0/id", "toy/other/default/seed1", "No such file"),
    ("table", "artifact/kind", "tabel", "artifact.kind: 'tabel'"),
    ("table", "files/tidy/toy", "gone.csv", "gone.csv"),
    ("figure", "artifact/plot", "x", "no plot 'x'"),
    ("prepare", "name", "digit", "--spec: name: 'digit' is not one of the data sets; did you mean 'digits'?"),
]


@pytest.mark.parametrize(("job", "keys", "value", "words"), SPECS, ids=[f"{c[0]}-{c[3][:40]}" for c in SPECS])
def test_specs_of_another_form(here, capsys, job, keys, value, words):
    refuses(here, capsys, job, words, spec=changed(JOBS[job][1], keys, value))


def damage(path, kind):
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "garbage":
        path.write_bytes(b"\xff\x00garbage" * 200)
    elif kind == "empty":
        path.write_bytes(b"")


@pytest.mark.parametrize("kind", ["gone", "folder", "garbage", "empty"])
@pytest.mark.parametrize("name", ["summary.json", "metrics.parquet"])
def test_runs_that_cannot_be_read(here, capsys, name, kind):
    run = here / "results" / "runs" / "toy" / "fedavg" / "default" / "seed1"
    pq.write_table(pa.table({"round": [0] * 3, "client": range(3), "loss_test": [1.0] * 3}), run / "metrics.parquet")
    damage(run / name, kind)
    refuses(here, capsys, "tidy", name)


OPTIONS = [
    ("--threads", "0", "expected a whole number from 1"),
    ("--checkpoint-seconds", "nan", "expected seconds"),
    ("--backend", "fast", "invalid choice: 'fast'"),
    ("--inputs", '{"a": 3}', "--inputs: a: 3: expected a mapping"),
    ("--inputs", '{"a": {"b": 3}}', "--inputs: a.b: 3: expected a text"),
    ("--inputs", '{"a": {"b": "0123"}}', "a/b: has no record (a/b)"),
]


@pytest.mark.parametrize(("option", "value", "words"), OPTIONS, ids=[f"{o}={v[:12]}" for o, v, _ in OPTIONS])
def test_options(here, capsys, option, value, words):
    before = names(here)
    main, argv = arguments("train")
    code = 1 if option == "--inputs" else 2
    command_refused(main, [*argv, "--record", "record.json", option, value], capsys, words, code=code)
    assert names(here) == before


def test_a_job_without_a_spec(here, capsys):
    argv = ["--data", "data", "--partition", "deal", "--out", "out", "--checkpoint", "out.pt"]
    command_refused(train.main, argv, capsys, "--spec", code=2)


# -- fetch ---------------------------------------------------------------------------------------------
FETCH = [
    (["--dataset", "mnits"], "'mnits' is not one of the data sets; did you mean 'mnist'?"),
    (["--dataset", "mnist", "--options", "[" * 10**5], "--options: not valid JSON: nested too deep"),
    (
        ["--dataset", "mnist", "--options", '{"prat": 1}'],
        "--options: prat: unknown key (value 1); did you mean 'part'?",
    ),
    (["--dataset", "mnist", "--folder", "tidy"], "tidy"),
    (["--dataset", "mnist", "--mirror", "~nobody-of-this-name/x"], "missing (no such folder)"),
    (["--dataset", "digits", "--out", "tidy/x"], "tidy"),
]


@pytest.mark.parametrize(("argv", "words"), FETCH, ids=[words[:40] for _, words in FETCH])
def test_fetch(here, capsys, argv, words):
    before = names(here)
    out = [] if "--out" in argv else ["--out", "marker.json"]
    command_refused(fetch.main, ["--offline", *out, *argv], capsys, words)
    assert names(here) == before


# -- what reads config.yaml and papers/ --------------------------------------------------------------------
CONFIGS = [
    ("{", "--config: not valid JSON"),
    ("[" * 10**5, "--config: not valid JSON: nested too deep"),
    ("[1]", "--config: [1]: expected a mapping"),
    ('{"papers": ["eagle"]}', "config.yaml: scale: missing; it has no default"),
    ('{"scale": "quick", "papers": ["eagle"], "threads": 1e999}', "threads: inf: not a finite number"),
]


@pytest.mark.parametrize(("config", "words"), CONFIGS, ids=[words[:40] for _, words in CONFIGS])
@pytest.mark.parametrize("module", [comparison, plan], ids=lambda module: module.__name__)
def test_configs(here, root, capsys, module, config, words):
    before = names(here)
    rest = [] if module in (plan, budget) else ["--results", "results", "--out", "out"]
    argv = ["--config", config, "--root", root, *rest]
    command_refused(module.main, argv, capsys, words)
    assert names(here) == before
