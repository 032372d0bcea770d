"""Seconds of training rounds, test passes and metrics, all variants in turns."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fairfl.metrics.accuracy import accuracy_std
from fairfl.metrics.fairness import agnostic_loss, faa, gaps
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import TimedVariant, TimingSpec

Work = Callable[[], Any]


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


def variant_record(
    variant: TimedVariant, models: int, rounds: list[float], passes: list[float]
) -> dict[str, Any]:
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


def measure(spec: TimingSpec, simulations: list[Simulation], watch: Stopwatch) -> dict[str, Any]:
    """All seconds that the spec asks for; `simulations` are its variants', in order."""
    rounds = in_turns([simulation.run_round for simulation in simulations], spec.rounds, watch)
    passes = in_turns(
        [partial(simulation.evaluate, "test") for simulation in simulations], spec.inferences, watch
    )
    works = metric_works(spec.clients) if spec.metrics else {}
    metrics = in_turns(list(works.values()), spec.metrics, watch)
    models = [simulation.algorithm.server_models() or 1 for simulation in simulations]
    return {
        "variants": [
            variant_record(*timed)
            for timed in zip(spec.variants, models, rounds, passes, strict=True)
        ],
        "metrics": dict(zip(works, metrics, strict=True)),
    }
