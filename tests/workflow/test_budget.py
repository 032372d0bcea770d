"""`--config budget=...` in the real Snakefile: a fresh clone runs the best runs only, and builds what it can."""

import csv
import shutil

from tests.workflow.small_project import Project

COMPARISON = "results/full/comparison.csv"
SELECTION = [
    "scale=full", "papers=fedeba", "settings=fedeba_toy", "artifacts=fedeba_figure1", "device=cpu", "recorded=ignore",
]  # fmt: skip


def test_a_budget_runs_what_it_buys_and_the_next_one_goes_on(root, tmp_path):
    project = Project(root, tmp_path, selection=SELECTION)
    stored = "results/recorded/fedeba_toy"  # say what a run takes
    shutil.copytree(root / stored, tmp_path / stored, dirs_exist_ok=True)
    runs = {name for name in project.jobs() if name.startswith("train/")}
    assert len(runs) == 7

    nothing = project.snakemake("--quiet", "rules", "host", config=("budget=0",))
    assert "budget of 0 core-hours: 0 trainings" in nothing.stdout
    assert not list(tmp_path.glob("results/full/runs/*"))
    assert verdicts(tmp_path) == {"not run", "not reported"}

    project.snakemake(COMPARISON, config=("budget=0.00001",))
    first = {str(path.parent) for path in tmp_path.glob("results/full/runs/**/summary.json")}
    assert len(first) == 1 and verdicts(tmp_path) > {"not run", "not reported"}
    assert not any(name.startswith("train/") for name in project.jobs(config=["budget=0"]))

    project.snakemake(COMPARISON, config=("budget=1",))
    both = {str(path.parent) for path in tmp_path.glob("results/full/runs/**/summary.json")}
    assert first < both and len(both) == 2  # of four nothing is printed, and one is fitted
    lines = csv.DictReader((tmp_path / COMPARISON).open())
    assert {line["hyperparameters"] for line in lines if line["verdict"] == "not run"} == {"tau=5.31"}


def verdicts(folder):
    return {line["verdict"] for line in csv.DictReader((folder / COMPARISON).open())}
