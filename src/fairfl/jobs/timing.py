"""python -m fairfl.jobs.timing: seconds that rounds, test passes and metrics take here (FOCUS tables 9 and 12).

One job measures all variants of a setting in turns, round by round: what else the machine does then hits all of them
alike, and their ratios mean something where the seconds themselves tell more about the machine than about the
algorithms.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.parts import Count, Precision
from fairfl.metrics.accuracy import accuracy_std
from fairfl.metrics.fairness import agnostic_loss, faa, gaps
from fairfl.runtime import atomic, cli, job
from fairfl.runtime.errors import FairflError
from fairfl.runtime.machine import processor
from fairfl.runtime.manifest import manifest
from fairfl.simulation import device
from fairfl.simulation.clients import load_clients
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import TrainingSpec

Work = Callable[[], Any]

Repetitions = Annotated[int, Field(ge=0, lt=2**31, description="0: not timed")]


class TimedVariant(TrainingSpec):
    """A variant as its training job has it."""

    shown: str = Field(description="hyper-parameters as tables spell them")


class Spec(JobSpec):
    """What is timed in one setting, and how often."""

    setting: str
    clients: Count
    variants: list[TimedVariant]
    rounds: Repetitions
    inferences: Repetitions
    metrics: Repetitions
    precision: Precision


@dataclass(frozen=True)
class Stopwatch:
    """Seconds of a piece of work, until the device has finished it. `clock` tells seconds, `wait` is for the device."""

    clock: Callable[[], float] = time.perf_counter
    wait: Callable[[], None] = lambda: None

    def seconds(self, work: Work) -> float:
        self.wait()
        started = self.clock()
        work()
        self.wait()
        return self.clock() - started


def in_turns(works: list[Work], repetitions: int, watch: Stopwatch) -> list[list[float]]:
    """Seconds of each piece of work, [works][repetitions]. A first turn of all warms up and does not count."""
    if not repetitions:
        return [[] for _ in works]
    turns = [[watch.seconds(work) for work in works] for _ in range(1 + repetitions)]
    return [list(seconds) for seconds in zip(*turns[1:], strict=True)]


def metric_works(clients: int) -> dict[str, Work]:
    """One evaluation of each metric on ready vectors of K clients, by metric id.

    The vectors are drawn: what is in them does not change the time. FAA takes the differences of two losses too, the
    excess risks; training and surrogates are not in it.
    """
    accuracy, loss, best = np.random.default_rng(0).random((3, clients))
    return {
        "metric_seconds_accuracy_parity": lambda: accuracy_std(accuracy),
        "metric_seconds_agnostic_loss": lambda: agnostic_loss(loss),
        "metric_seconds_faa": lambda: faa(gaps(loss, best)),
    }


def variant_record(variant: TimedVariant, models: int, rounds: list[float], passes: list[float]) -> dict[str, Any]:
    """Seconds of one variant by metric id, each repetition.

    A server that keeps M models trains them one after the other here; in 1 / M of the time with a device for each.
    """
    seconds = {
        "train_seconds_per_round": rounds,
        "train_seconds_per_model": [round_ / models for round_ in rounds],
        "inference_seconds": passes,
    }
    return {
        "algorithm": variant.algorithm,
        "hyperparameters": variant.shown,
        "models": models,
        "seconds": {name: values for name, values in seconds.items() if values},
    }


def measure(spec: Spec, simulations: list[Simulation], watch: Stopwatch) -> dict[str, Any]:
    """All seconds that the spec asks for; `simulations` are those of its variants, in order."""
    rounds = in_turns([simulation.run_round for simulation in simulations], spec.rounds, watch)
    passes = in_turns([partial(simulation.evaluate, "test") for simulation in simulations], spec.inferences, watch)
    works = metric_works(spec.clients) if spec.metrics else {}
    metrics = in_turns(list(works.values()), spec.metrics, watch)
    models = [simulation.algorithm.server_models() or 1 for simulation in simulations]
    return {
        "variants": [variant_record(*own) for own in zip(spec.variants, models, rounds, passes, strict=True)],
        "metrics": dict(zip(works, metrics, strict=True)),
    }


def main(argv: list[str] | None = None) -> None:
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m fairfl.jobs.timing", description=__doc__)
    job.arguments(parser)
    parser.add_argument("--data", type=Path, help="prepared data set (.safetensors); read if the spec has variants")
    parser.add_argument("--partition", type=Path, help="partition (.parquet); read if the spec has variants")
    parser.add_argument("--out", required=True, type=Path, help="the seconds (.json)")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--backend", default="auto", choices=("auto", "stacked", "sequential"))
    parser.add_argument("--threads", type=job.whole, default=1)
    args = parser.parse_args(argv)
    spec = job.spec_of(args, Spec)
    with job.run_context(args, args.out, torch=True):
        chosen = device.choose(args.device, args.threads, spec.precision, alone=True)
        simulations = []
        if spec.variants:
            if args.data is None or args.partition is None:
                raise FairflError(f"{spec.setting}: timing variants needs --data and --partition")
            clients = load_clients(args.data, args.partition, chosen)
            try:
                simulations = [Simulation(variant, clients, None, chosen, args.backend) for variant in spec.variants]
            except ValueError as error:
                raise FairflError(f"{spec.setting}: {error}") from None
        watch = Stopwatch(wait=torch.cuda.synchronize) if chosen.type == "cuda" else Stopwatch()
        found = measure(spec, simulations, watch)
        record = manifest(
            args.spec, started, device=chosen.type, processor=processor(chosen.type), threads=args.threads, **found
        )
        atomic.write_text(args.out, json.dumps(record, indent=1, sort_keys=True) + "\n")
    print(f"done in {record['seconds']} s on {record['processor']}")


if __name__ == "__main__":
    cli.run(main, teardown=False)
