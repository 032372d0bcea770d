"""Measurements that decide: layout and arithmetic of convolutions, where Gram matrices are, runs that share a card."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from benchmarks.gpu_check.cases import KINDS, Case, eagerly
from benchmarks.gpu_check.findings import Check, Unfit
from benchmarks.peers.fairfl import simulation
from benchmarks.worker import Job
from benchmarks.workloads import MLP_B64, workloads
from fairfl import models

TOGETHER = (1, 2, 4, 8, 12)
DAEMON = "nvidia-cuda-mps-control"
PATIENCE = 90  # seconds for runs that share a card


def layout(check: Check) -> None:
    """ResNet-18, batches of 100: memory order x arithmetic. fairfl takes channels last."""
    kind = KINDS["resnet, batch norm"] if check.large else KINDS["resnet, batch norm"].reduced()
    model = models.build(kind.model, kind.shape, kind.classes).to(check.device)
    inputs = torch.rand(100 if check.large else 10, *kind.shape, device=check.device)
    labels = torch.randint(0, kind.classes, (len(inputs),), device=check.device)
    switches = (torch.backends.cudnn.conv, torch.backends.cuda.matmul)
    before = [switch.fp32_precision for switch in switches]  # type: ignore[attr-defined]
    with check.finding("layout", "ms of a step, eager") as found:
        for order in (torch.channels_last, torch.contiguous_format):
            model, x = model.to(memory_format=order), inputs.contiguous(memory_format=order)  # type: ignore[call-overload]
            for name, arithmetic, low in (
                ("fp32", "ieee", None),
                ("tf32", "tf32", None),
                ("bf16", "ieee", torch.bfloat16),
            ):
                for switch in switches if check.gpu else ():
                    switch.fp32_precision = arithmetic  # type: ignore[attr-defined]

                def step() -> None:
                    with torch.autocast(check.device.type, dtype=low, enabled=low is not None):  # noqa: B023
                        outputs = model(x)  # noqa: B023
                    loss = torch.nn.functional.cross_entropy(outputs.float(), labels)
                    torch.autograd.grad(loss, list(model.parameters()))  # noqa: B023

                seconds = check.seconds(step, 20 if check.large else 3)
                found[f"{str(order).removeprefix('torch.')} {name}"] = round(1000 * seconds, 3)
    for switch, precision in zip(switches, before, strict=True):
        switch.fp32_precision = precision  # type: ignore[attr-defined]


def gram(check: Check) -> None:
    """Products of updates among each other, [m, P] -> [m, m]: float64 on the CPU, as algorithms take it, or not."""
    for m, P in ((10, 200_000), (10, 11_000_000)) if check.large else ((10, 20_000),):
        rows = torch.randn(m, P, device=check.device)
        with check.finding("gram", f"m {m}, P {P}") as found:
            for name, work in {
                "float64, CPU": lambda: (lambda d: d @ d.T)(rows.cpu().double()),  # noqa: B023
                "float64, device": lambda: (lambda d: d @ d.T)(rows.double()).cpu(),  # noqa: B023
                "float32, device": lambda: (rows @ rows.T).cpu(),  # noqa: B023
            }.items():
                found[f"ms {name}"] = 1000 * check.seconds(work, 10)
    counts = [60] * 12
    for name in ("fedavg", "fedfv", "fedmgda_plus"):
        run = Case(name, name).simulation(check.device, counts)
        with check.finding("gram", f"a round of {name}") as found:
            found["ms"] = 1000 * check.seconds(run.run_round, 20 if check.large else 3)


def rows(check: Check) -> None:
    """Milliseconds per round of the benchmark's rows, captured and not, and the memory."""
    chosen = workloads(check.device.type) if check.large else [MLP_B64.at(samples=60)]
    for workload in chosen:
        with check.finding("rows", workload.name) as found:
            draw = torch.Generator().manual_seed(0)
            n = workload.clients * workload.samples
            inputs, labels = (
                torch.rand(n, *workload.shape, generator=draw),
                torch.arange(n) % workload.classes,
            )
            job = Job(workload, inputs, labels, check.device, Path())
            check.reset_peak()
            run = simulation(job, workload.precision)
            found["ms_per_round"] = 1000 * check.seconds(run.run_round, 20 if check.gpu else 3)
            found["peak_mib"] = check.peak()
            plain = simulation(job, workload.precision)
            with eagerly():
                found["ms_eager"] = 1000 * check.seconds(plain.run_round, 5 if check.gpu else 1)
            found["gflop_per_s"] = workload.flops / found["ms_per_round"] / 1e6


def sharing(check: Check) -> None:
    """Rounds per second of several runs on one card, in turns and, where its daemon can be started, with MPS."""
    numbers = TOGETHER if check.large else TOGETHER[:2]
    if check.gpu:
        torch.cuda.empty_cache()
    for name, served in (("in turns", _alone()), ("with MPS", _mps())):
        with check.finding("sharing", name) as found:
            if name != "in turns" and not check.gpu:
                raise Unfit("a CPU has none")
            with served as environment:
                for number in numbers:
                    if found and time.monotonic() > check.deadline:
                        break
                    rate = _together(check, number, environment)
                    if not rate and name == "with MPS" and not found:
                        raise Unfit("the daemon starts, but no run under it ends")
                    found[str(number)] = round(rate, 1)
            check.expect(all(found.values()), "not all runs ended")


def _together(check: Check, number: int, environment: dict[str, str]) -> float:
    """Rounds per second of so many processes together; 0 if one of them fails."""
    seconds = "3" if check.large else "0.5"
    command = [sys.executable, "-m", "benchmarks.gpu_check.share", check.device.type, seconds]
    runs = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(number)
    ]
    impatient = threading.Timer(PATIENCE, lambda: [run.kill() for run in runs])
    impatient.start()
    try:
        ready = [_is_ready(run) for run in runs]  # all have captured their steps
        for run in runs if all(ready) else ():
            print("go", file=run.stdin, flush=True)
        rates = [run.communicate()[0] for run in runs] if all(ready) else []
    except BrokenPipeError:
        return 0.0
    finally:
        impatient.cancel()
        for run in runs:
            run.kill()
            run.wait()
    numbers = [float(rate) for rate in rates if rate.strip()]
    return sum(numbers) if len(numbers) == number else 0.0


def _is_ready(run: "subprocess.Popen[str]") -> bool:
    """True once it says so, after what it may say of its GPU; False if it ends before."""
    return (
        any(line.strip() == "ready" for line in iter(run.stdout.readline, ""))
        if run.stdout
        else False
    )


@contextmanager
def _alone() -> Iterator[dict[str, str]]:
    yield dict(os.environ)


@contextmanager
def _mps() -> Iterator[dict[str, str]]:
    """A daemon of its own, ended at the end. Raises Unfit where it cannot be started."""
    if shutil.which(DAEMON) is None:
        raise Unfit(f"{DAEMON} is not there")
    with tempfile.TemporaryDirectory() as folder:
        places = {
            "CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe",
            "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log",
        }
        environment = os.environ | places
        for place in places.values():
            os.mkdir(place)
        started = subprocess.run([DAEMON, "-d"], env=environment, capture_output=True, text=True)
        if started.returncode:
            raise Unfit(
                f"{DAEMON} does not start ({(started.stderr.splitlines() or ['no reason given'])[0]})"
            )
        time.sleep(1)
        try:
            yield environment
        finally:
            subprocess.run(
                [DAEMON],
                input="quit\n",
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
