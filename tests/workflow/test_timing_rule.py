"""The timing stage in the real Snakefile: it has the machine to itself, takes few threads, and needs no runs."""

import json
import re

import pytest

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

TARGETS = ("focus_table9", "focus_table12")


def test_no_other_job_runs_beside_it_and_it_needs_no_runs(root, tmp_path):
    project = Project(root, tmp_path)
    config = ("papers=focus", "artifacts=focus_table9,focus_table12")
    plan = project.snakemake(*TARGETS, "--dry-run", config=config).stdout
    jobs = re.findall(r"^rule timing:.*?(?=^\[|\Z)", plan, re.M | re.S)
    assert len(jobs) == 2 and all("threads: 2" in job for job in jobs)  # all cores of --cores 2
    project.snakemake(*TARGETS, config=config)
    for path in (project.folder / "results/tiny/timed").glob("*.json"):
        assert json.loads(path.read_text())["threads"] == 1  # that of the configuration
    assert not (project.folder / "results/tiny/runs").exists()
