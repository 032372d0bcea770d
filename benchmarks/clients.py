"""What many clients cost: python -m benchmarks.clients writes results/clients.json and .svg, and prints its table.

10^3 to 10^6 clients with 6 samples of 60 numbers, 4 to train on, of which 10 train a linear model in each round. Each
number of clients is a process of its own with one thread, and the rounds of all take turns. Times are those of the CPU.
"""

import argparse
import datetime
import io
import json
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.driver import pinned_core
from fairfl.partition import deal, partition_file
from fairfl.reporting import style
from fairfl.runtime import atomic
from fairfl.runtime.machine import cpu_name
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import TrainingSpec

RESULTS = Path(__file__).parent / "results" / "clients.json"
PICTURE = Path(__file__).parents[1] / "docs" / "clients.svg"
DRAWN = {
    "deal_s": "partition the data",
    "evaluation_s": "evaluate all clients",
    "store_s": "store the partition",
    "read_s": "read it again",
    "round_s": "one round of ten",
}
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
SAMPLES, NUMBERS, CLASSES, PER_ROUND = 6, 60, 10, 10
TURNS, ROUNDS = 40, 25  # rounds of a turn
PARTITION: dict[str, Any] = {
    "data": {"name": "synthetic_gaussian"},
    "samples": None,
    "partition_seed": None,
    "partition": {"name": "plain"},
    "split": {"train": 4 / 6, "validation": 1 / 6, "test": 1 / 6},
    "seed": 0,
}
TRAINING: dict[str, Any] = {
    "setting": "clients",
    "variant": "default",
    "model": {"name": "logistic_regression"},
    "loss": "cross_entropy",
    "clients_per_round": PER_ROUND,
    "rounds": 1,
    "local_epochs": 1,
    "batch_size": None,
    "learning_rate": 0.1,
    "optimizer": "sgd",
    "weight_decay": 0.0,
    "lr_decay": None,
    "modifiers": {},
    "evaluated_parts": ["train", "validation", "test"],
    "evaluate_every": 1,
    "keep": "nothing",
    "precision": "fp32",
    "algorithm": "fedavg",
    "hyperparameters": {"weighting": "size"},
    "seed": 0,
}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the CPU, and what the call returns."""
    begun = time.process_time()
    made = call()
    return time.process_time() - begun, made


def memory() -> int:
    """Peak of this process, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def dealt(
    clients: int, labels: np.ndarray, path: Path
) -> tuple[dict[str, float], partition_file.Partition]:
    """Seconds to deal, describe, store and read a partition, and what was read."""
    spec = deal.PartitionSpec(**PARTITION, clients=clients)
    tensors = {"labels": labels, "groups": np.arange(len(labels))}
    seconds, (columns, assignment) = timed(lambda: deal.partition(spec, tensors))
    found = {"deal_s": seconds}
    remarks = assignment.remarks
    del assignment
    found["statistics_s"], _ = timed(lambda: deal.statistics(columns, labels, remarks, "generated"))

    def store() -> None:
        pq.write_table(
            pa.table(
                {name: pa.array(values, deal.TYPES[name]) for name, values in columns.items()}
            ),
            path,
        )

    found["store_s"], _ = timed(store)
    found["read_s"], partition = timed(lambda: partition_file.read(path, len(labels)))
    return found, partition


def clients_of(partition: partition_file.Partition, labels: np.ndarray) -> Clients:
    """Samples that are drawn at random, with these labels."""
    parts = {}
    row, client, part = (partition.columns[name] for name in ("row", "client", "part"))
    for number, name in enumerate(partition_file.PARTS):
        chosen = np.flatnonzero(part == number)
        counts = np.bincount(client[chosen], minlength=partition.clients)
        inputs = torch.rand(len(chosen), 1, 1, NUMBERS)
        parts[name] = Part(inputs, torch.from_numpy(labels[row[chosen]]), torch.from_numpy(counts))
    return Clients(parts, CLASSES, (1, 1, NUMBERS))


def work(clients: int, core: int | None, pipe: Connection) -> None:
    """One process: sends what it found, takes turns of rounds as often as it is asked, evaluates, says so."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    for limit in (torch.set_num_threads, pa.set_cpu_count, pa.set_io_thread_count):
        limit(1)
    torch.manual_seed(0)
    labels = np.random.default_rng(0).integers(0, CLASSES, SAMPLES * clients)
    with tempfile.TemporaryDirectory() as folder:
        found, partition = dealt(clients, labels, Path(folder) / "partition.parquet")
    people = clients_of(partition, labels)
    del partition
    simulation = Simulation(TrainingSpec(**TRAINING), people, None, torch.device("cpu"))
    found["first_round_s"], _ = timed(simulation.run_round)
    found["samples_mib"] = sum(part.inputs.nbytes for part in people.parts.values()) / 2**20
    pipe.send(found)
    while pipe.recv():
        begun = time.process_time()
        for _ in range(ROUNDS):
            simulation.run_round()
        pipe.send((time.process_time() - begun) / ROUNDS)
    before = memory()
    seconds, _ = timed(simulation.record_evaluation)
    pipe.send({"evaluation_s": seconds, "peak_mib": before, "peak_with_evaluation_mib": memory()})


def measured(counts: list[int]) -> list[dict[str, Any]]:
    """One row for each number of clients, in the order of `counts`."""
    context, core = multiprocessing.get_context("spawn"), pinned_core("cpu")
    pipes: list[Connection] = []
    rows: list[dict[str, Any]] = []
    for clients in counts:
        here, there = context.Pipe()
        context.Process(target=work, args=(clients, core, there), daemon=True).start()
        pipes.append(here)
        rows.append({"clients": clients, **here.recv()})
    turns: list[list[float]] = [[] for _ in counts]
    for _ in range(TURNS):
        for pipe, own in zip(pipes, turns, strict=True):
            pipe.send(True)
            own.append(pipe.recv())
    for pipe, row, own in zip(pipes, rows, turns, strict=True):
        pipe.send(False)
        row |= {
            "round_ms": 1000 * min(own),
            "round_median_ms": 1000 * sorted(own)[len(own) // 2],
            **pipe.recv(),
        }
    return rows


def draw(rows: list[dict[str, Any]]) -> bytes:
    """Seconds and memory by number of clients, as SVG."""
    frame = (
        pd.DataFrame(rows)
        .assign(round_s=lambda frame: frame["round_ms"] / 1000)
        .set_index("clients")
    )
    with style.applied(), matplotlib.rc_context({"svg.hashsalt": "fairfl"}):
        figure = style.canvas(style.PAGE, 2.2)
        seconds, memory = figure.subplots(1, 2)
        for number, (column, title) in enumerate(DRAWN.items()):
            look = {
                "marker": style.marker(number),
                "color": style.client_colors(len(DRAWN))[number],
            }
            seconds.plot(frame[column], label=title, **look)
        memory.plot(frame["peak_with_evaluation_mib"] / 1024, marker="o", color=style.GREY)
        for axes, shown in ((seconds, "seconds of CPU"), (memory, "peak memory, GiB")):
            axes.set(xscale="log", yscale="log", xlabel="clients", ylabel=shown)
        memory.set_yticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
        memory.yaxis.set_minor_formatter("")
        figure.legend(loc="outside right center")
        made = io.BytesIO()
        figure.savefig(made, format="svg", metadata={"Date": None, "Creator": None})
    return made.getvalue()


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--clients", type=int, nargs="+", default=COUNTS, help="numbers of clients")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results (.json)")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="plot of them (.svg)")
    args = parser.parse_args(argv)
    rows = [
        {name: float(f"{value:.4g}") for name, value in row.items()}
        for row in measured(list(args.clients))
    ]
    machine = {
        "processor": cpu_name(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    found = {
        "date": datetime.date.today().isoformat(),
        **machine,
        "numbers": NUMBERS,
        "samples": SAMPLES,
        "rows": rows,
    }
    atomic.write_text(args.out, json.dumps(found, indent=1) + "\n")
    atomic.write_bytes(args.picture, draw(rows))
    for row in rows:
        print(json.dumps(row), file=sys.stdout)


if __name__ == "__main__":
    main()
