"""What is taken into the record, what is refused, and which entry stands for a job of today."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairfl.recorded.record import Record
from fairfl.runtime import machine, records
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import fingerprint
from fairfl.workflow.graph import Job
from fairfl.workflow.recorded import Recorded, Stored, available, taken
from fairfl.workflow.rerun import rerun_of
from tests.unit.recorded.test_record import read_all

NAME = "train/s/fedavg/default/seed0"
RUN = "results/full/runs/s/fedavg/default/seed0"
CODE = {"fairfl.jobs.train": "aa"}


def job(rate=0.1, code=CODE, seed=0) -> Job:
    run, name = (text.replace("seed0", f"seed{seed}") for text in (RUN, NAME))
    outputs = tuple(f"{run}/{file}" for file in ("metrics.parquet", "summary.json", "model.safetensors"))
    spec = {"setting": "s", "seed": seed, "learning_rate": rate, "code": code}
    return Job(name, "train", spec, (), {}, outputs, f"results/full/records/{name}.json")


def finish(made: Job, loss=0.5, cost=1.5, torch="2.15.0", processor="a CPU", diverged=False, model=b"m", seconds=36.0):
    metrics, summary, weights = map(Path, made.outputs)
    metrics.parent.mkdir(parents=True, exist_ok=True)
    columns = {"round": [0, 1], "client": [0, 0], "loss_test": [1.0, loss], "samples_test": [3, 3]}
    pq.write_table(pa.table(columns), metrics)
    versions = {"torch": torch, "python": "3.11", "numpy": "2"}
    said = {"measures": {"comm_cost": cost}, "diverged": diverged, "device": "cpu", "threads": 2, "seconds": seconds}
    said |= {"spec": made.parsed, "fingerprint": made.fingerprint, "host": "somewhere", "versions": versions}
    summary.write_text(json.dumps(said | {"processor": processor, "data_source": "drawn"}))
    weights.write_bytes(model)
    records.write(Path(made.record), made.parsed, {}, [metrics, summary, weights], arithmetic={"torch": torch})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def take(made: Job) -> dict[str, int]:
    return dict(taken(Recorded(SimpleNamespace()), [made]))


def entries():
    record = Record("s")
    read_all(record)
    return record.jobs[NAME]


def test_a_finished_job_is_taken_once():
    finish(job())
    assert take(job()) == {"taken": 1}
    before = Path("results/recorded/s/jobs.json").read_bytes()
    assert take(job()) == {"stored before": 1}
    assert Path("results/recorded/s/jobs.json").read_bytes() == before
    (entry,) = entries()
    assert entry.origin.core_hours == pytest.approx(0.02) and entry.origin.gpu_hours == 0
    assert entry.origin.processor == "a CPU" and "somewhere" not in before.decode()


def test_what_never_finished_or_was_made_otherwise_is_left():
    assert take(job()) == {"not finished": 1}
    finish(job(rate=0.2))
    assert take(job()) == {"finished with another spec": 1}
    assert not Path("results/recorded").exists()


def made(name, inputs=(), **spec) -> Job:
    """A job that leaves one JSON file."""
    spec, outputs = {"code": CODE, **spec}, (f"results/full/{name}.json",)
    return Job(name, name.partition("/")[0], spec, inputs, {}, outputs, f"results/full/records/{name}.json")


def graph_of(*jobs) -> SimpleNamespace:
    named = {job.name: job for job in jobs}
    return SimpleNamespace(job=named.__getitem__, record=lambda name: named[name].record)


def finish_all(*jobs):
    """As they would be run, each after what it reads."""
    for job in jobs:
        path = Path(job.outputs[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"value": 1.0, "seconds": 1.0}))
        read = [f"results/full/records/{name}.json" for name in job.inputs]
        inputs = {path: [records.read(path)["fingerprint"], ""] for path in read}
        records.write(Path(job.record), job.parsed, inputs, [path])


def tuned(steps=100, rate=0.1, code=CODE) -> list[Job]:
    """A choice, what it was made by, and what that names alone: a run, which reads an optimum."""
    optimum = made("local_optimum/s/seed0/client0", max_steps=steps, code=code)
    run = made("train/s_lr0.1/fedavg/default/seed0", (optimum.name,), rate=rate, code=code)
    table = made("trials/s/fedavg", (run.name,), runs=["s_lr0.1/fedavg/default/seed0"])
    return [optimum, run, table, made("tune/s/fedavg", (table.name,), metric="accuracy_mean")]


@pytest.mark.parametrize("other", [{"steps": 200}, {"rate": 0.2}])
def test_what_was_made_from_other_inputs_is_neither_taken_nor_given_back(other):
    """A spec of trials names its runs alone, and the optimum is one job further away."""
    finish_all(*tuned())
    today, choice = graph_of(*tuned(**other)), tuned(**other)[-1]
    assert taken(Recorded(today), [choice]) == {"finished with other inputs": 1}
    as_finished = graph_of(*tuned())
    assert taken(Recorded(as_finished), [tuned()[-1]]) == {"taken": 1}
    assert Recorded(as_finished).stored(tuned()[-1]) is not None
    assert Recorded(today).stored(choice) is None


def test_inputs_of_other_code_are_the_same_inputs_and_those_made_anew_since_are_not():
    finish_all(*tuned())
    edited = tuned(code={"fairfl.jobs.train": "bb"})
    assert taken(Recorded(graph_of(*edited)), [edited[-1]]) == {"taken": 1}
    finish_all(*edited[:1])
    assert taken(Recorded(graph_of(*edited)), [edited[-1]]) == {"finished with other inputs": 1}


def test_another_number_of_the_same_code_is_refused():
    finish(job())
    take(job())
    finish(job(), cost=2.5)
    message = "other numbers, though spec, code, numerics and processor are equal .*comm_cost"
    with pytest.raises(FairflError, match=message):
        take(job())
    assert len(entries()) == 1


@pytest.mark.parametrize("other", [{"code": {"fairfl.jobs.train": "bb"}}, {"torch": "2.16.0"}, {"processor": "B"}])
def test_another_number_of_other_code_torch_or_processor_is_kept_beside(other, capsys):
    finish(job())
    take(job())
    changed = job(code=other.pop("code", CODE))
    finish(changed, loss=0.6, **other)
    assert take(changed) == {"taken": 1}
    assert "metrics.parquet" in capsys.readouterr().out
    assert len(entries()) == 2
    # Each job of today gets the numbers of its own code, and one of code that nobody recorded gets the newest.
    recorded = Recorded(SimpleNamespace())
    wanted = fingerprint(changed.parsed["code"])
    assert recorded.stored(changed).entry.code == wanted and recorded.stored(changed).same_code
    assert recorded.stored(job()).entry.code == fingerprint(CODE)
    newest = Stored(recorded.record("s").jobs[NAME][-1], same_code=False)
    assert recorded.stored(job(code={"fairfl.jobs.train": "cc"})) == newest


GPU = {"device": "NVIDIA X", "cuda_graphs": "on", "arithmetic": {"torch": "2.15.0", "device": "cuda"}}


@pytest.mark.parametrize(
    ("said", "record", "device", "processor", "hours"),
    [
        (GPU, {}, "cuda", "NVIDIA X", (0.0, 1.0)),
        ({"device": "cpu", "processor": "A", "threads": 2}, {}, "cpu", "A", (2.0, 0.0)),
        ({}, {"arithmetic": {"device": "cuda"}}, "cuda", "cuda", (0.0, 1.0)),  # from before results said it
        ({}, {}, "cpu", machine.cpu_name(), (1.0, 0.0)),
    ],
)
@pytest.mark.parametrize("rule", ["local_optimum/s/seed0/client0", "surrogate/s/seed0/cluster0"])
def test_the_record_says_what_computed_a_reference(rule, said, record, device, processor, hours):
    job = made(rule)
    finish_all(job)
    path = Path(job.outputs[0])
    path.write_text(json.dumps({"value": 1.0, "seconds": 3600.0, **said}))
    records.write(Path(job.record), job.parsed, {}, [path], **record)
    assert take(job) == {"taken": 1}
    (entry,) = Record("s").jobs[rule]
    assert (entry.origin.device, entry.origin.processor) == (device, processor)
    assert (entry.origin.core_hours, entry.origin.gpu_hours) == hours
    assert entry.arithmetic == said.get("arithmetic", {})


def test_the_arithmetic_of_an_entry_may_matter():
    made = job()
    finish(made)
    summary = Path(made.outputs[1])
    said = {"torch": "1.0", "threads": "2"}
    summary.write_text(json.dumps(json.loads(summary.read_text()) | {"arithmetic": said}))
    records.write(Path(made.record), made.parsed, {}, map(Path, made.outputs), arithmetic=said)
    take(job())
    assert entries()[0].arithmetic == said
    for wanted, used in (({}, True), (said, True), ({"threads": "1"}, False), ({"torch": "2.15.0"}, False)):
        assert (Recorded(SimpleNamespace(), only=wanted).stored(job()) is not None) == used
    assert Recorded(SimpleNamespace(), only={"instructions": "AVX2"}).stored(job()) is not None  # not known


def test_damaged_results_are_refused_by_name():
    finish(job())
    Path(RUN, "model.safetensors").write_bytes(b"x")  # the same size
    with pytest.raises(FairflError, match=rf"{NAME}: model\.safetensors is damaged \(not the bytes"):
        take(job())
    Path(RUN, "model.safetensors").unlink()
    with pytest.raises(FairflError, match=rf"{NAME}: model\.safetensors is missing"):
        take(job())
    for path in job().outputs:  # somebody deleted the run
        Path(path).unlink(missing_ok=True)
    assert take(job()) == {"not finished": 1}


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_losses_that_are_not_finite_are_taken_of_diverged_runs_only(loss):
    finish(job(), loss=loss)
    with pytest.raises(FairflError, match="loss_test is not finite"):
        take(job())
    finish(job(), loss=loss, diverged=True)
    assert take(job()) == {"taken": 1}


@pytest.mark.parametrize(
    ("scale", "choice", "used"), [("full", "use", True), ("full", "ignore", False), ("quick", "use", False)]
)
def test_the_record_is_of_one_scale(scale, choice, used):
    """At quick scale toys of the papers' own size run too: `make` must run all of the code."""
    config = SimpleNamespace(recorded=choice, numerics_mismatch="keep", device="cpu", threads=1, backend="auto")
    workload = SimpleNamespace(config=config, scale=SimpleNamespace(scale=scale))
    assert (rerun_of(SimpleNamespace(workload=workload, runs_here=True)).recorded is not None) == used


def test_only_the_record_is_for_its_scale():
    with pytest.raises(FairflError, match="recorded: 'only' is for scale full: add --config scale=full"):
        available(SimpleNamespace(scale=SimpleNamespace(scale="quick")))
