"""Runs workers in turns, so that whatever drifts on the machine hits all competitors alike."""

import json
import math
import os
import queue
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.data import ROOT
from benchmarks.peers import PEERS, QUICKEST, REFERENCE
from benchmarks.workloads import NEIGHBOURS, Workload

START_S, TURN_S = 600.0, 1200.0  # a worker that says nothing for longer has hung
THREADS = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "VECLIB_MAXIMUM")


class Failed(Exception):
    """A worker that cannot go on; the message says why."""


@dataclass(frozen=True)
class Setting:
    """How to measure."""

    device: str = "cpu"
    warm_up: int = 2  # rounds, after the first
    turns: int = 5  # of each competitor
    turn_s: float = 1.0  # a turn has so many rounds that it lasts about this long
    most_rounds: int = 200  # in one turn


def pinned_core(device: str) -> int | None:
    """The last core that this process may use; None where processes cannot be pinned, or a GPU does the work."""
    if device != "cpu" or not hasattr(os, "sched_getaffinity"):
        return None
    return max(os.sched_getaffinity(0))


class Worker:
    """A process that measures one competitor on one workload. Raises Failed if it does not come up."""

    def __init__(
        self,
        competitor: str,
        workload: Workload,
        source: Path,
        setting: Setting,
        core: int | None = -1,
    ) -> None:
        self.competitor, self.workload = competitor, workload
        core = pinned_core(setting.device) if core == -1 else core
        peer = PEERS.get(competitor)
        try:
            own = (
                environments.python_of(peer.environment, peer.python)
                if peer and peer.environment
                else None
            )
        except environments.Unavailable as error:
            raise Failed(str(error)) from None
        python = str(own or sys.executable)
        job = {
            "workload": workload.plain(),
            "data": str(source),
            "device": setting.device,
            "core": core,
            "warm_up": setting.warm_up,
        }
        paths = {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        variables = os.environ | paths | {f"{name}_NUM_THREADS": "1" for name in THREADS}
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", competitor, json.dumps(job)],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.versions = self._answer(START_S)["versions"]
            self.start_s = time.perf_counter() - begun
            warm = self._answer(TURN_S)
        except BaseException:
            self.close()
            raise
        self.round_s, self.memory = warm["warm"], warm["memory"]

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _answer(self, timeout_s: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise Failed(f"no answer for {timeout_s:.0f} s") from None
        answer = json.loads(line) if line else {"unfit": "the process ended without a word"}
        if "unfit" in answer:
            self._log.seek(0)
            print(self._log.read()[-2000:], file=sys.stderr)
            raise Failed(answer["unfit"])
        return answer

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise Failed("the process has ended") from None

    def begin(self, rounds: int) -> None:
        self._tell(f"go {rounds}")

    def seconds(self) -> list[float]:
        """Seconds per round of the turn that was begun."""
        answer = self._answer(TURN_S)
        self.memory = answer["memory"]
        return answer["seconds"]

    def go(self, rounds: int) -> list[float]:
        self.begin(rounds)
        return self.seconds()

    def model(self) -> list[float]:
        """Parameters of the global model."""
        self._tell("model")
        return self._answer(TURN_S)["model"]

    def pause(self) -> None:
        """Stop the process and all that it started: a framework's pollers must not disturb the others' turns."""
        _signal_tree(self._process.pid, "SIGSTOP")

    def resume(self) -> None:
        _signal_tree(self._process.pid, "SIGCONT")

    def close(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            _signal_tree(self._process.pid, "SIGKILL")
            self._process.wait()
        self._log.close()


def _signal_tree(root: int, name: str) -> None:
    """Send a signal to a process and its descendants, as far as /proc shows them."""
    if not hasattr(signal, name):
        return
    for process in [root, *_descendants(root)]:
        try:
            os.kill(process, getattr(signal, name))
        except ProcessLookupError:
            continue


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            process, rest = stat.read_text().split(" ", 1)
        except OSError:
            continue
        parent = int(rest.rpartition(")")[2].split()[1])  # the name in brackets may hold anything
        children.setdefault(parent, []).append(int(process))
    found, todo = [], [root]
    while todo:
        own = children.get(todo.pop(), [])
        found += own
        todo += own
    return found


@dataclass
class Measured:
    """All turns of one competitor: seconds per round."""

    turns: list[list[float]] = field(default_factory=list)
    start_s: float = 0.0
    memory: dict[str, float] = field(default_factory=dict)  # peak_mib, on a GPU also gpu_mib
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def medians(self) -> list[float]:
        return [statistics.median(turn) for turn in self.turns]

    @property
    def seconds(self) -> float:
        """Median over all rounds."""
        return statistics.median(s for turn in self.turns for s in turn)


def rounds_for(seconds: float, setting: Setting) -> int:
    """Rounds of one turn."""
    return max(1, min(setting.most_rounds, math.ceil(setting.turn_s / max(seconds, 1e-6))))


def interleaved(
    entries: dict[str, tuple[str, Workload]],
    source: Path,
    setting: Setting,
    rounds: int | None = None,
) -> tuple[dict[str, Measured], dict[str, str]]:
    """Turns A B C A B C ... of workers {label: (competitor, workload)}, and why others did not take part.

    `rounds` is the length of a turn; None: as many as fill the setting's turn.
    """
    workers: dict[str, Worker] = {}
    measured: dict[str, Measured] = {}
    skipped: dict[str, str] = {}
    try:
        for label, (competitor, workload) in entries.items():
            try:
                worker = Worker(competitor, workload, source, setting)
            except Failed as error:
                skipped[label] = clean(str(error))
                continue
            worker.pause()
            workers[label] = worker
            measured[label] = Measured(start_s=worker.start_s, versions=worker.versions)
        for _ in range(setting.turns):
            for label, worker in list(workers.items()):
                worker.resume()
                try:
                    measured[label].turns.append(
                        worker.go(rounds or rounds_for(worker.round_s, setting))
                    )
                except Failed as error:
                    skipped[label] = clean(str(error))
                    del measured[label]
                    workers.pop(label).close()
                    continue
                measured[label].memory = worker.memory
                worker.pause()
    finally:
        for worker in workers.values():
            worker.resume()
            worker.close()
    return measured, skipped


def clean(text: str) -> str:
    """A reason without paths of this machine."""
    return text.replace(str(ROOT), "").replace(str(Path.home()), "~")


def competitors_of(
    workload: Workload, device: str, chosen: list[str] | None
) -> tuple[list[str], dict[str, str]]:
    """Who takes part, fairfl first, and why others do not."""
    taking, skipped = [], {}
    for name, peer in PEERS.items():
        if chosen is not None and name != REFERENCE and name not in chosen:
            continue
        if workload.precision != "fp32" and not peer.every_precision:
            continue
        if workload.name in NEIGHBOURS and name not in (REFERENCE, *QUICKEST):
            continue
        if device == "cuda" and not peer.cuda:
            skipped[name] = "measured on the CPU only"
        else:
            taking.append(name)
    return taking, skipped
