"""Artifacts with timed columns: what is measured, what it depends on, what is refused."""

import json
from pathlib import Path

from fairfl.experiments.variant import Run, Variant
from fairfl.experiments.workload import load_workload
from fairfl.jobs import timing, train
from fairfl.runtime.fingerprint import canonical
from tests.unit.reporting import demo

SETTING = demo.SETTING | {"seeds": [5, 6], "timing": {}}
SECONDS = ["train_seconds_per_round", "inference_seconds"]
ROWS = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}]
TABLE = {"kind": "table", "title": "T", "caption": "c", "settings": ["ten"]}
ARTIFACTS = {
    "table9": {**TABLE, "settings": ["ten", "hundred"], "columns": ["metric_seconds_faa"]},
    "table12": {**TABLE, "rows": ROWS, "columns": SECONDS},
    "table1": {**TABLE, "rows": ROWS[:1], "columns": ["accuracy_mean"]},
    "table2": {**TABLE, "columns": ["config_batch_size", "config_rounds", "num_clients"]},
}


def load(root: Path, artifacts: dict | None = None):
    metrics = {m: {"name": m, "meaning": "", "unit": ""} for a in ARTIFACTS.values() for m in a["columns"]}
    settings = {"ten": SETTING, "hundred": SETTING | {"clients": 100, "clients_per_round": 100}}
    algorithms = {name: {"title": name} for name in ("fedavg", "qffl")}
    given = {"metrics": metrics, "algorithms": algorithms, "settings": settings, "artifacts": artifacts or ARTIFACTS}
    demo.project(root, demo.PAPER | given)
    return load_workload(root, {"scale": "tiny", "papers": ["demo"]})


def test_timed_artifacts_ask_for_measurements_and_no_runs(tmp_path) -> None:
    workload = load(tmp_path, artifacts={key: ARTIFACTS[key] for key in ("table9", "table12", "table2")})
    assert workload.runs == []
    assert workload.seconds == {"ten": {"metric_seconds_faa", *SECONDS}, "hundred": {"metric_seconds_faa"}}
    assert workload.timed_variants == {"ten": [Variant("fedavg", {}), Variant("qffl", {"q": 1.0})]}


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
