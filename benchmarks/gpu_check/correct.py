"""Checks of the numbers: the same on both devices, twice the same, the same after a resume, captured or not."""

import io
import math
import time
from typing import Any

import torch

from benchmarks.gpu_check.cases import CPU, FEMNIST, KINDS, Case, apart, cases, eagerly, trained
from benchmarks.gpu_check.findings import Check, Unfit
from fairfl.simulation.backends import cuda_graph

# Of float32, after so few steps; where ReLUs are near 0, rounding is amplified.
BETWEEN_DEVICES, CAPTURED = 1e-2, 1e-5
DRAWS = 3  # of data, at most, to compare the devices on
# LSTM, product and convolution with one rounding per operand: float32 has about 1e-7 to 1e-6, TF32 3e-4.
ONE_PRODUCT = 1e-5


def kinds(check: Check) -> None:
    """Each model kind trains two rounds, again, without graphs, resumed, and on the CPU."""
    counts = [150, 96, 150] if check.large else [20, 11, 20]
    for name, full in KINDS.items():
        kind = full if check.large else full.reduced()
        with check.finding("kinds", name) as found:
            if kind.missing:
                raise Unfit(f"{kind.needs.partition('.')[0]} is not installed")
            check.reset_peak()
            made = kind.backend(counts, check.device)
            started = time.perf_counter()
            first = trained(made, kind, 3, [0, 1])
            found["first_s"] = check.since(started)
            found["peak_mib"] = check.peak()
            started = time.perf_counter()
            trained(made, kind, 3, [0, 1])
            found["ms_per_round"] = 500 * check.since(started)
            check.expect(
                not check.gpu or cuda_graph.usage() == "on", f"capture {cuda_graph.usage()}"
            )
            again = trained(kind.backend(counts, check.device), kind, 3, [0, 1])
            found["repeats"] = all(map(torch.equal, first, again))
            found["resumes"] = torch.equal(
                first[1], trained(kind.backend(counts, check.device), kind, 3, [1])[0]
            )
            with eagerly():
                own = kind.backend(counts, check.device)
                plain = trained(own, kind, 3, [0, 1])
                started = time.perf_counter()
                trained(own, kind, 3, [0, 1])
                found["ms_eager"] = 500 * check.since(started)
            found["captured_bits"] = all(map(torch.equal, first, plain))
            found["captured"] = max(map(apart, first, plain))
            if not kind.draws:
                found["to_cpu"] = max(
                    map(apart, first, trained(kind.backend(counts, CPU), kind, 3, [0, 1]))
                )
            check.expect(found["repeats"], "two runs are not equal to the bit")
            check.expect(found["resumes"], "a round after a resume is another one")
            check.expect(found["captured"] < CAPTURED, "captured steps differ from eager ones")
            check.expect(found.get("to_cpu", 0.0) < BETWEEN_DEVICES, "the CPU's numbers are others")


def algorithms(check: Check) -> None:
    """Each algorithm and modifier for three rounds, again, resumed after two, and on the CPU."""
    counts = [60 + 7 * k for k in range(12)] if check.large else [14 + 3 * k for k in range(7)]
    chosen = cases() if not check.quick else [case for case in cases() if not case.full][::4]
    for case in chosen:
        with check.finding("algorithms", case.name) as found:
            try:
                run = _run(case, check, counts, 3)
            except ImportError as error:
                raise Unfit(f"{error.name} is not installed") from None
            started = time.perf_counter()
            run.run_round()
            found["ms_per_round"] = 1000 * check.since(started)
            found["repeats"] = torch.equal(run.x, _run(case, check, counts, 4).x)
            half = _run(case, check, counts, 2)
            resumed = case.simulation(check.device, counts)
            resumed.load_state_dict(_written_and_read(half.state_dict()))
            for _ in range(2):
                resumed.run_round()
            found["resumes"] = torch.equal(run.x, resumed.x)
            if not case.draws:
                found["to_cpu"] = _to_cpu(case, check, counts)
            found["dropped"] = run.result.dropped
            check.expect(found["repeats"], "two runs are not equal to the bit")
            check.expect(found["resumes"], "a resumed run is another one")
            check.expect(found.get("to_cpu", 0.0) < case.limit, "the CPU's numbers are others")
            check.expect(not run.result.dropped, "reports were dropped")


def _run(
    case: Case, check: Check, counts: list[int], rounds: int, device: torch.device | None = None
) -> Any:
    run = case.simulation(device or check.device, counts)
    for _ in range(rounds):
        run.run_round()
    return run


def _to_cpu(case: Case, check: Check, counts: list[int]) -> float:
    """How far the device's model is from the CPU's, on the draw of the data on which it is nearest.

    A draw may have a sample at which a ReLU is within a rounding of 0: it moves the model by 1e-3, on a CPU, too, from
    a start that differs by a rounding. A number that is wrong is wrong in all draws.
    """
    least = math.inf
    for more in range(DRAWS):
        drawn = [count + more for count in counts]
        own, other = (_run(case, check, drawn, 4, device) for device in (check.device, CPU))
        least = min(least, apart(own.x, other.x))
        if least < case.limit:
            break
    return least


def _written_and_read(state: dict[str, Any]) -> dict[str, Any]:
    """As a checkpoint does it."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True, map_location="cpu")


def precision(check: Check) -> None:
    """fp32 is float32 everywhere, also in cuDNN's convolutions and LSTMs: against float64."""
    for name, layer, inputs in (
        ("linear", torch.nn.Linear(512, 512), torch.randn(64, 512)),
        ("convolution", torch.nn.Conv2d(64, 64, 3), torch.randn(8, 64, 16, 16)),
        ("lstm", torch.nn.LSTM(96, 670, batch_first=True), torch.randn(32, 20, 96)),
        (
            "lstm, two layers",
            torch.nn.LSTM(200, 256, 2, batch_first=True),
            torch.randn(32, 20, 200),
        ),
    ):
        with check.finding("precision", name) as found, torch.no_grad():
            out = layer.to(check.device)(inputs.to(check.device))
            expected = layer.double().cpu()(inputs.double())
            one, other = (
                value[0] if isinstance(value, tuple) else value for value in (out, expected)
            )
            found["error"] = apart(one, other)
            check.expect(
                found["error"] < ONE_PRODUCT, "fp32 is not float32 here: TF32 has about 3e-4"
            )


def sizes(check: Check) -> None:
    """FEMNIST's clients: about 90 different last batches."""
    kind = FEMNIST if check.large else FEMNIST.reduced()
    clients = 90 if not check.quick else 20
    counts = [100 + k if check.large else 4 + k for k in range(1, clients + 1)]
    with check.finding("sizes", f"{clients} last batches") as found:
        check.reset_peak()
        made, seconds, deltas = kind.backend(counts, check.device), [], []
        for number in range(3):
            started = time.perf_counter()
            deltas += trained(made, kind, clients, [number])
            seconds.append(round(check.since(started), 3))
        found["seconds_by_round"] = seconds
        found["graphs_kept"] = len(made[0].steps.kept)
        found["peak_mib"] = check.peak()
        with eagerly():
            plain = kind.backend(counts, check.device)
            trained(plain, kind, clients, [0])
            started = time.perf_counter()
            eager = trained(plain, kind, clients, [2])[0]
            found["seconds_eager"] = check.since(started)
        found["captured"] = apart(deltas[2], eager)
        found["to_cpu"] = apart(
            deltas[0], trained(kind.backend(counts, CPU), kind, clients, [0])[0]
        )
        check.expect(found["captured"] < CAPTURED, "captured steps differ from eager ones")
        check.expect(found["to_cpu"] < BETWEEN_DEVICES, "the CPU's numbers are others")
