"""Numbers that do not come from tidy tables: what tuning chose, a partition counts, a clock or a drawing shows."""

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from fairfl.experiments.variant import Variant
from fairfl.metrics.origin import owner
from fairfl.metrics.statistics import STATISTICS
from fairfl.runtime import result_files
from fairfl.runtime.errors import FairflError

_PARTS = ("train", "validation", "test")


def chosen(path: Path) -> dict[str, float]:
    """learning_rate and hp_<name> by metric id, from fairfl.jobs.tune's choice; NaN if every point of its grid diverged.

    Words (order=loss) are no numbers and left out. Raises OSError or FairflError naming the file.
    """
    choice = result_files.read(path, result_files.TunedChoice)
    values = {"learning_rate": choice.learning_rate}
    values |= {f"hp_{name}": value for name, value in choice.hyperparameters.items()}
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
    return numbers if choice.value is not None else dict.fromkeys(numbers, math.nan)


def statistics(path: Path) -> dict[str, float]:
    """fairfl.metrics.statistics of a partition, from the statistics file beside it. Raises FairflError naming it."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            counts = [(row["part"], int(row["samples"])) for row in csv.DictReader(handle)]
    except (OSError, KeyError, ValueError, TypeError, csv.Error) as error:
        raise FairflError(f"{path}: not the statistics of a partition: {error!r}") from None
    sizes = {part: [count for own, count in counts if own == part] for part in _PARTS}
    return {name: function(sizes) for name, function in STATISTICS.items()}


@dataclass(frozen=True)
class Timed:
    """What fairfl.jobs.timing measured in a setting: seconds of each repetition, and on what."""

    machine: str  # 'AMD EPYC 7763, 1 thread'
    seconds: dict[tuple[Variant, str], list[float]]  # by variant (none if it belongs to the setting) and metric
    fingerprint: str = ""

    def of(self, variant: Variant, metric: str) -> list[float]:
        """Repetitions of a metric for a variant; none if it was not timed."""
        return self.seconds.get((Variant("", {}) if owner(metric) == "setting" else variant, metric), [])


def timed(path: Path) -> Timed:
    """Raises OSError or FairflError naming the file."""
    measured = result_files.read(path, result_files.Seconds)
    seconds = {(Variant("", {}), metric): values for metric, values in measured.metrics.items()}
    for own in measured.variants:
        variant = Variant.from_csv(own.algorithm, own.hyperparameters)
        seconds |= {(variant, metric): values for metric, values in own.seconds.items()}
    machine = measured.processor
    if measured.device == "cpu":
        machine += f", {measured.threads} thread{'' if measured.threads == 1 else 's'}"
    return Timed(machine, seconds, measured.fingerprint)


def drawn(path: Path) -> dict[tuple[str, str], float]:
    """(algorithm, metric) -> value of the numbers that an illustration shows, from its CSV.

    An illustration draws instead of running: its algorithms are whatever it compares. Raises FairflError naming the
    file.
    """
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = [row for row in csv.DictReader(handle) if row["metric"]]
        return {(row["algorithm"], row["metric"]): float(row["value"]) for row in rows}
    except (OSError, KeyError, ValueError, TypeError, csv.Error) as error:
        raise FairflError(f"{path}: not the numbers of an illustration: {error!r}") from None
