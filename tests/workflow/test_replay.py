"""Recorded runs that take seconds are trained again: today's code must give their numbers.

Equal to the bit where torch and processor (its generation too) are those of the record; else each accuracy within 0.02
and each loss within 2 % and 0.001 nats (other processors add up in another order).
"""

import json

import numpy as np
import pytest

from fairfl.recorded import curves
from fairfl.recorded.record import METRICS, Record
from fairfl.runtime import machine, tables
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("replay")]

# setting -> some of its runs
GENERATED = {
    "eagle_synthetic_gaussian": ["eagle/lambda=2.0/seed0", "fedavg/default/seed0"],
    "focus_synthetic_10": ["fedavg/default/seed0", "focus/M=2/seed0"],
}
REAL = {"fedfv_fmnist": ["fedavg/default/seed0", "qffl/q=5.0/seed0"]}


@pytest.mark.parametrize("setting", GENERATED)
def test_generated_data(setting, root, tmp_path):
    project = Project(root, tmp_path / "project", selection=("scale=full", f"papers={setting.partition('_')[0]}"))
    replay(project, root, setting, GENERATED[setting])


@pytest.mark.parametrize("setting", REAL)
def test_real_data(setting, root, tmp_path, mirror):
    project = Project(root, tmp_path / "project", selection=("scale=full", "papers=fedfv", f"mirrors={mirror}"))
    replay(project, root, setting, REAL[setting])


def replay(project: Project, root, setting: str, runs: list[str]) -> None:
    record = Record(setting, root / "results" / "recorded")
    paths = [f"results/full/runs/{setting}/{run}/{METRICS}" for run in runs]
    project.snakemake(*paths, config=("recorded=ignore",))
    for run, path in zip(runs, paths, strict=True):
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
