"""Numbers that do not come from tidy tables: what tuning chose, what a partition counts, what a drawing shows."""

import csv
import math
from pathlib import Path

from fairfl.errors import FairflError
from fairfl.metrics.statistics import STATISTICS
from fairfl.provenance import records

_PARTS = ("train", "validation", "test")


def chosen(path: Path) -> dict[str, float]:
    """learning_rate and hp_<name> by metric id, from fairfl.tune's choice; NaN if every point of its grid diverged.

    Words (order=loss) are no numbers and left out. Raises OSError or FairflError naming the file.
    """
    record = records.read(path, *records.CHOICE, "value")
    values = {"learning_rate": record["learning_rate"]}
    values |= {f"hp_{name}": value for name, value in record["hyperparameters"].items()}
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
    return numbers if record["value"] is not None else dict.fromkeys(numbers, math.nan)


def statistics(path: Path) -> dict[str, float]:
    """fairfl.metrics.statistics of a partition, from the statistics file beside it. Raises FairflError naming it."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            counts = [(row["part"], int(row["samples"])) for row in csv.DictReader(handle)]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise FairflError(f"{path}: not the statistics of a partition: {error!r}") from None
    sizes = {part: [count for own, count in counts if own == part] for part in _PARTS}
    return {name: function(sizes) for name, function in STATISTICS.items()}


def drawn(path: Path) -> dict[tuple[str, str], float]:
    """(algorithm, metric) -> value of the numbers that an illustration shows, from its CSV.

    An illustration draws instead of running: its algorithms are whatever it compares. Raises FairflError naming the
    file.
    """
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = [row for row in csv.DictReader(handle) if row["metric"]]
        return {(row["algorithm"], row["metric"]): float(row["value"]) for row in rows}
    except (OSError, KeyError, ValueError) as error:
        raise FairflError(f"{path}: not the numbers of an illustration: {error!r}") from None
