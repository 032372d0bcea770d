"""What the page of the runs says of each."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Run
from fairfl.reporting.page import runs
from fairfl.reporting.page.files import Files

RUN = Run("toy", Variant("fedfv", {"alpha": 0.1}), 3)
SUMMARY = {
    "spec": {"rounds": 3, "code": {"fairfl.a": "1", "fairfl.b": "2"}},
    "fingerprint": "f00d", "seconds": 12.34, "peak_memory_mib": 600.4, "processor": "a CPU", "threads": 2,
    "versions": {"torch": "2.15.0"}, "measures": {"comm_cost": 0.5}, "diverged": False, "data_source": "drawn",
}  # fmt: skip


def test_curves_are_means_and_ranges_over_clients():
    """Two clients at rounds 0 and 2; a round in which a client diverged is no point."""
    rows = pd.DataFrame({
        "algorithm": "fedfv", "hyperparameters": ["alpha=0.1"] * 6, "seed": 3, "round": [0, 0, 2, 2, 4, 4],
        "client": [0, 1] * 3, "accuracy_test": [0.1, 0.3, 0.5, 0.9, float("inf"), 0.5], "loss_test": 1.0,
    })  # fmt: skip
    measure, curves = runs.curves_of(rows, "test")
    assert measure == "accuracy"
    assert curves == {("fedfv", "alpha=0.1", 3): [(0, 20.0, 10.0, 30.0), (2, 70.0, 50.0, 90.0)]}
    losses = rows.drop(columns="accuracy_test").assign(hyperparameters=None)
    assert runs.curves_of(losses, "test")[1][("fedfv", "", 3)][0] == (0, 1.0, 1.0, 1.0)
    assert runs.curves_of(losses, "train") == ("", {})


@pytest.fixture()
def files(tmp_path):
    log = tmp_path / f"logs/train/{RUN.id}.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {n}\n" for n in range(20)))
    (tmp_path / "runs" / RUN.id).mkdir(parents=True)
    return Files(tmp_path, tmp_path / "selections/x/runs.html")


def test_a_run_tells_how_it_was_made(files):
    view = runs.view(RUN, "FedFV alpha=0.1", SUMMARY, files)
    assert view["spec"] == {"rounds": 3} and view["lines"] == [f"line {n}" for n in range(12, 20)]
    assert view["facts"].items() >= {"Took": "12.3 s", "Machine": "a CPU, 2 threads", "comm cost": "0.5"}.items()
    assert view["facts"]["Code"].endswith("(2 modules)") and view["facts"]["Outcome"] == "finished"
    assert "Recorded" not in view["facts"]
    assert view["log"] == "../../logs/train/toy/fedfv/alpha%3D0.1/seed3.log"
    assert view["files"] == "../../runs/toy/fedfv/alpha%3D0.1/seed3"


def test_what_an_earlier_call_has_left_is_not_shown(files, tmp_path):
    """The rounds are an input of the page; folders of runs are only looked up."""
    other = replace(RUN, seed=4)
    for run in (RUN, other):
        (tmp_path / "runs" / run.id).mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / run.id / "summary.json").write_text(json.dumps(SUMMARY))
    rows = {"algorithm": [RUN.variant.algorithm], "hyperparameters": [RUN.variant.csv], "seed": [RUN.seed]}
    (tmp_path / "tidy").mkdir()
    pd.DataFrame(rows | {"round": [1], "accuracy_test": [0.5]}).to_parquet(tmp_path / "tidy/toy.rounds.parquet")
    workload = SimpleNamespace(
        shown=["toy"],
        settings={"toy": SimpleNamespace(reported_part="test", loss="cross_entropy")},
        runs_of=lambda setting: [RUN, other],
        sharing=SimpleNamespace(usage=lambda setting, algorithm: None),
    )
    (shown,) = runs._views(workload, tmp_path, files)
    assert shown["id"] == RUN.id and shown["curve"] == [(1, 50.0, 50.0, 50.0)]
