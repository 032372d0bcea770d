"""One competitor on one workload, in a process of its own: python -m benchmarks.worker COMPETITOR JOB

JOB is JSON: workload, data (folder), device, core (or null), warm_up (rounds). Writes one JSON line once the first
round is done, one once it is warm, and then one for each "go N" read from standard input: seconds of N rounds.
"""

import importlib
import json
import os
import queue
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import module_of
from benchmarks.workloads import Workload


class Unfit(Exception):
    """This competitor cannot run this workload; the message says why."""


@dataclass(frozen=True)
class Job:
    """What a competitor is given. `inputs` [clients * samples, *shape] float32, client after client; `labels` int64."""

    workload: Workload
    inputs: Any
    labels: Any
    device: Any
    source: Path

    def client(self, k: int) -> tuple[Any, Any]:
        """Samples of one client (views)."""
        n = self.workload.samples
        return self.inputs[k * n : (k + 1) * n], self.labels[k * n : (k + 1) * n]


class Competitor(ABC):
    """Base of all. Those that train a model also give `parameters()`, the global model, flat [P] on the CPU."""

    versions: dict[str, str] = {}

    def __init__(self, job: Job) -> None:
        self.job = job

    @abstractmethod
    def step(self) -> None:
        """One federated round."""

    def rounds(self, count: int) -> list[float]:
        """Seconds of each of `count` rounds."""
        seconds = []
        for _ in range(count):
            begun = time.perf_counter()
            self.step()
            self.wait()
            seconds.append(time.perf_counter() - begun)
        return seconds

    def wait(self) -> None:
        """Until the device has done what it was given."""
        if self.job.device.type == "cuda":
            import torch

            torch.cuda.synchronize()

    def close(self) -> None:  # noqa: B027 - most have none
        """End helpers of this process."""


class Gated(Competitor):
    """For a framework that keeps its own loop: it runs in a thread and calls `turn` at the start of each round."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._go = threading.Semaphore(0)
        self._ready: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def launch(self, loop: Callable[[], None]) -> None:
        """Start the loop and wait until it stands before its first round."""

        def guarded() -> None:
            try:
                loop()
                self._ready.put(RuntimeError("the framework's loop has ended"))
            except BaseException as error:
                self._ready.put(error)

        threading.Thread(target=guarded, daemon=True).start()
        self._arrived()

    def turn(self) -> None:
        """Called by the loop: the round before is done; wait for the next."""
        self._ready.put(None)
        self._go.acquire()

    def step(self) -> None:
        self._go.release()
        self._arrived()

    def _arrived(self) -> None:
        error = self._ready.get()
        if error is not None:
            raise error


def memory(device: Any) -> dict[str, float]:
    """Peaks in MiB: of the processes, and of what torch holds on the GPU."""
    peaks = {"peak_mib": peak_mib()}
    if device.type == "cuda":
        import torch

        peaks["gpu_mib"] = torch.cuda.max_memory_reserved() / 2**20
    return peaks


def peak_mib() -> float:
    """Peak resident memory of this process and those it started, summed; shared pages count once for each."""
    if not Path("/proc/self/status").exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        process = int(fields["Pid"])
        parents[process] = int(fields["PPid"])
        peaks[process] = int(fields.get("VmHWM", "0 kB").split()[0])
    return (
        sum(kib for process, kib in peaks.items() if _descends(process, os.getpid(), parents))
        / 1024
    )


def _descends(process: int, ancestor: int, parents: dict[int, int]) -> bool:
    while process != ancestor:
        process = parents.get(process, 0)
        if process == 0:
            return False
    return True


def _arithmetic(precision: str) -> None:
    """The same rules for everybody: fp32 means no TF32 anywhere."""
    import torch

    arithmetic = "tf32" if precision == "tf32" else "ieee"
    torch.backends.cuda.matmul.fp32_precision = arithmetic
    torch.backends.cudnn.conv.fp32_precision = arithmetic  # type: ignore[attr-defined]
    torch.backends.cudnn.rnn.fp32_precision = arithmetic  # type: ignore[attr-defined]


def serve(competitor: str, job: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
    module = importlib.import_module(f"benchmarks.peers.{module_of(competitor)}")
    import torch

    from benchmarks import data

    torch.set_num_threads(1)
    workload, source = Workload.of(job["workload"]), Path(job["data"])
    _arithmetic(workload.precision)
    inputs, labels = data.load(source, workload)
    device = torch.device(job["device"])
    runner = module.start(Job(workload, inputs, labels, device, source), competitor)
    try:
        runner.rounds(1)
        say({"first": True, "versions": {"torch": torch.__version__} | runner.versions})
        warm = runner.rounds(job["warm_up"])
        say({"warm": warm[-1], "memory": memory(device)})
        for line in sys.stdin:
            match line.split():
                case ["go", count]:
                    say({"seconds": runner.rounds(int(count)), "memory": memory(device)})
                case ["model"]:
                    say({"model": runner.parameters().tolist()})
                case _:
                    raise ValueError(f"unknown order {line!r}")
    finally:
        runner.close()


def main() -> None:
    competitor, job = sys.argv[1], json.loads(sys.argv[2])
    if job["core"] is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {job["core"]})
    # What the libraries print goes to standard error; the driver alone reads this stream.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")

    try:
        serve(competitor, job, say)
    except Unfit as error:
        say({"unfit": str(error)})
    except Exception as error:
        traceback.print_exc()
        say({"unfit": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"})
    sys.stderr.flush()
    os._exit(0)  # some frameworks leave threads that never end


if __name__ == "__main__":
    # The module that peers import is benchmarks.worker, not __main__: otherwise there would be two Unfit classes.
    importlib.import_module("benchmarks.worker").main()
