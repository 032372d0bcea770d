"""Which jobs must run and why, on a real workload whose results and records are made by hand."""

import json
import os
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from benchmarks.pretend import finish

from fairfl.experiments.workload import load_workload
from fairfl.runtime import arithmetic, records
from fairfl.workflow import plan
from fairfl.workflow.rerun import Rerun
from tests.workflow.graphs import graph_of


def configuration(root, **more):
    only = {"papers": ["eagle"], "artifacts": ["eagle_table1", "eagle_figure2"], "algorithms": ["fedavg", "eagle"]}
    only |= {"seeds": [0]}
    return yaml.safe_load((root / "config.yaml").read_text()) | only | {"scale": "quick"} | more


class Stored:
    """All results in the working directory, and names of some jobs."""

    def __init__(self, root):
        self.root = root
        self.graph = graph_of(load_workload(root, configuration(root)))
        runs = {run.id: f"train/{run.id}" for run in self.graph.workload.runs}
        self.eagle = next(name for run, name in runs.items() if "/eagle/lambda=1.0/" in run)
        self.fedavg = next(name for run, name in runs.items() if "/fedavg/" in run)
        self.setting = self.eagle.split("/")[1]
        self.partition = f"partition/{self.setting}/seed0"
        (self.data,) = self.graph.job(self.partition).inputs
        self.optima = [name for name in self.graph.job(self.eagle).inputs if name.startswith("local_optimum/")]

    def why(self, name=None, **options):
        return Rerun(self.graph, **options).verdict(name or self.eagle).reason

    def planned(self, **options):
        """Names of all jobs that must run."""
        rerun = Rerun(self.graph, **options)
        return {job.name for job in self.graph.below(self.graph.everything()) if rerun.verdict(job.name).reason}

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
    for name in ("papers", "config.yaml"):
        (folder / name).symlink_to(root / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        finish(Stored(root).graph)
    return folder


@pytest.fixture
def stored(root, everything, tmp_path, monkeypatch):
    shutil.copytree(everything, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy")
    return Stored(root)


# -- nothing --------------------------------------------------------------------------------------
def test_fresh_results_are_up_to_date(stored):
    *lines, total = plan.lines(stored.graph)
    runs = stored.graph.workload.runs
    assert sorted(lines) == sorted(f"keep  train/{run.id}  up to date" for run in runs)
    assert len(runs) > 3 and total == f"0 of {len(runs)} train and 0 other jobs would run at scale quick"


# -- specs ----------------------------------------------------------------------------------------


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


# -- damage ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["eagle", "fedavg", "partition", "data"])
@pytest.mark.parametrize("left", [0, 5])
def test_a_truncated_file_runs_its_job_alone(stored, kind, left):
    name = getattr(stored, kind)
    path = stored.output(name, -1)
    size = path.stat().st_size
    os.truncate(path, left)
    assert stored.why(name) == f"{path.name} is damaged ({left} bytes, not {size})"
    assert stored.planned() == {name}


# -- reading --------------------------------------------------------------------------------------
def test_jobs_nearest_above(stored):
    rerun = Rerun(stored.graph)
    assert rerun.nearest("page") == []
    os.truncate(stored.output(stored.data), 1)
    stored.edit(stored.eagle, lambda spec: spec.update(rounds=0))
    rerun = Rerun(stored.graph)
    assert rerun.nearest(stored.eagle) == [stored.data]
    assert rerun.nearest(f"collect/{stored.setting}") == [stored.data, stored.eagle]


# -- arithmetic -----------------------------------------------------------------------------------
def test_results_of_another_arithmetic_are_kept_with_a_note_or_made_anew(stored):
    config = stored.graph.workload.config
    here = arithmetic.of(config.device, config.threads, config.backend)
    others = {"threads": (stored.eagle, "2"), "backend": (stored.fedavg, "sequential")}
    instructions = "AVX2" if here["instructions"] != "AVX2" else "AVX512"
    others |= {"torch": (stored.optima[0], "1.0"), "instructions": (stored.optima[1], instructions)}
    for part, (name, other) in others.items():
        path = Path(stored.graph.record(name))
        path.write_text(json.dumps(json.loads(path.read_text()) | {"arithmetic": here | {part: other}}))
    said = []
    assert stored.planned(here=here, say=said.append) == set()
    assert len(said) == 4 and all("numerics_mismatch: keep" in line for line in said)
    *_, backend, _, threads, torch, total = plan.lines(stored.graph)
    assert threads == "note: 1 results were made with threads 2, here it is 1: kept (numerics_mismatch: keep)"
    assert f"torch 1.0, here it is {version('torch')}" in torch and "backend sequential, here it is auto" in backend
    assert total.startswith("0 of ")
    names = [name for name, _ in others.values()]
    assert stored.planned(here=here, anew=True) == stored.readers(*names)
    assert stored.why(stored.eagle, here=here, anew=True) == "threads: 2 -> 1"
    elsewhere = arithmetic.of(config.device, config.threads, config.backend, elsewhere=True)
    assert stored.planned(here=elsewhere, anew=True) == stored.readers(*names[:3])  # not known on other machines


def test_an_arithmetic_that_is_not_known_is_not_another(stored):
    here = arithmetic.of("cpu", 1, "auto")
    for text in ({"arithmetic": {}}, {"versions": {"torch": version("torch")}}):
        for name in (stored.eagle, stored.fedavg):
            record = json.loads(Path(stored.graph.record(name)).read_text())
            record.pop("arithmetic", None)
            Path(stored.graph.record(name)).write_text(json.dumps(record | text))
        assert stored.planned(here=here, anew=True) == set()
    Path(stored.graph.record(stored.fedavg)).write_text(json.dumps(record | {"versions": {"torch": "1.0"}}))
    assert stored.why(stored.fedavg, here=here, anew=True) == f"torch: 1.0 -> {version('torch')}"


# -- raw files ------------------------------------------------------------------------------------
def test_raw_files_that_are_lost_are_fetched_again_if_data_must_be_prepared(stored, root, monkeypatch):
    config = configuration(root, artifacts=["eagle_table1"], scale="small")
    stored.graph = graph_of(load_workload(root, config))
    finish(stored.graph)
    prepare, fetch = "prepare/mnist", "fetch/mnist"
    raw = Path("data/mnist/images.gz")
    marker = stored.output(fetch)
    marker.write_text(json.dumps({"dataset": "mnist", "files": [{"path": "mnist/images.gz", "bytes": 3}]}))
    path = Path(stored.graph.record(fetch))
    records.write(path, records.read(path)["spec"], {}, [marker])
    path = Path(stored.graph.record(prepare))
    fetched = stored.graph.record(fetch)
    raw_files = records.read(fetched)
    inputs = {fetched: [raw_files["fingerprint"], records.results_hash(raw_files)]}
    records.write(path, records.read(path)["spec"], inputs, [stored.output(prepare)])
    assert stored.planned() == set()  # prepared data do without raw files
    stored.output(prepare).unlink()
    assert stored.planned() == {prepare, fetch}
    assert stored.why(fetch) == f"{raw} is missing or damaged"
    raw.parent.mkdir(parents=True)
    raw.write_text("abc")
    assert stored.planned() == {prepare}
    raw.write_text("ab")
    assert stored.planned() == {prepare, fetch}
