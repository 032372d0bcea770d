"""Units: what the runs measure in, what the papers print, and with how many digits."""

import math

from fairfl.runtime.errors import FairflError

# (unit of a number, unit wanted) -> factor
_FACTORS = {
    ("fraction", "percent"): 1e2,
    ("fraction", "percent_points"): 1e2,
    ("percent", "fraction"): 1e-2,
    ("percent", "percent_points"): 1.0,
    ("percent_points", "percent"): 1.0,
    ("fraction^2", "percent2"): 1e4,
    ("percent2", "fraction^2"): 1e-4,
}
# Every other unit is shown as it is: nats, mse (a mean squared error is no log-likelihood), rounds, seconds, count,
# degree, MB (2^20 bytes).

# How units are called, where that is not as they are.
_WORDS = {
    "count": "",
    "fraction^2": "squared fraction",
    "percent2": "percent²",
    "nats^2": "nats²",
    "percent_points": "percentage points",
    "mse": "mean squared error",
    "mse^2": "squared mean squared error",
    "degree": "degrees",
}

# Units of numbers that span orders of magnitude: a learning rate or a hyper-parameter has none.
_SIGNIFICANT = ("", "seconds")


def unit_words(unit: str) -> str:
    """A unit as people read it, such as 'percent²'; '' for a mere number."""
    return _WORDS.get(unit, unit)


def counts(value: float, unit: str) -> bool:
    """True for a number: a finite one, or infinitely many rounds to a target that was never reached."""
    return math.isfinite(value) or (unit == "rounds" and value == math.inf)


def known_or_none(value: float) -> float | None:
    """The number; None of NaN."""
    return None if math.isnan(value) else float(value)


def endless(metric: str, rounds: int) -> str:
    """Print of infinity: rounds that did not suffice in a run of this length, or a batch of all samples."""
    return "full" if metric == "config_batch_size" else f"> {rounds}"


def factor(unit: str, target: str) -> float:
    """Factor between two units; 1 where one is not named. Raises FairflError if they measure different things."""
    if not unit or not target or unit == target:
        return 1.0
    if (unit, target) not in _FACTORS:
        raise FairflError(f"unit {unit!r} cannot be shown as {target!r}")
    return _FACTORS[unit, target]


def shown_as(unit: str) -> list[str]:
    """The units in which a number that is measured in `unit` can be printed."""
    return [unit, *(target for one, target in _FACTORS if one == unit)]


def fixed(value: float, digits: int) -> str:
    """Fixed-point text without a negative zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def printed(value: float, unit: str, digits: int) -> str:
    """A finite number as printed in tables: `digits` after the point; significant ones of seconds and pure numbers.

    Changes, in points, have their sign: '+0.64'.
    """
    if unit in _SIGNIFICANT:
        return f"{value:.{digits}g}"
    text = fixed(value, digits)
    return f"+{text}" if unit == "percent_points" and float(text) > 0 else text


def printed_spread(value: float, unit: str, digits: int) -> str:
    """A standard deviation, to stand behind ±."""
    return printed(value, unit, digits).removeprefix("+")


def printed_cell(
    value: float | None,
    unit: str,
    digits: int,
    spread: float | None = None,
    endless: str = "∞",
    missing: str = "",
) -> str:
    """A cell as all tables, pages and reports print it: '81.2 ± 0.4'; `endless` for infinity, `missing` for none."""
    if value is None:
        return missing
    text = printed(value, unit, digits) if math.isfinite(value) else endless
    return text if spread is None else f"{text} ± {printed_spread(spread, unit, digits)}"


def half_unit(value: float, unit: str, digits: int) -> float:
    """Half a unit of the last printed digit of a number, what rounding alone can make."""
    if unit not in _SIGNIFICANT or value == 0:
        return 0.5 * 10.0**-digits
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
