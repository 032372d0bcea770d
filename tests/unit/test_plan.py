"""The plan in words: why a run would run, on a real workload with stored results made by hand."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from safetensors.numpy import save_file

from fairfl import plan
from fairfl.provenance.fingerprint import canonical
from fairfl.spec import jobs
from fairfl.spec.layout import Layout
from fairfl.spec.setting import Surrogate
from fairfl.spec.workload import load_workload


def configuration(root):
    only = {"artifacts": ["eagle_table1"], "algorithms": ["fedavg", "eagle"], "seeds": [0], "scale": "quick"}
    return yaml.safe_load((root / "config.yaml").read_text()) | only


def edit(path, change):
    """Change the JSON in a file by a function on it."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def write_data(path, spec):
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({"labels": np.zeros(1)}, path, metadata={"spec": canonical(spec)})


def write_partition(path, spec):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"row": [0]}).replace_schema_metadata({"spec": canonical(spec)}), path)


@pytest.fixture(scope="module")
def everything(root, tmp_path_factory):
    """All results of the runs, as fresh as they can be."""
    folder = tmp_path_factory.mktemp("plan")
    layout = Layout(load_workload(root, configuration(root)))
    for run in layout.workload.runs:
        for name in layout.run_files(run):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
        summary = {"spec": jobs.train(layout.workload, run), "versions": {"torch": version("torch")}}
        (folder / layout.results / "runs" / run.id / "summary.json").write_text(json.dumps(summary))
        write_data(folder / layout.data(run.setting, run.seed), jobs.prepare(layout.workload, run.setting, run.seed))
        write_partition(
            folder / layout.partition(run.setting, run.seed), jobs.partition(layout.workload, run.setting, run.seed)
        )
        for client, name in enumerate(layout.optima_for(run.algorithm, run.setting, run.seed)):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"spec": jobs.optimum(layout.workload, run.setting, run.seed, client)}))
    return folder, layout


class Stored:
    """A copy of all results in the working directory; the eagle run with lambda = 1 and its files."""

    def __init__(self, layout):
        self.layout = layout
        self.eagle = next(run for run in layout.workload.runs if run.arm == "lambda=1.0")
        self.fedavg = next(run for run in layout.workload.runs if run.algorithm == "fedavg")
        self.folder = Path(layout.results) / "runs" / self.eagle.id
        self.partition = Path(layout.partition(self.eagle.setting, 0))
        self.optima = [Path(name) for name in layout.optima(self.eagle.setting, 0)]

    def why(self, run=None):
        return plan.reason(self.layout, run or self.eagle)


@pytest.fixture
def stored(everything, tmp_path, monkeypatch):
    folder, layout = everything
    shutil.copytree(folder, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return Stored(layout)


def test_fresh_results_are_up_to_date(stored):
    *lines, total = plan.lines(stored.layout.workload)
    runs = stored.layout.workload.runs
    assert lines == [f"keep  {run.id}  up to date" for run in runs]
    assert len(runs) > 3 and total == f"0 of {len(runs)} runs would run at scale quick"


def test_without_results_every_run_never_finished(stored):
    shutil.rmtree("results")
    *lines, total = plan.lines(stored.layout.workload)
    runs = stored.layout.workload.runs
    assert lines == [f"run   {run.id}  never finished" for run in runs]
    assert total == f"{len(runs)} of {len(runs)} runs would run at scale quick"


@pytest.mark.parametrize("damage", [None, "", "{half", b"\xff\xfe"])
def test_a_summary_that_cannot_be_read_means_never_finished(stored, damage):
    path = stored.folder / "summary.json"
    path.unlink()
    if damage is not None:
        path.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    assert stored.why() == "never finished"


def test_a_checkpoint_is_mentioned(stored):
    (stored.folder / "summary.json").unlink()
    (stored.folder / "checkpoint.pt").write_bytes(b"")
    assert stored.why() == "never finished (goes on from its checkpoint)"
    assert stored.why(stored.fedavg) == ""


def test_an_edited_module_is_named(stored):
    edit(stored.folder / "summary.json", lambda s: s["spec"]["code"].update({"fairfl.algorithms.eagle": "0"}))
    assert stored.why() == "edited fairfl.algorithms.eagle"
    assert stored.why(stored.fedavg) == ""


def test_a_new_module_and_one_that_is_gone_are_named(stored):
    def change(summary):
        summary["spec"]["code"]["fairfl.old"] = summary["spec"]["code"].pop("fairfl.train")

    edit(stored.folder / "summary.json", change)
    assert stored.why() == "module gone fairfl.old; new module fairfl.train"


def test_a_changed_hyperparameter_shows_old_and_new_value(stored):
    edit(stored.folder / "summary.json", lambda s: s["spec"]["hyperparameters"].update({"lambda": 3.5}))
    assert stored.why() == "hyperparameters.lambda: 3.5 -> 1.0"


def test_a_changed_setting_shows_old_and_new_value(stored):
    edit(stored.folder / "summary.json", lambda s: s["spec"].update({"learning_rate": 0.7}))
    now = stored.layout.workload.settings[stored.eagle.setting].learning_rate
    assert stored.why() == f"learning_rate: 0.7 -> {now}"


@pytest.mark.parametrize("name", ["metrics.parquet", "model.safetensors"])
def test_a_missing_file_of_a_finished_run_is_named(stored, name):
    (stored.folder / name).unlink()
    assert stored.why() == f"{name} missing"


@pytest.mark.parametrize("damage", ["absent", "garbage", "no spec"])
def test_a_missing_partition_runs_all_its_runs(stored, damage):
    stored.partition.unlink()
    if damage == "garbage":
        stored.partition.write_bytes(b"PAR1")
    if damage == "no spec":
        pq.write_table(pa.table({"row": [0]}), stored.partition)
    assert stored.why() == stored.why(stored.fedavg) == "its partition is missing"


def test_a_changed_partition_says_what_changed(stored):
    spec = jobs.partition(stored.layout.workload, stored.eagle.setting, 0)
    write_partition(stored.partition, spec | {"clients": 99})
    clients = spec["clients"]
    assert stored.why() == f"its partition changes: clients: 99 -> {clients}"


@pytest.mark.parametrize("damage", ["absent", "{", "{}"])
def test_a_missing_local_optimum_runs_the_runs_that_read_it(stored, damage):
    stored.optima[1].unlink()
    if damage != "absent":
        stored.optima[1].write_text(damage)
    assert stored.why() == "local optimum of client 1 is missing"
    assert stored.why(stored.fedavg) == ""


def test_a_changed_local_optimum_says_what_changed(stored):
    edit(stored.optima[2], lambda found: found["spec"]["local_optimum"].update(max_steps=1))
    now = stored.layout.workload.settings[stored.eagle.setting].local_optimum.max_steps
    assert stored.why() == f"local optimum of client 2 changes: local_optimum.max_steps: 1 -> {now}"
    assert stored.why(stored.fedavg) == ""


# -- surrogates -------------------------------------------------------------------------------
def test_a_run_follows_the_one_that_it_comes_after(stored, monkeypatch):
    before = {stored.eagle: stored.fedavg}
    monkeypatch.setattr(stored.layout.workload, "predecessor", before.get)
    assert plan.reason(stored.layout, stored.eagle) == ""
    (Path(stored.layout.results) / "runs" / stored.fedavg.id / "summary.json").unlink()
    words = f"{stored.fedavg.id}, which it comes after, runs: never finished"
    assert plan.reason(stored.layout, stored.eagle) == words


@pytest.fixture
def surrogates(stored, root):
    """The same results, of a setting that has two surrogates: their files."""
    load = load_workload(root, configuration(root))
    setting = stored.eagle.setting
    load.settings[setting] = load.settings[setting].model_copy(update={"surrogate": Surrogate(clusters=2)})
    stored.layout = Layout(load)
    paths = [Path(name) for name in stored.layout.surrogates(setting, 0)]
    for cluster, path in enumerate(paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"spec": jobs.surrogate(load, setting, 0, cluster)}))
    return paths


def lines_of_surrogates(stored):
    *lines, total = plan.lines(stored.layout.workload)
    name = f"surrogates/{stored.eagle.setting}/seed0/cluster"
    return [line.replace(name, "") for line in lines if name in line], total


def test_surrogates_are_planned_beside_the_runs_which_do_not_need_them(stored, surrogates):
    runs = len(stored.layout.workload.runs)
    lines, total = lines_of_surrogates(stored)
    assert lines == ["keep  0  up to date", "keep  1  up to date"]
    assert total == f"0 of {runs} runs and 0 of 2 surrogates would run at scale quick"
    surrogates[1].unlink()
    lines, total = lines_of_surrogates(stored)
    assert lines == ["keep  0  up to date", "run   1  never finished"]
    assert total == f"0 of {runs} runs and 1 of 2 surrogates would run at scale quick"


def test_a_surrogate_goes_on_from_its_checkpoint(stored, surrogates):
    surrogates[0].unlink()
    (surrogates[0].parent / "cluster0.checkpoint.pt").write_bytes(b"")
    assert lines_of_surrogates(stored)[0][0] == "run   0  never finished (goes on from its checkpoint)"


def test_a_changed_surrogate_says_what_changed(stored, surrogates):
    edit(surrogates[0], lambda found: found["spec"]["surrogate"].update(every=99))
    every = stored.layout.workload.settings[stored.eagle.setting].local_epochs
    assert lines_of_surrogates(stored)[0][0] == f"run   0  surrogate.every: 99 -> {every}"


@pytest.mark.parametrize("which", ["data", "partition"])
def test_surrogates_follow_data_and_partition(stored, surrogates, which):
    path = stored.partition if which == "partition" else Path(stored.layout.data(stored.eagle.setting, 0))
    path.unlink()
    assert all(line.startswith("run ") and which in line for line in lines_of_surrogates(stored)[0])


def test_results_of_another_torch_are_kept_with_a_note(stored):
    edit(stored.folder / "summary.json", lambda s: s["versions"].update(torch="1.0"))
    edit(Path(stored.layout.results) / "runs" / stored.fedavg.id / "summary.json",
         lambda s: s["versions"].update(torch="2.0"))  # fmt: skip
    *_, note, total = plan.lines(stored.layout.workload)
    here = version("torch")
    assert note == f"note: this is torch {here}, but results were made with others: 1 with 1.0, 1 with 2.0"
    assert total.startswith("0 of ")


def test_the_command_prints_the_plan_and_writes_nothing(stored, root, capsys):
    (stored.folder / "summary.json").unlink()
    before = sorted(map(str, Path().rglob("*")))
    plan.main(["--config", json.dumps(configuration(root)), "--root", str(root)])
    out = capsys.readouterr().out
    assert f"run   {stored.eagle.id}  never finished\n" in out
    assert f"keep  {stored.fedavg.id}  up to date\n" in out
    assert out.endswith(f"1 of {len(stored.layout.workload.runs)} runs would run at scale quick\n")
    assert sorted(map(str, Path().rglob("*"))) == before


def test_edited_data_code_is_named(stored):
    path = Path(stored.layout.data(stored.eagle.setting, 0))
    spec = jobs.prepare(stored.layout.workload, stored.eagle.setting, 0)
    write_data(path, spec | {"code": spec["code"] | {"fairfl.data.digits": "0"}})
    assert stored.why() == "its data change: edited fairfl.data.digits"


def test_missing_data_are_named(stored):
    Path(stored.layout.data(stored.eagle.setting, 0)).unlink()
    assert stored.why() == "its prepared data are missing"


@pytest.mark.parametrize("content", ["{}", "[]", '"a"', "{"])
def test_a_damaged_summary_counts_as_never_finished(stored, content):
    (stored.folder / "summary.json").write_text(content)
    assert stored.why() == "never finished"
    assert plan.lines(stored.layout.workload)[-1].startswith("1 of ")
