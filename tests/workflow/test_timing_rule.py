"""The timing stage in the real Snakefile: it has the machine to itself, takes few threads, and needs no runs."""

import json
import re

import pytest

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

SCALE = """
  - match: ["focus_rotated_mnist_*"]
    set:
      data: {name: digits}
      split: {train: 0.8, validation: 0.0, test: 0.2, order: shuffled}
      timing: {rounds: 2, inferences: 2, metrics: 2}
    why: test
"""
SELECTED = ("papers=focus", "artifacts=focus_table9,focus_table12")


@pytest.fixture(scope="module")
def timed(root, tmp_path_factory) -> Project:
    project = Project(root, tmp_path_factory.mktemp("timed"))
    with (project.folder / "scales" / "tiny.yaml").open("a") as file:
        file.write(SCALE)
    targets = ("focus_table9", "focus_table12")
    plan = project.snakemake(*targets, "--dry-run", config=SELECTED).stdout
    (project.folder / "plan.txt").write_text(plan)
    project.snakemake(*targets, config=SELECTED)
    return project


def test_no_other_job_runs_beside_it(timed) -> None:
    plan = (timed.folder / "plan.txt").read_text()
    jobs = re.findall(r"^rule timing:.*?(?=^\[|\Z)", plan, re.M | re.S)
    assert len(jobs) == 2
    assert all("threads: 2" in job for job in jobs)  # all cores of --cores 2


def test_it_computes_with_the_threads_of_the_configuration_and_needs_no_runs(timed) -> None:
    for path in (timed.folder / "results/tiny/timed").glob("*.json"):
        assert json.loads(path.read_text())["threads"] == 1
    assert not (timed.folder / "results/tiny/runs").exists()
