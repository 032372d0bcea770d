"""Calibration in the real Snakefile: a grid of FedAvg runs, and the choice."""

import json

import pytest

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

ONLY = ("artifacts=eagle_table1",)
SETTING = "eagle_emnist_linear_a0.1"
SCALE = """
  - match: ["eagle_emnist_*"]
    set:
      unstated.facts.samples.values: [120, 90]
      unstated.facts.learning_rate.values: [0.3]
      unstated.seeds: [0, 1]
    why: test
"""


@pytest.fixture(scope="module")
def calibrated(root, tmp_path_factory) -> Project:
    project = Project(root, tmp_path_factory.mktemp("calibrated"))
    with (project.folder / "scales" / "tiny.yaml").open("a") as file:
        file.write(SCALE)
    assert f"# What {SETTING} does not say" in project.snakemake("calibrated", config=ONLY).stdout
    return project


def test_fedavg_alone_runs_at_every_point(calibrated):
    runs = {path.parent.relative_to(calibrated.folder / "results/tiny/runs").parts for path in
            calibrated.folder.glob("results/tiny/runs/*/*/*/*/summary.json")}  # fmt: skip
    assert {run[1] for run in runs} == {"fedavg"}
    assert {run[0].removeprefix(f"{SETTING}~calibration~") for run in runs} == {
        "default", "learning_rate=0.3~samples=90"
    }  # fmt: skip
    made = json.loads((calibrated.folder / f"results/tiny/calibrated/{SETTING}.json").read_text())
    assert [sorted(point["ours"]) for point in made["points"]] == [
        ["accuracy_balanced", "gap_max", "gap_min", "gap_var"]
    ] * 2
    assert "A demonstration only" in made["explanation"]
    assert "stand-in for emnist" in (calibrated.folder / f"results/tiny/calibrated/{SETTING}.md").read_text()
