"""The timing stage in the real Snakefile has the machine to itself and needs no runs."""

import re

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]


def test_no_other_job_runs_beside_it_and_it_needs_no_runs(finished):
    plan = finished.snakemake("focus_table9", "focus_table12", "--dry-run", config=("papers=focus", "artifacts=null"))
    jobs = re.findall(r"^rule timing:.*?(?=^\[|\Z)", plan.stdout, re.M | re.S)
    assert len(jobs) == 2 and all("threads: 2" in job for job in jobs)  # all cores of --cores 2
    assert "rule train:" not in plan.stdout
