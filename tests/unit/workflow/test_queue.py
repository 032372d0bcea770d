"""What is said of Slurm's queue. A real one: tests/workflow/test_slurm.py."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

from fairfl.workflow import queue

JOBS = {"7": "FedAvg", "8": "AFL"}
RUNS = ("RUNNING", "None")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("JobHeldUser", "Slurm does not start job 8 (AFL): JobHeldUser; `scontrol release 8` lets it start, `scanc"),
        ("launch failed requeued held", "`scontrol release 8` lets it start"),
        ("ReqNodeNotAvail, UnavailableNodes:n1", "`sinfo -R` says more, `scancel 8` lets Snakemake submit it again"),
    ],
)
def test_a_job_that_will_not_start_by_itself(reason, words):
    seen = queue.Queue(0)
    (line,) = seen.news({"7": RUNS, "8": ("PENDING", reason)}, JOBS, 20)
    assert words in line and "\n" not in line
    assert not seen.news({"7": RUNS, "8": ("PENDING", reason)}, JOBS, 40)  # said once
    again = seen.news({"7": RUNS, "8": ("PENDING", reason)}, JOBS, 20 + queue.AGAIN)
    assert again[0] == line and f"1 of 2 jobs wait in Slurm's queue ({reason}: 1)" in again[1]


def test_to_wait_is_usual():
    seen, found = queue.Queue(0), {"7": ("PENDING", "Priority"), "8": ("PENDING", "QOSMaxCpuPerUserLimit")}
    assert not seen.news(found, JOBS, queue.AGAIN / 2)
    assert seen.news(found, JOBS, queue.AGAIN) == [
        "2 of 2 jobs wait in Slurm's queue (Priority: 1, QOSMaxCpuPerUserLimit: 1)"
    ]


def test_a_controller_that_is_gone_and_comes_back():
    seen = queue.Queue(0)
    for start in (20, 100):
        (line,) = seen.news("Connection refused", JOBS, start)
        assert line.startswith("Slurm does not answer (Connection refused): jobs that run go on")
        assert not seen.news("Connection refused", JOBS, start + 20)
        assert seen.news({"7": RUNS, "8": RUNS}, {} if start == 20 else JOBS, start + 40) == ["Slurm answers again"]


def test_jobs_are_not_forgotten_while_slurm_does_not_answer():
    async def silent(command, logger):
        return None, None

    async def tells(command, logger):
        return {"7": command}, 0.5

    assert asyncio.run(queue.answers(silent)("squeue", None)) == ({}, 0.0)
    assert asyncio.run(queue.answers(tells)("RUNNING", None)) == ({"7": "RUNNING"}, 0.5)


def test_a_job_that_the_controller_has_forgotten():
    seen = queue.Queue(0)
    assert not seen.news({"7": RUNS}, JOBS, 20)  # perhaps it was submitted a moment ago
    (line,) = seen.news({"7": RUNS}, JOBS, 40)
    assert line.startswith("Slurm no longer knows job 8 (AFL)") and "Ctrl-C" in line


def test_squeue_is_asked_while_jobs_are_under_way(tmp_path, monkeypatch):
    monkeypatch.setattr(queue, "EVERY", 0.01)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    program, said, told = tmp_path / "squeue", [], threading.Event()
    program.write_text('#!/bin/sh\n[ "$5" = fairfl_1 ] || exit 3\necho "8|PENDING|JobHeldAdmin"\n')
    program.chmod(0o755)
    job = SimpleNamespace(external_jobid="8", job=SimpleNamespace(output=[tmp_path / "missing"]))
    done = SimpleNamespace(external_jobid="9", job=SimpleNamespace(output=[program]))
    executor = SimpleNamespace(active_jobs=[job, done], run_uuid="fairfl_1")
    stop = queue.watch(executor, lambda job: "AFL", lambda line: said.append(line) or told.set())
    assert told.wait(60)
    stop()
    assert said == [
        "Slurm does not start job 8 (AFL): JobHeldAdmin; `scontrol release 8` lets it start, "
        "`scancel 8` lets Snakemake submit it again"
    ]
    program.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    said.clear(), told.clear(), executor.active_jobs.clear()  # which it is while Snakemake asks in vain
    stop = queue.watch(executor, str, lambda line: said.append(line) or told.set())
    assert told.wait(60)
    stop()
    assert said[0].startswith("Slurm does not answer (Unable to contact slurm controller)")
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "squeue" in queue.look("fairfl_1")
