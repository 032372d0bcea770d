"""Which jobs must run and why, on a real workload whose results and records are made by hand."""

import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from benchmarks.pretend import finish

from fairfl.experiments.workload import load_workload
from fairfl.runtime import arithmetic, kept, records
from fairfl.workflow.rerun import KEPT, Rerun
from tests.defaults import copy_config
from tests.workflow.graphs import graph_of


class Stored:
    """All results in the working directory, and names of some jobs."""

    def __init__(self, root):
        only = {"papers": ["eagle"], "artifacts": ["eagle_table1", "eagle_figure2"], "algorithms": ["fedavg", "eagle"]}
        self.graph = graph_of(load_workload(root, only | {"seeds": [0], "scale": "quick"}))
        runs = {run.id: f"train/{run.id}" for run in self.graph.workload.runs}
        self.eagle = next(name for run, name in runs.items() if "/eagle/lambda=1.0/" in run)
        self.fedavg = next(name for run, name in runs.items() if "/fedavg/" in run)
        self.setting = self.eagle.split("/")[1]
        self.partition = f"partition/{self.setting}/seed0"
        (self.data,) = self.graph.job(self.partition).inputs

    def why(self, name=None, **options):
        return Rerun(self.graph, **options).reason(name or self.eagle)

    def planned(self, **options):
        """Names of all jobs that must run."""
        rerun = Rerun(self.graph, **options)
        return {job.name for job in self.graph.below(self.graph.everything()) if rerun.reason(job.name)}

    def readers(self, *names):
        """These jobs and all that depend on them."""
        found = set(names)
        for job in self.graph.below(self.graph.everything()):
            if found.intersection(job.inputs):
                found.add(job.name)
        return found

    def output(self, name, which=0):
        return Path(self.graph.job(name).outputs[which])

    def edit(self, name, change):
        """Change the record of a job, as if it had been left under another spec."""
        path = Path(self.graph.record(name))
        record = json.loads(path.read_text())
        change(record["spec"])
        record["fingerprint"] = records.fingerprint(record["spec"])
        path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def everything(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan")
    (folder / "papers").symlink_to(root / "papers")
    copy_config(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        finish(Stored(root).graph)
    return folder


@pytest.fixture
def stored(root, everything, tmp_path, monkeypatch):
    shutil.copytree(everything, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy")
    return Stored(root)


def test_a_changed_value_shows_old_and_new(stored):
    stored.edit(stored.eagle, lambda spec: spec["hyperparameters"].update({"lambda": 3.5}))
    stored.edit(stored.partition, lambda spec: spec.update(clients=99))
    assert stored.why() == "hyperparameters.lambda: 3.5 -> 1.0"
    clients = stored.graph.workload.settings[stored.setting].clients
    assert stored.why(stored.fedavg) == f"{stored.partition}, which it reads, runs: clients: 99 -> {clients}"
    assert stored.planned() == stored.readers(stored.partition)


def test_what_read_results_of_another_spec_runs_though_the_new_ones_are_there(stored):
    path = Path(stored.graph.record(stored.eagle))
    record = json.loads(path.read_text())
    record["inputs"][stored.graph.record(stored.partition)][0] = "0123456789abcdef"
    path.write_text(json.dumps(record))
    assert stored.planned() == stored.readers(stored.eagle)
    assert stored.why() == f"{stored.partition}, which it reads, is another one now"


def test_jobs_nearest_above(stored):
    rerun = Rerun(stored.graph)
    assert rerun.nearest("page") == []
    os.truncate(stored.output(stored.data), 1)
    stored.edit(stored.eagle, lambda spec: spec.update(rounds=0))
    rerun = Rerun(stored.graph)
    assert rerun.nearest(stored.eagle) == [stored.data]
    assert rerun.nearest(f"collect/{stored.setting}") == [stored.data, stored.eagle]


def test_a_kept_result_comes_back_only_while_it_is_known_what_it_would_read(stored):
    job, record = stored.graph.job(stored.fedavg), Path(stored.graph.record(stored.partition))
    kept.keep(job.results, job.name, Path(job.record), damaged=False)
    assert stored.why(job.name) == KEPT
    stored.edit(stored.partition, lambda spec: spec.update(clients=99))
    assert stored.why(job.name) == "never finished"
    record.unlink()
    assert stored.why(job.name) == "never finished"


def test_a_kept_result_of_another_spec_stays_away(stored):
    job = stored.graph.job(stored.eagle)
    stored.edit(job.name, lambda spec: spec.update(rounds=0))
    kept.keep(job.results, job.name, Path(job.record), damaged=False)
    assert stored.why(job.name) == "never finished"


def test_an_arithmetic_that_is_not_known_is_not_another(stored):
    here = arithmetic.of("cpu", 1, "auto")

    def say(name: str, said: dict) -> None:
        path = Path(stored.graph.record(name))
        path.write_text(json.dumps(json.loads(path.read_text()) | {"arithmetic": said}))

    for name in (stored.eagle, stored.fedavg):
        say(name, {})
    assert stored.planned(numerics=here, rerun_on_mismatch=True) == set()
    say(stored.fedavg, {"torch": "1.0"})
    assert stored.why(stored.fedavg, numerics=here, rerun_on_mismatch=True) == f"torch: 1.0 -> {version('torch')}"
