"""Recorded runs that take seconds are trained again: today's code must give their numbers.

Equal to the bit where torch and processor (its generation too) are those of the record; else each accuracy within 0.02
and each loss within 2 % and 0.001 nats (other processors add up in another order).
"""

import json

import numpy as np
import pytest

from fairfl.recorded import curves
from fairfl.recorded.record import METRICS, Record
from fairfl.runtime import machine
from fairfl.values import tables
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("replay")]

# setting -> some of its runs
GENERATED = {
    "eagle_synthetic_gaussian": ["fedavg/default/seed0"],
    "eagle_toy_2clients": ["eagle/lambda=2.0/seed0"],
    "fedeba_toy": ["fedeba/tau=5.31/seed0", "qffl/q=2.0/seed0"],
    "focus_synthetic_10": ["focus/M=2/seed0"],
}
REAL = {"fedfv_fmnist": ["fedavg/default/seed0", "qffl/q=5.0/seed0"]}


def test_generated_data(root, tmp_path):
    selection = ("scale=full", "papers=eagle,fedeba,focus")
    replay(Project(root, tmp_path / "project", selection=selection), root, GENERATED)


def test_real_data(root, tmp_path, mirror):
    selection = ("scale=full", "papers=fedfv", f"mirrors={mirror}")
    replay(Project(root, tmp_path / "project", selection=selection), root, REAL)


def replay(project: Project, root, chosen: dict[str, list[str]]) -> None:
    paths = {
        (setting, run): f"results/full/runs/{setting}/{run}/{METRICS}" for setting in chosen for run in chosen[setting]
    }
    project.snakemake(*paths.values(), config=("recorded=ignore",))
    for (setting, run), path in paths.items():
        record = Record(setting, root / "results" / "recorded")
        job = f"train/{setting}/{run}"
        then = record.jobs[job][-1]
        before, after = record.metrics(job, then), tables.arrow(project.folder / path)
        here = {"torch": torch_of(project, path), "processor": machine.cpu_name()}
        if here == {"torch": then.origin.versions["torch"], "processor": then.origin.processor}:
            assert curves.digest(after.replace_schema_metadata()) == curves.digest(before), job
        assert after.column_names == before.column_names
        for name in before.column_names:
            limit = {"rtol": 0.02, "atol": 0.001} if name.startswith("loss") else {"rtol": 0, "atol": 0.02}
            old, new = before[name].to_numpy(), after[name].to_numpy()
            np.testing.assert_allclose(new, old, err_msg=f"{job}: {name}", **limit)


def torch_of(project: Project, path: str) -> str:
    """torch, as the run says."""
    summary = project.folder / path.replace(METRICS, "summary.json")
    return json.loads(summary.read_text())["versions"]["torch"]
