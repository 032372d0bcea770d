"""A number and where it is kept: by setting, variant and metric, in the unit that the paper prints.

A table's cell, its verdict, a figure's point and the operand of a claim are the same `Cell`.
"""

import math
import re
import statistics
from collections import ChainMap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from fairfl.experiments.described import Metric
from fairfl.experiments.origin import owner
from fairfl.experiments.variant import Variant
from fairfl.judgement.units import counts

Key = tuple[str, Variant, str]  # setting, variant, metric
Metrics = Mapping[str, Metric]  # the metrics that a paper describes, by id
Curve = tuple[tuple[int, float], ...]  # (round, value)

# Kinds of artifacts whose numbers are held against the paper's; the others print text or drawings.
MEASURED_KINDS = ("table", "figure")
# How the note of a reported cell without a number begins if the paper says that its runs diverged.
DIVERGED = "diverged"
NO_VARIANT = Variant("", {})  # what numbers belong to that a setting has


# -- metrics ----------------------------------------------------------------------------------
def metric_of(metrics: Metrics, name: str, owners: Sequence[str] = ()) -> Metric | None:
    """The description of a metric; 'gap_client_3' is described by 'gap_client_k' if by nothing else.

    The name of a family, such as 'loss', becomes 'loss, client 3', or 'loss, north' where the clients have owners.
    """
    client = re.search(r"_(\d+)$", name)
    if name in metrics or client is None:
        return metrics.get(name)
    family = metrics.get(f"{name[: client.start()]}_k")
    whose = dict(enumerate(owners)).get(int(client[1]), f"client {client[1]}")
    return family and family.model_copy(update={"name": f"{family.name}, {whose}"})


def digits_of(metrics: Metrics) -> Callable[[str], int]:
    """Printed digits after the point by metric id; 3 for a metric that is not described."""

    def digits(name: str) -> int:
        described = metric_of(metrics, name)
        return described.digits if described else 3

    return digits


def printed_unit(metrics: Metrics, name: str, unit: str = "") -> str:
    """The unit in which the paper prints a number that is measured in `unit`."""
    described = metric_of(metrics, name)
    return described.shown_in(unit) if described else unit


# -- numbers ----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Cell:
    """One number in `unit`. For ours: mean and population standard deviation (divide by n) over seeds or repetitions.

    `mean` is None without a number: an empty cell of the paper, or at least one seed diverged (a mean over the
    surviving seeds would flatter the algorithm). `diverged` counts those seeds; it is 1 where the paper says that its
    runs did. A mean is infinite where `censored` seeds did not reach what rounds are counted to.
    """

    mean: float | None
    std: float | None = None
    seeds: int = 0
    diverged: int = 0
    censored: int = 0
    unit: str = ""
    note: str = ""
    spread_kind: str = ""  # of a reported cell: "std", or something else that `std` is
    runs: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    by_seed: Mapping[int, float] = field(
        default_factory=dict
    )  # what was measured; NaN if there is no number

    @classmethod
    def over_seeds(cls, by_seed: Mapping[int, float], unit: str, **more: Any) -> "Cell":
        """The cell of one number per seed."""
        numbers = [value for value in by_seed.values() if counts(value, unit)]
        complete, censored = len(numbers) == len(by_seed), numbers.count(math.inf)
        return cls(
            mean=statistics.fmean(numbers) if complete else None,
            std=_deviation(numbers) if complete and not censored else None,
            seeds=len(by_seed),
            diverged=len(by_seed) - len(numbers),
            censored=censored,
            unit=unit,
            by_seed=by_seed,
            **more,
        )

    @classmethod
    def single(cls, value: float, unit: str, run: str) -> "Cell":
        """The cell of a choice or a count; it diverged if it is not finite."""
        finite = math.isfinite(value)
        return cls(
            mean=value if finite else None,
            seeds=1,
            diverged=int(not finite),
            unit=unit,
            runs=(run,),
            fingerprints=("",),
        )


def _deviation(numbers: list[float]) -> float:
    """Population standard deviation; 0 of equal numbers. statistics.pstdev takes 20 times as long for its last bit."""
    away = [number - numbers[0] for number in numbers]
    mean = math.fsum(away) / len(away)
    return math.sqrt(math.fsum((number - mean) ** 2 for number in away) / len(away))


def key_of(setting: str, variant: Variant, metric: str) -> Key:
    """Place of a number: a choice belongs to an algorithm, a count to a setting, the rest to a variant."""
    kind = _owner(metric)
    if kind == "algorithm":
        variant = Variant(variant.algorithm, {})
    return setting, NO_VARIANT if kind == "setting" else variant, metric


_owner = cache(owner)


@dataclass(frozen=True)
class Cells:
    """Cells, and the points along reported curves, by setting, variant and metric.

    `skip_empty`: groups, argopt and trends pass over empty cells. True for the papers' numbers (a cell may be illegible
    or unprinted), False for ours (a diverged run must not vanish from a minimum). `one_draw`: settings whose seeds
    share one draw of each round's clients, so that they tell nothing of another draw.
    """

    cells: Mapping[Key, Cell] = field(default_factory=dict)
    skip_empty: bool = False
    curves: Mapping[Key, Curve] = field(default_factory=dict)
    one_draw: frozenset[str] = frozenset()

    def find(self, setting: str, variant: Variant, metric: str) -> Cell | None:
        return self.cells.get(key_of(setting, variant, metric))

    def curve(self, setting: str, variant: Variant, metric: str) -> Curve:
        """The points along training of a metric, none if it was not reported."""
        return self.curves.get(key_of(setting, variant, metric), ())

    def missing(self, setting: str, variant: Variant, metric: str) -> str:
        """A sentence about what stands in the way of a number."""
        where = (
            f"{metric} of {variant} in {setting}" if variant.algorithm else f"{metric} in {setting}"
        )
        cell = self.find(setting, variant, metric)
        if cell is None:
            return f"no value for {where}"
        if cell.diverged:
            return (
                f"{where}: {cell.diverged} of {cell.seeds} seeds diverged"
                if cell.seeds
                else f"{where}: diverged"
            )
        return f"empty cell: {where}"

    def members(self, setting: str, family: str) -> set[str]:
        """Metrics 'gap_client_0', ... that a column 'gap_client_k' stands for."""
        pattern = re.compile(re.escape(family.removesuffix("k")) + r"\d+")
        return {
            metric
            for place, _, metric in self.cells
            if place == setting and pattern.fullmatch(metric)
        }

    def has(self, variant: Variant, settings: Collection[str]) -> bool:
        """True if there is any number of a variant in one of the settings."""
        return any((setting, variant) in self._measured for setting in settings)

    @cached_property
    def _measured(self) -> set[tuple[str, Variant]]:
        return {(setting, variant) for setting, variant, _ in self.cells}


def expanded(column: str, setting: str, *sources: Cells) -> list[str]:
    """A column id, or the members of its family in numeric order where any source has some."""
    if not column.endswith("_k"):
        return [column]
    members = set().union(*(cells.members(setting, column) for cells in sources))
    return sorted(members, key=client_of) or [column]


def client_of(metric: str) -> int:
    """3 of 'gap_client_3', -1 of a metric that is not of one client."""
    number = metric.rpartition("_")[2]
    return int(number) if number.isdecimal() else -1


def pooled(name: str, reported: Mapping[str, Cells]) -> Cells:
    """A paper's numbers as one of its artifacts takes them: its own first, then the paper's others.

    A figure whose numbers are only printed in a table is drawn and checked on that table.
    """
    paper = name.partition("_")[0]
    first = sorted(reported, key=lambda other: (other != name, other))
    tables = [reported[other] for other in first if other.startswith(f"{paper}_")]
    cells = dict(reported[name].cells) if name in reported else {}
    for empty in (False, True):  # a number anywhere before an empty cell of another artifact
        for table in tables:
            cells = {
                key: cell for key, cell in table.cells.items() if empty or cell.mean is not None
            } | cells
    return Cells(cells, True, dict(ChainMap(*(dict(table.curves) for table in tables))))


# -- CSV --------------------------------------------------------------------------------------
def number_text(value: float | None) -> str:
    """A float for CSV: nine significant digits, '' for none or NaN; the same bytes on every machine."""
    return "" if value is None or math.isnan(value) else f"{value + 0.0:.9g}"


def by_seed_text(values: Mapping[int, float]) -> str:
    """Numbers by seed for CSV, '0:86.1;12:85.7'."""
    return ";".join(f"{seed}:{number_text(value)}" for seed, value in values.items())


def by_seed(text: str) -> dict[int, float]:
    """The numbers that `by_seed_text` has written."""
    pairs = (pair.split(":") for pair in text.split(";") if pair)
    return {int(seed): float(value or "nan") for seed, value in pairs}
