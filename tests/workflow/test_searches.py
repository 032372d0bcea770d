"""Tuning and calibration in the real Snakefile: grids, choices, tables that print them, runs that take them."""

import json
import re

import pytest

from tests.workflow.small_project import Project

# -- The tuning stage in the real Snakefile: grids, choices, tables that print them, runs that take them.
pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

TUNED = (
    "artifacts=vred_table1,vred_table4",
    "settings=vred_cifar100",
    "algorithms=fedavg,vred",
    "papers=vred",
    "tuned=true",
)


@pytest.fixture(scope="module")
def tuned(root, tmp_path_factory) -> Project:
    project = Project(root, tmp_path_factory.mktemp("tuned"))
    project.snakemake(config=TUNED)
    return project


def choice(project: Project, algorithm: str) -> dict:
    return json.loads((project.folder / f"results/tiny/tuned/vred_cifar100/{algorithm}.json").read_text())


def test_the_best_point_on_held_out_data_is_chosen_and_printed(tuned):
    made = choice(tuned, "vred")
    assert [point["learning_rate"] for point in made["points"]] == [0.05, 0.2]
    assert made["value"] == max(point["value"] for point in made["points"])
    assert made["data"] == "digits (stand-in for cifar100)" and made["hyperparameters"] == {"beta": 0.5}
    # The number that decided is the validation accuracy of that point's run.
    trials = (tuned.folder / "results/tiny/trials/vred_cifar100/vred.csv").read_text()
    point = re.escape(f"vred_cifar100~tuning~learning_rate={made['learning_rate']}")
    (value,) = re.findall(rf"{point},vred,beta=0.5,0,accuracy_mean,([0-9.]+),", trials)
    assert float(value) == pytest.approx(made["value"])
    table = (tuned.folder / "results/tiny/vred/table4.csv").read_text()
    assert re.search(r"vred_cifar100,vred,.*learning_rate", table)
    assert "stand-in for cifar100" in table


def test_runs_take_what_was_chosen_if_asked_to(tuned):
    folder = tuned.folder / "results/tiny/runs/vred_cifar100/vred"
    (variant,) = folder.iterdir()
    assert variant.name == "beta=0.1+tuned"  # that of the paper's row, with other values
    summary = json.loads((variant / "seed0" / "summary.json").read_text())
    made = choice(tuned, "vred")
    assert summary["chosen"] == {key: made[key] for key in summary["chosen"]}
    assert summary["chosen"]["hyperparameters"] == {"beta": 0.5}
    assert "what tuning chose here" in (tuned.folder / "results/tiny/vred/table1.md").read_text()
    plan = tuned.looked(config=TUNED)
    assert "0 of 6 train and 0 other jobs would run" in plan
    assert "vred_cifar100~tuning~learning_rate=0.05/vred/beta=0.5" in plan


# -- Calibration in the real Snakefile: a grid of FedAvg runs, and the choice.

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
        "default", "learning_rate=0.3~samples=120", "learning_rate=0.3~samples=90"
    }  # fmt: skip
    made = json.loads((calibrated.folder / f"results/tiny/calibrated/{SETTING}.json").read_text())
    assert [sorted(point["ours"]) for point in made["points"]] == [
        ["accuracy_balanced", "gap_max", "gap_min", "gap_var"]
    ] * 3
    assert "A demonstration only" in made["explanation"]
    assert "stand-in for emnist" in (calibrated.folder / f"results/tiny/calibrated/{SETTING}.md").read_text()
