"""Calibration in the real Snakefile: a grid of FedAvg runs, the choice, and all rows with the chosen facts."""

import json

import pytest

from fairfl.runtime import records
from tests.workflow.small_project import Project, jobs_in

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

ONLY = ("artifacts=eagle_table1",)
CHOSEN = (*ONLY, "calibrated=true")
SETTING = "eagle_emnist_linear_a0.1"
SCALE = """
  - match: ["eagle_emnist_*"]
    set:
      unstated.facts.samples.values: [120, 90]
      unstated.facts.learning_rate.values: [0.1]
      unstated.seeds: [0, 1]
    why: test
"""


@pytest.fixture(scope="module")
def calibrated(root, tmp_path_factory) -> Project:
    project = Project(root, tmp_path_factory.mktemp("calibrated"))
    with (project.folder / "scales" / "tiny.yaml").open("a") as file:
        file.write(SCALE)
    refused = project.snakemake("--dry-run", config=CHOSEN, check=False)
    assert refused.returncode != 0 and f"{SETTING} has not been calibrated at scale tiny" in refused.stdout
    project.snakemake("calibrated", config=ONLY)
    return project


def choose(project: Project, changes: dict) -> None:
    """Let the choice be another one."""
    path = project.folder / f"results/tiny/calibrated/{SETTING}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chosen": {"samples": 90}, "changes": changes}))
    record = project.folder / f"results/tiny/records/calibrate/{SETTING}.json"
    says = json.loads(record.read_text())
    says["outputs"][f"results/tiny/calibrated/{SETTING}.json"] = [path.stat().st_size, records.content(path)]
    record.write_text(json.dumps(says))


def test_fedavg_alone_runs_at_every_point(calibrated):
    runs = {path.parent.relative_to(calibrated.folder / "results/tiny/runs").parts for path in
            calibrated.folder.glob("results/tiny/runs/*/*/*/*/summary.json")}  # fmt: skip
    assert {run[1] for run in runs} == {"fedavg"}
    assert {run[0].removeprefix(f"{SETTING}~calibration~") for run in runs} == {
        "default", "learning_rate=0.1~samples=90"
    }  # fmt: skip
    made = json.loads((calibrated.folder / f"results/tiny/calibrated/{SETTING}.json").read_text())
    assert [sorted(point["ours"]) for point in made["points"]] == [
        ["accuracy_balanced", "gap_max", "gap_min", "gap_var"]
    ] * 2
    assert "A demonstration only" in made["explanation"]
    assert "stand-in for emnist" in (calibrated.folder / f"results/tiny/calibrated/{SETTING}.md").read_text()


def test_an_edit_of_the_grid_runs_only_what_is_new(calibrated):
    assert "Nothing to be done" in calibrated.snakemake("--dry-run", "calibrated", config=ONLY).stdout
    calibrated.edit("scales/tiny.yaml", "[120, 90]", "[120, 90, 100]")
    planned = jobs_in(calibrated.snakemake("--dry-run", "calibrated", config=ONLY).stdout)
    refused = calibrated.snakemake("--dry-run", config=CHOSEN, check=False).stdout
    calibrated.undo()
    assert {name for name in planned if name.startswith("train/")} == {
        f"train/{SETTING}~calibration~learning_rate=0.1~samples=100/fedavg/default/seed{seed}" for seed in (0, 1)
    }
    assert f"calibrate/{SETTING}" in planned
    assert f"the choice for {SETTING} is not today's (" in refused and "make calibrated" in refused


def test_all_rows_run_with_the_chosen_facts_in_a_folder_of_their_own(calibrated):
    choose(calibrated, {"samples": 90})
    calibrated.snakemake(config=CHOSEN)
    folder = calibrated.folder / "results/tiny+calibrated"
    assert not (calibrated.folder / "results/tiny/eagle").exists()
    runs = list(folder.glob(f"runs/{SETTING}/*/*/seed0/summary.json"))
    assert len(runs) == 10
    assert {json.loads(path.read_text())["spec"]["samples"] for path in runs} == {90}
    assert "Unstated facts were fitted to FedAvg's row" in (folder / "eagle/table1.md").read_text()
    (summaries,) = (folder / "selections").iterdir()  # these options select a part
    comparison = (summaries / "comparison.csv").read_text()
    assert "not fitted: the setting's unstated facts were chosen by FedAvg's targets alone" in comparison
    assert "; fitted: " in comparison or ",fitted: " in comparison
    page = (summaries / "index.html").read_text()
    assert "What eagle does not say" in page and "samples = 90" in page
    assert "Nothing to be done" in calibrated.snakemake("--dry-run", config=CHOSEN).stdout
