"""How fairfl's time and memory grow: each point is a process of its own, the points of a series take turns."""

import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.driver import Setting, Worker, interleaved, rounds_for
from benchmarks.peers import REFERENCE
from benchmarks.workloads import FEDFV, MLP, MLP_B64, Workload

ROWS = (
    60_000  # every point holds so many samples in memory, whether its clients own them all or not
)
SAMPLED = MLP_B64.at(clients=200, samples=300)
SMALL = MLP_B64.at(samples=6, batch=None)

SERIES: dict[str, tuple[str, dict[Any, Workload]]] = {
    "sampled_clients": (
        "clients per round, of 200 with 300 samples each; B=64",
        {m: SAMPLED.at(per_round=m) for m in (1, 2, 5, 10, 20, 50, 100, 200)},
    ),
    "all_clients_fixed_data": (
        "clients in total, 60,000 samples shared out among them, 10 per round; B=64",
        {k: MLP_B64.at(clients=k, samples=ROWS // k) for k in (10, 100, 1000, 10_000)},
    ),
    "all_clients_fixed_work": (
        "clients in total, 6 samples each, 10 per round, 100 rounds a turn; 60,000 samples lie in memory at each point",
        {k: SMALL.at(clients=k) for k in (10, 100, 1000, 10_000)},
    ),
    "width": (
        "units in each of two hidden layers; B=64",
        {n: MLP_B64.at(model=MLP | {"hidden": [n, n]}) for n in (25, 50, 100, 200, 400, 800)},
    ),
    "batch": (
        "batch size; 600 is the full batch",
        {
            b: MLP_B64.at(batch=None if b == 600 else b)
            for b in (1, 2, 5, 10, 32, 64, 128, 300, 600)
        },
    ),
}
PROCESSES = (1, 2, 4)


def series(name: str, source: Path, setting: Setting) -> dict[str, Any]:
    """One series: its points with seconds per round, rounds per second, GFLOP/s and peak memory.

    `hundredfold`: how much more time and memory 10,000 clients take than 100, where all else is equal.
    """
    title, points = SERIES[name]
    entries = {str(x): (REFERENCE, workload) for x, workload in points.items()}
    measured, skipped = interleaved(
        entries, source, setting, rounds=100 if name == "all_clients_fixed_work" else None
    )
    rows = []
    for x, workload in points.items():
        if str(x) in skipped:
            rows.append({"x": x, "skipped": skipped[str(x)]})
            continue
        seconds = measured[str(x)].seconds
        rows.append(
            {
                "x": x,
                "seconds": seconds,
                "rounds_per_s": 1 / seconds,
                "gflops": workload.flops / seconds / 1e9,
                **measured[str(x)].memory,
            }
        )
    found = {"title": title, "points": rows}
    ends = [row for row in rows if row["x"] in (100, 10_000) and "seconds" in row]
    if name == "all_clients_fixed_work" and len(ends) == 2:
        found["hundredfold"] = {key: ends[1][key] / ends[0][key] for key in ("seconds", "peak_mib")}
    return found


def simultaneous(source: Path, setting: Setting, cores: list[int | None]) -> dict[str, Any]:
    """Rounds per second of 1, 2 and 4 runs at the same time, each a process with one thread."""
    workload = MLP_B64 if setting.device == "cpu" else FEDFV
    count = max(PROCESSES)
    workers: list[Worker] = []
    rates: dict[int, list[float]] = {p: [] for p in PROCESSES}
    try:
        for i in range(count):
            workers.append(Worker(REFERENCE, workload, source, setting, core=cores[i % len(cores)]))
        rounds = rounds_for(workers[0].round_s, setting)
        for _ in range(setting.turns):
            for p in PROCESSES:
                begun = time.perf_counter()
                for worker in workers[:p]:
                    worker.begin(rounds)
                for worker in workers[:p]:
                    worker.seconds()
                rates[p].append(p * rounds / (time.perf_counter() - begun))
        memory = [worker.memory["peak_mib"] for worker in workers]
    finally:
        for worker in workers:
            worker.close()
    rows = [
        {"x": p, "rounds_per_s": statistics.median(rates[p]), "peak_mib": sum(memory[:p])}
        for p in PROCESSES
    ]
    title = f"runs at the same time ({workload.name}), one thread each: rounds per second of all together"
    return {"title": title, "points": rows}
