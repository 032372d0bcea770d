"""What is said of Slurm's queue. A real one: tests/workflow/test_slurm.py."""

import asyncio

from fairfl.workflow import queue

JOBS = {"7": "FedAvg", "8": "AFL"}
RUNS = ("RUNNING", "None")


def test_why_submissions_wait_is_one_line_for_each_reason():
    """Held ones with what lets them start; whether others ever will, only the cluster knows."""
    seen = queue.Queue()
    found = {"7": ("PENDING", "PartitionTimeLimit"), "8": ("PENDING", "PartitionTimeLimit")}
    said = "2 of 2 submissions wait in Slurm's queue: PartitionTimeLimit; `scontrol show job 7` says more (FedAvg)"
    assert seen.news(found, JOBS, 20) == [said]
    assert not seen.news(found, JOBS, 40)  # said once
    assert seen.news(found, JOBS, 20 + queue.AGAIN) == [said]
    (line,) = seen.news({"7": RUNS, "8": ("PENDING", "JobHeldUser")}, JOBS, 60)
    assert line.startswith("1 of 2 submissions") and "`scontrol release 8` lets it start (AFL)" in line


def test_to_wait_is_usual():
    seen, found = queue.Queue(), {"7": ("PENDING", "Priority"), "8": RUNS}
    assert not seen.news(found, JOBS, 20) and not seen.news(found, JOBS, queue.AGAIN)
    (line,) = seen.news(found, JOBS, 20 + queue.AGAIN)
    assert line.startswith("1 of 2 submissions wait in Slurm's queue: Priority; ")


def test_a_controller_that_is_gone_and_comes_back():
    seen = queue.Queue()
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


def test_a_job_that_was_preempted_for_good_has_ended(monkeypatch):
    """The plugin waits for Slurm to queue it again, which cancels it where PreemptMode says so."""

    async def tells(state, logger):
        return {"7": state}, 0.5

    asked = queue.answers(tells)
    states = []
    for now, state in [(0, "PREEMPTED"), (50, "PREEMPTED"), (55, "RUNNING"), (60, "PREEMPTED"), (121, "PREEMPTED")]:
        monkeypatch.setattr(queue.time, "monotonic", lambda now=now: now)
        states.append(asyncio.run(asked(state, None))[0]["7"])
    assert states == ["PREEMPTED", "PREEMPTED", "RUNNING", "PREEMPTED", queue.PREEMPTED]


def test_a_job_that_the_controller_has_forgotten():
    seen = queue.Queue()
    assert not seen.news({"7": RUNS}, JOBS, 20)  # perhaps it was submitted a moment ago
    (line,) = seen.news({"7": RUNS}, JOBS, 40)
    assert line.startswith("Slurm no longer knows job 8 (AFL)") and "Ctrl-C" in line
