"""What the page of the runs says of each."""

import json
from types import SimpleNamespace

import pandas as pd

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Run
from fairfl.reporting.page import runs
from fairfl.reporting.page.files import Files

RUNS = [Run("toy", Variant("fedfv", {"alpha": 0.1}), seed) for seed in (3, 4)]


def test_curves_are_means_and_ranges_over_clients():
    """Two clients at rounds 0 and 2; a round in which a client diverged is no point."""
    numbers = [0.1, 0.3, 0.5, 0.9, float("inf"), 0.5]
    rows = pd.DataFrame({"round": [0, 0, 2, 2, 4, 4], "accuracy_test": numbers, "loss_test": 1.0})
    assert runs.curve(rows, "test") == ("accuracy (percent)", [[0, 20, 10, 30], [2, 70, 50, 90]])
    name, points = runs.curve(rows.drop(columns="accuracy_test"), "test")
    assert (name, points[0]) == ("loss", [0, 1, 1, 1]) and runs.curve(rows, "train") == ("", [])


def test_a_run_has_its_summary_spec_and_curve_and_what_an_earlier_call_has_left_is_not_shown(tmp_path):
    """The rounds are an input of the page; folders of runs are only looked up."""
    for run in RUNS:
        (tmp_path / "runs" / run.id).mkdir(parents=True)
        summary = {"spec": {"rounds": 3, "code": {"fairfl.a": "1"}}, "seconds": 12.34}
        (tmp_path / "runs" / run.id / "summary.json").write_text(json.dumps(summary))
    rows = {"algorithm": ["fedfv"], "hyperparameters": ["alpha=0.1"], "seed": [3]}
    (tmp_path / "tidy").mkdir()
    pd.DataFrame(rows | {"round": [1], "accuracy_test": [0.5]}).to_parquet(tmp_path / "tidy/toy.rounds.parquet")
    workload = SimpleNamespace(
        settings=dict.fromkeys(("toy", "other"), SimpleNamespace(reported_part="test")), runs_of=lambda setting: RUNS
    )
    files = Files(tmp_path, tmp_path / "selections/x/runs.html")
    assert runs.views_of(workload, "toy", files) == {
        RUNS[0].id: {
            "spec": {"rounds": 3}, "facts": {"seconds": 12.34}, "curve": [[1, 50, 50, 50]],
            "measure": "accuracy (percent) on the test part", "log": "",
            "files": "../../runs/toy/fedfv/alpha%3D0.1/seed3",
        }
    }  # fmt: skip
    assert runs.views_of(workload, "other", files) == {}
