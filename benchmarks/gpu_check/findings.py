"""What a check finds: one line each, and all of them as a document."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from fairfl.simulation.backends import cuda_graph

Found = dict[str, Any]


class Unfit(Exception):
    """This cannot be checked here; the message says why."""


class OutOfTime(Unfit):
    """The time that was asked for is over."""


class DeviceLost(Exception):
    """A kernel has failed: from then on every call of this process to the device fails, too."""


@dataclass
class Check:
    """`large`: models as papers have them, else small ones; `quick`: few of all cases. `deadline` of time.monotonic."""

    device: torch.device
    large: bool
    quick: bool
    deadline: float
    say: Callable[[str], None] = lambda line: print(line, flush=True)
    findings: list[Found] = field(default_factory=list)
    _missed: list[str] = field(default_factory=list)

    @property
    def gpu(self) -> bool:
        return self.device.type == "cuda"

    @contextmanager
    def finding(self, check: str, name: str) -> Iterator[Found]:
        """One finding, to be filled with numbers. What is raised fails it; Unfit passes it by."""
        found: Found = {}
        self._missed = []
        started = time.perf_counter()
        cuda_graph.allow("auto")
        problem, passed = "", True
        if time.monotonic() > self.deadline:
            self.skip(check, name, "no time left")
            raise OutOfTime
        try:
            yield found
        except Unfit as reason:
            self.skip(check, name, str(reason))
            return
        except Exception as error:
            problem = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
        if self.gpu and cuda_graph.usage().startswith("failed"):
            self.expect(False, f"capture {cuda_graph.usage()}")
        problem = "; ".join([problem] * bool(problem) + self._missed)
        passed = not problem
        self.findings.append(
            {"check": check, "name": name, "passed": passed, "problem": problem, **found}
        )
        numbers = "  ".join(f"{key} {shown(value)}" for key, value in found.items())
        took = time.perf_counter() - started
        mark, why = "ok  " if passed else "FAIL", f"  <- {problem}" * bool(problem)
        self.say(f"{mark} {check}: {name}: {numbers}{why}  ({took:.1f} s)")
        if self.gpu and not self._answers():
            raise DeviceLost

    @staticmethod
    def _answers() -> bool:
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return False
        return True

    def skip(self, check: str, name: str, reason: str) -> None:
        self.findings.append({"check": check, "name": name, "passed": None, "problem": reason})
        self.say(f"-    {check}: {name}: not checked: {reason}")

    def expect(self, held: bool, problem: str) -> None:
        """The finding fails if this does not hold."""
        if not held:
            self._missed.append(problem)

    # -- time and memory of the device --------------------------------------------------------------------------------
    def wait(self) -> None:
        if self.gpu:
            torch.cuda.synchronize()

    def since(self, started: float) -> float:
        """Seconds until the device has done what it was given."""
        self.wait()
        return time.perf_counter() - started

    def seconds(self, work: Callable[[], Any], repetitions: int, warm_up: int = 2) -> float:
        """Of one repetition, on average."""
        for _ in range(warm_up):
            work()
        self.wait()
        started = time.perf_counter()
        for _ in range(repetitions):
            work()
        return self.since(started) / repetitions

    def reset_peak(self) -> None:
        if self.gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def peak(self) -> float | None:
        """MiB that torch has held on the GPU since; None on a CPU."""
        return round(torch.cuda.max_memory_reserved() / 2**20, 1) if self.gpu else None


def shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def table(findings: list[Found]) -> str:
    """One line for each check: how many passed, what failed."""
    lines = [f"{'check':<12} {'passed':>6} {'failed':>6} {'not checked':>11}"]
    for check in dict.fromkeys(found["check"] for found in findings):
        own = [found for found in findings if found["check"] == check]
        numbers = [sum(found["passed"] is what for found in own) for what in (True, False, None)]
        lines.append(f"{check:<12} {numbers[0]:>6} {numbers[1]:>6} {numbers[2]:>11}")
    failed = [found for found in findings if found["passed"] is False]
    return "\n".join(
        [
            *lines,
            *(f"FAIL {found['check']}: {found['name']}: {found['problem']}" for found in failed),
        ]
    )
