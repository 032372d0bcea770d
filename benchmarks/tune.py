"""Finds how dense models run fastest on this kind of CPU and writes it to cpu_tuning.json: make bench ARGS=--tune

Rounds of the stacked backend over a grid of models and batch sizes, under one candidate rule after the other in turns,
so that drift of the machine cancels. One rule is searched at a time, and then the two thresholds together. Rules
decide in which order sums are taken and so move results by rounding: what is in force is replaced only by what is
clearly faster. No training calls this.
"""

import datetime
import itertools
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import torch
from torch import nn

from benchmarks import models
from benchmarks.driver import pinned_core
from benchmarks.workloads import LINEAR, MLP, MLP_B64, Workload
from fairfl.runtime import atomic
from fairfl.runtime.machine import cpu_name
from fairfl.simulation import flat_parameters
from fairfl.simulation.backends import dense_kernels, stacked, stacked_block
from fairfl.simulation.backends.cpu_tuning import FILE, CpuTuning, kind, tuning
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.clients import Part
from fairfl.simulation.losses import LOSSES, ClosedForm

WORTH = 0.03  # how much faster a rule must be than the one in force, over the cases where it changes anything
TURN_S = 0.03  # a turn has so many rounds that it lasts about this long
PASSES = 2

_THRESHOLDS = [float(2**k) for k in range(18, 25)] + [math.inf]
# Changes of the rules that are compared with each other: those of one list take turns.
MOVES: list[list[dict[str, float]]] = [
    [{"onednn_from": value} for value in _THRESHOLDS],
    [{"alone_from": value} for value in _THRESHOLDS],
    [{"onednn_from": value, "alone_from": value} for value in _THRESHOLDS],
    [{"stack_bytes": float(2**k)} for k in range(20, 27)],
    [{"columns_from": value} for value in (2.0, 16.0, 32.0, math.inf)],
    [{"pass_share": value} for value in (0.0, 0.17, 0.33, 0.5)],
]


def _cases() -> list[Workload]:
    base = MLP_B64.at(clients=10)
    kinds = [
        base.at(model=MLP),
        base.at(model=MLP | {"hidden": [50]}),
        base.at(model=MLP | {"hidden": [400, 400]}),
        base.at(model=MLP, shape=(3, 32, 32)),
        base.at(model=LINEAR),
        base.at(model=LINEAR, classes=62, samples=1200),
    ]
    return [
        workload.at(name=f"{sizes(workload)}, batch {batch or 'full'}", batch=batch)
        for workload, batch in itertools.product(kinds, (5, 10, 20, 32, 64, 128, None))
    ]


def sizes(workload: Workload) -> str:
    """Units of a dense model: 784-200-10."""
    return "-".join(str(n) for n in (workload.layers[0][0], *(out for _, out in workload.layers)))


@contextmanager
def under(rules: CpuTuning) -> Iterator[None]:
    """The engine with these rules."""
    with ExitStack() as patches:
        for module in (stacked, stacked_block, dense_kernels):
            patches.enter_context(patch.object(module, "tuning", lambda: rules))
        yield


class Rounds:
    """Rounds of one case under some rules."""

    def __init__(self, case: Workload, part: Part, rules: CpuTuning) -> None:
        self.rules = rules
        model, loss = models.build(case.model, case.shape, case.classes), LOSSES["cross_entropy"]
        assert isinstance(model, nn.Sequential) and isinstance(loss, ClosedForm)
        x = flat_parameters.flatten(model)
        clients = list(range(case.per_round))
        rates = torch.full((len(clients),), 0.1, dtype=torch.float64)
        self.work = Work(clients, x.expand(len(clients), -1), rates)
        self.local = LocalTraining(epochs=case.epochs, batch_size=case.batch, seed=0)
        self.round = 0
        with under(rules):
            self.backend = stacked.Stacked(model, loss, part)
        self.seconds(1)
        # What the engine makes of the rules: rules of which it makes the same need not be told apart.
        self.made = frozenset(
            (
                block.shape.models,
                block.by_columns,
                tuple(layer.onednn_from <= n for layer in block.stack.dense for n in case.batches),
                block.shape.steps_a_pass,
            )
            for block in self.backend.blocks.kept.values()
        )

    def seconds(self, rounds: int) -> float:
        """Of the CPU for a round: other processes do not count."""
        with under(self.rules):
            begun = time.process_time()
            for _ in range(rounds):
                self.round += 1
                self.backend.train(self.work, self.local, self.round)
            return (time.process_time() - begun) / rounds


@dataclass
class Search:
    """From the rules in force to better ones."""

    turns: int = 5
    cases: list[Workload] = field(default_factory=_cases)
    moves: list[list[dict[str, float]]] = field(default_factory=lambda: MOVES)

    def found(self) -> CpuTuning:
        """The rules to write. Prints what is measured."""
        if (core := pinned_core("cpu")) is not None:
            os.sched_setaffinity(0, {core})
        torch.set_num_threads(1)
        rules = tuning()
        for _ in range(PASSES):
            before = rules
            for moves in self.moves:
                rules = self._best(rules, moves)
            if rules == before:
                break
        return rules

    @torch.no_grad()
    def _best(self, rules: CpuTuning, moves: list[dict[str, float]]) -> CpuTuning:
        """The rules after the best of these moves, or as they are if none is worth it."""
        candidates = [replace(rules, **move) for move in moves]
        ratios: list[list[float]] = [[] for _ in candidates]
        for case in self.cases:
            for own, ratio in zip(ratios, self._ratios(case, rules, candidates), strict=True):
                own.append(ratio)
        means = [statistics.geometric_mean(own) for own in ratios]
        for move, mean in zip(moves, means, strict=True):
            say(f"  {shown(move):48} {mean:.3f} of the time")
        best = means.index(min(means))
        changed = [ratio for ratio in ratios[best] if ratio != 1]
        if not changed or statistics.geometric_mean(changed) > 1 - WORTH:
            say(f"stays {shown(asdict(rules))}")
            return rules
        for case, ratio in zip(self.cases, ratios[best], strict=True):
            say(f"  {case.name:48} {ratio:.3f} of the time") if ratio != 1 else None
        say(f"now {shown(asdict(candidates[best]))}")
        return candidates[best]

    def _ratios(self, case: Workload, rules: CpuTuning, candidates: list[CpuTuning]) -> list[float]:
        """Time under each candidate / time under the rules in force, turn by turn; 1 where nothing changes."""
        part = samples(case)
        force = Rounds(case, part, rules)
        trials = {force.made: force}
        made = []
        for candidate in candidates:
            trial = Rounds(case, part, candidate)
            made.append(trials.setdefault(trial.made, trial).made)
        if len(trials) == 1:
            return [1.0] * len(candidates)
        rounds = max(1, math.ceil(TURN_S / force.seconds(1)))
        times: dict[frozenset, list[float]] = {key: [] for key in trials}
        for _ in range(self.turns):
            for key, trial in trials.items():
                times[key].append(trial.seconds(rounds))
        medians = {
            key: statistics.median(
                s / f for s, f in zip(times[key], times[force.made], strict=True)
            )
            for key in trials
        }
        return [medians[key] for key in made]


def samples(case: Workload) -> Part:
    """Clients with random samples."""
    draw = torch.Generator().manual_seed(0)
    inputs = torch.randn(case.clients * case.samples, *case.shape, generator=draw)
    labels = torch.randint(case.classes, (len(inputs),), generator=draw)
    return Part(inputs, labels, torch.full((case.clients,), case.samples))


def write(rules: CpuTuning, path: Path) -> None:
    """Rules of this kind of CPU into the file, if they are not there already; other kinds' stay as they are."""
    there = json.loads(path.read_text())
    kept = {
        name: int(value) if value == int(value) else value
        for name, value in asdict(rules).items()
        if value < math.inf
    }
    before = {name: value for name, value in there.get(kind(), {}).items() if name != "measured"}
    if before == kept:
        say(f"{path.name}: the rules of {kind()} stay as they are")
        return
    date = datetime.date.today().isoformat()
    there[kind()] = kept | {
        "measured": f"{date}, {cpu_name()}, torch {torch.__version__.partition('+')[0]}"
    }
    atomic.write_text(path, json.dumps(dict(sorted(there.items())), indent=2) + "\n")
    say(f"{path.name}: rules of {kind()} written; results on such machines move by rounding")


def shown(rules: dict[str, float]) -> str:
    return ", ".join(
        f"{name} {'never' if value == math.inf else f'{value:,.12g}'}"
        for name, value in rules.items()
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


__all__ = ["FILE", "Search", "write"]
