"""What is said of Slurm's queue. A real one: tests/workflow/test_slurm.py."""

import asyncio

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
