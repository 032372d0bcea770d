"""Artifacts with timed columns: what is measured, what it depends on, what is refused."""

import json
from pathlib import Path

import pytest

from fairfl.experiments.setting import SOURCED
from fairfl.experiments.variant import Run, Variant
from fairfl.experiments.workload import load_workload
from fairfl.jobs import timing, train
from fairfl.reporting.artifact import artifact_spec
from fairfl.runtime.fingerprint import canonical
from fairfl.runtime.validation import SpecError
from fairfl.workflow.graph import spec_of
from tests.workflow.graphs import graph_of

SETTING = {
    "data": {"name": "synthetic_gaussian"},
    "model": {"name": "logistic_regression"},
    "partition": {"name": "plain"},
    "clients": 3,
    "clients_per_round": 3,
    "split": {"train": 0.6, "validation": 0.2, "test": 0.2},
    "rounds": 100,
    "learning_rate": 0.1,
    "evaluate_every": 10,
    "seeds": [5, 6],
    "timing": {},
    "sources": dict.fromkeys(SOURCED, "paper section 4"),
}
SECONDS = ["train_seconds_per_round", "inference_seconds"]
ROWS = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}]
TABLE = {"kind": "table", "title": "T", "caption": "c", "settings": ["ten"]}
ARTIFACTS = {
    "table9": {**TABLE, "settings": ["ten", "hundred"], "columns": ["metric_seconds_faa"]},
    "table12": {**TABLE, "rows": ROWS, "columns": SECONDS},
    "table1": {**TABLE, "rows": ROWS[:1], "columns": ["accuracy_mean"]},
    "table2": {**TABLE, "columns": ["config_batch_size", "config_rounds", "num_clients"]},
}


def load(root: Path, artifacts: dict | None = None, settings: dict | None = None, **config):
    metrics = {m: {"name": m, "meaning": "", "unit": ""} for a in ARTIFACTS.values() for m in a["columns"]}
    paper = {
        "paper": "demo",
        "title": "A demo",
        "citation": "Nobody.",
        "arxiv": "0000.00000",
        "metrics": metrics,
        "algorithms": {name: {"title": name} for name in ("fedavg", "qffl", "eagle", "local_only")},
        "settings": {"ten": SETTING, "hundred": SETTING | {"clients": 100, "clients_per_round": 100}}
        | (settings or {}),
        "artifacts": artifacts or ARTIFACTS,
    }
    patch = {"match": ["*"], "set": {"timing.rounds": 2, "seeds": [7]}, "why": "time"}
    (root / "papers").mkdir(exist_ok=True)
    (root / "scales").mkdir(exist_ok=True)
    (root / "papers/demo.yaml").write_text(json.dumps(paper))
    for scale, patches in (("tiny", [patch]), ("paper", [])):
        text = json.dumps({"scale": scale, "description": "", "patches": patches})
        (root / f"scales/{scale}.yaml").write_text(text)
    return load_workload(root, {"scale": "paper", "papers": ["demo"], **config})


def test_timed_artifacts_ask_for_measurements_and_no_runs(tmp_path) -> None:
    workload = load(tmp_path, artifacts={key: ARTIFACTS[key] for key in ("table9", "table12", "table2")})
    assert workload.runs == []
    assert workload.seconds == {"ten": {"metric_seconds_faa", *SECONDS}, "hundred": {"metric_seconds_faa"}}
    assert workload.timed_variants == {"ten": [Variant("fedavg", {}), Variant("qffl", {"q": 1.0})]}


def test_columns_that_a_setting_or_an_algorithm_lacks_are_not_measured(tmp_path) -> None:
    more = {"settings": ["ten", "hundred"], "columns": [*SECONDS, "accuracy_mean"]}
    table = {**ARTIFACTS["table12"], **more, "columns_in": {"hundred": ["accuracy_mean"]}}
    workload = load(tmp_path, artifacts={"t": table | {"columns_of": {"qffl": ["accuracy_mean"]}}})
    assert workload.seconds == {"ten": {*SECONDS}}
    assert workload.timed_variants == {"ten": [Variant("fedavg", {})]}
    assert {(run.setting, run.algorithm) for run in workload.runs} == {
        (setting, algorithm) for setting in ("ten", "hundred") for algorithm in ("fedavg", "qffl")
    }


def test_the_spec_holds_the_training_jobs_of_all_variants(tmp_path) -> None:
    workload = load(tmp_path)
    spec = timing.spec(workload, "ten")
    assert json.loads(canonical(spec)) == spec
    assert (spec["rounds"], spec["inferences"], spec["metrics"], spec["clients"]) == (20, 100, 100, 3)
    assert [(variant["algorithm"], variant["shown"], variant["seed"]) for variant in spec["variants"]] == [
        ("fedavg", "", 5),
        ("qffl", "q=1.0", 5),
    ]
    training = train.spec_of_run(workload, Run("ten", Variant("qffl", {"q": 1.0}), 5))
    assert spec["variants"][1] == {"shown": "q=1.0", **training, "seed": 5}
    executed = {
        "jobs.timing",
        "simulation.simulation",
        "algorithms.qffl",
        "algorithms.fedavg",
        "models.logistic_regression",
    }
    assert {f"fairfl.{module}" for module in executed} <= set(spec_of(workload, "timing", setting="ten")["code"])


def test_metrics_alone_need_neither_variants_nor_data(tmp_path) -> None:
    workload = load(tmp_path)
    spec, graph = timing.spec(workload, "hundred"), graph_of(workload)
    assert (spec["variants"], spec["rounds"], spec["inferences"], spec["metrics"]) == ([], 0, 0, 100)
    assert graph.job("timing/hundred").reads == {"data": [], "partition": [], "weights": []}
    assert "seed5" in graph.job("timing/ten").reads["partition"] and graph.job("timing/ten").reads["data"]


def test_variants_that_are_not_wanted_are_not_measured(tmp_path) -> None:
    spec = timing.spec(load(tmp_path, algorithms=["fedavg"]), "ten")
    assert [variant["algorithm"] for variant in spec["variants"]] == ["fedavg"]


def test_results_lie_with_the_scale_and_feed_tables_and_comparison(tmp_path) -> None:
    graph = graph_of(load(tmp_path))
    job = graph.job("table/demo/table12")
    assert job.parsed["files"] == {"timed": {"ten": "results/paper/timed/ten.json"}}
    assert job.reads == {"timed": ["results/paper/timed/ten.json"]}
    assert "results/paper/timed/hundred.json" in graph.job("table/demo/table9").reads["timed"]
    timed = graph.job("comparison").reads["timed"]
    assert set(timed) == {"results/paper/timed/ten.json", "results/paper/timed/hundred.json"}
    assert "timed" not in graph.job("table/demo/table1").reads


def test_a_scale_may_repeat_less_often_and_the_table_says_so(tmp_path) -> None:
    workload = load(tmp_path, scale="tiny")
    assert timing.spec(workload, "ten")["rounds"] == 2
    changed = {name: artifact_spec(workload, name, {}).settings["ten"].changed for name in workload.artifacts}
    assert "timing.rounds: 20 -> 2" in changed["demo_table12"]
    assert not any("timing" in change for change in changed["demo_table1"])  # it has no bearing on a run


def test_repetitions_do_not_change_a_training(tmp_path) -> None:
    run = Run("ten", Variant("fedavg", {}), 5)
    before = train.spec_of_run(load(tmp_path), run)
    assert train.spec_of_run(load(tmp_path, settings={"ten": SETTING | {"timing": {"rounds": 3}}}), run) == before


def test_what_settings_say_stands_in_the_tables_spec(tmp_path) -> None:
    workload = load(tmp_path)
    said = artifact_spec(workload, "demo_table2", {}).settings["ten"].configured
    assert said == {
        "config_batch_size": None, "config_learning_rate": 0.1, "config_local_epochs": 1, "config_rounds": 100,
    }  # fmt: skip
    assert artifact_spec(workload, "demo_table1", {}).settings["ten"].configured == {}
    assert canonical(artifact_spec(workload, "demo_table2", {}).model_dump(mode="json"))
    assert graph_of(workload).job("table/demo/table2").reads.keys() == {"statistics", "reported"}


@pytest.mark.parametrize(
    ("settings", "row", "message"),
    [
        (
            {"ten": SETTING | {"timing": None}},
            ROWS[0],
            "settings.ten: has no `timing`, but an artifact prints inference_se",
        ),
        ({}, {"algorithm": "local_only"}, "settings.ten: local_only cannot be timed"),
        ({}, {"algorithm": "eagle", "hyperparameters": {"lambda": 1.0}}, "settings.ten: eagle cannot be timed"),
        ({}, {"algorithm": "qffl", "hyperparameters": {"p": 1.0}}, r"ten: qffl\(p=1\).p: unknown key"),
        ({"ten": SETTING | {"timing": {"round": 3}}}, ROWS[0], "timing.round: unknown key .*did you mean 'rounds'"),
    ],
)
def test_what_cannot_be_measured_is_refused(tmp_path, settings, row, message) -> None:
    with pytest.raises(SpecError, match=message):
        load(tmp_path, {"table12": {**TABLE, "rows": [row], "columns": SECONDS}}, settings)
