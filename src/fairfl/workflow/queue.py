"""What Slurm's queue does to the jobs of this workflow, shown within a minute: Snakemake itself only waits.

That is: a job is held, or can start nowhere; the controller does not answer; it has forgotten a job.
"""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

EVERY = 60.0  # seconds between two looks
PATIENCE = 30.0  # seconds that Slurm may take to answer
GONE = 60.0  # seconds until a preempted job is taken for cancelled
AGAIN = 600.0  # seconds until the same is said once more
USUAL = {"None", "Priority", "Resources", "BeginTime"}  # to wait so is said after AGAIN only
PREEMPTED = "DEADLINE"  # what the plugin is told of a job that stays preempted: a state that it takes for an end


def look(run: str) -> dict[str, tuple[str, str]] | str:
    """State of each job of a run of Snakemake, and why it waits. A text is why Slurm does not tell."""
    command = ["squeue", "--noheader", "--states=all", "--format=%i|%T|%r", "--name", run]
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE)
    except OSError as error:
        return str(error)
    except subprocess.TimeoutExpired:
        return f"squeue has no answer for {PATIENCE:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["squeue failed"])[-1]
    rows = [line.split("|", 2) for line in done.stdout.splitlines()]
    return {row[0].strip(): (row[1].strip(), row[2].strip()) for row in rows if len(row) == 3}


class Queue:
    """Turns what is seen into lines to print, each thing once in AGAIN seconds."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}
        self._missed: set[str] = set()
        self._silent = False

    def news(
        self, states: dict[str, tuple[str, str]] | str, jobs: Mapping[str, str], now: float
    ) -> list[str]:
        """Lines for the user. `jobs`: Slurm's numbers of jobs that Snakemake waits for, and what they are called."""
        lines = [
            (key, line)
            for key, line in self._all(states, jobs, now)
            if now - self._said.get(key, -AGAIN) >= AGAIN
        ]
        self._said |= {key: now for key, _ in lines}
        return [line for _, line in lines]

    def _all(
        self, states: dict[str, tuple[str, str]] | str, jobs: Mapping[str, str], now: float
    ) -> Iterator[tuple[str, str]]:
        if isinstance(states, str):
            self._silent = True
            yield (
                "silent",
                f"Slurm does not answer ({states}): jobs that run go on, and so does this as soon as it does; "
                "`scontrol ping` asks it",
            )
            return
        if self._silent:
            self._silent = False
            self._said.pop("silent", None)
            self._said.pop("answers", None)
            yield "answers", "Slurm answers again"
        if not jobs:
            return
        lost = jobs.keys() - states.keys()
        for number in sorted(lost & self._missed):
            yield (
                f"lost {number}",
                f"Slurm no longer knows job {number} ({jobs[number]}), so its end stays unknown: press Ctrl-C "
                "and run the same command again; trainings go on from their checkpoints",
            )
        self._missed = lost
        waiting: dict[str, list[str]] = {}
        for number in jobs:
            state, reason = states.get(number, ("", ""))
            if state == "PENDING":
                waiting.setdefault(reason, []).append(number)
        for reason, numbers in waiting.items():
            if reason in USUAL:
                self._said.setdefault(reason, now)
            first = numbers[0]
            is_held = "held" in reason.lower()
            then = (
                f"`scontrol release {first}` lets it start"
                if is_held
                else f"`scontrol show job {first}` says more"
            )
            yield (
                reason,
                f"{len(numbers)} of {len(jobs)} submissions wait in Slurm's queue: {reason}; {then} ({jobs[first]})",
            )


def answers(query: Callable[..., Any]) -> Callable[..., Any]:
    """The plugin's question for the states of all jobs, which says nothing of any if Slurm does not answer.

    The plugin (2.8) takes None for that, and then forgets all jobs: Snakemake would wait for them for ever. It also
    waits for ever for a job that was preempted by cancelling it; one that Slurm queues again soon has another state.
    """
    preempted: dict[str, float] = {}  # since when

    async def asked(*arguments: Any) -> Any:
        states, seconds = await query(*arguments)
        if states is None:
            return {}, 0.0
        now = time.monotonic()
        for number, state in states.items():
            if state != "PREEMPTED":
                preempted.pop(number, None)
            elif now - preempted.setdefault(number, now) > GONE:
                states[number] = PREEMPTED
        return states, seconds

    return asked


def watch(executor: Any, name: Callable[[Any], str], say: Callable[[str], None]) -> None:
    """Look at the queue of a Slurm executor of Snakemake from now on."""
    queue = Queue()

    def jobs() -> Iterable[tuple[str, str]]:
        for info in list(executor.active_jobs):
            if not all(map(os.path.exists, info.job.output)):  # else it has just ended
                yield str(info.external_jobid), name(info.job)

    def looks() -> None:
        while True:
            time.sleep(EVERY)
            active = dict(
                jobs()
            )  # none while Snakemake asks Slurm itself, which takes long if that does not answer
            for line in queue.news(look(executor.run_uuid), active, time.monotonic()):
                say(line)

    threading.Thread(target=looks, daemon=True).start()
