"""Units: what the runs measure in, what the papers print, and with how many digits."""

import math

from fairfl.errors import FairflError

# (unit of a number, unit wanted) -> factor
_FACTORS = {
    ("fraction", "percent"): 1e2,
    ("fraction", "percent_points"): 1e2,
    ("percent", "fraction"): 1e-2,
    ("percent", "percent_points"): 1.0,
    ("percent_points", "percent"): 1.0,
    ("fraction^2", "percent^2"): 1e4,
    ("percent^2", "fraction^2"): 1e-4,
}


def factor(unit: str, wanted: str) -> float:
    """What to multiply with; 1 where a unit is not named. Raises FairflError if they do not measure the same thing."""
    if not unit or not wanted or unit == wanted:
        return 1.0
    if (unit, wanted) not in _FACTORS:
        raise FairflError(f"unit {unit!r} cannot be shown as {wanted!r}")
    return _FACTORS[unit, wanted]


def fixed(value: float, digits: int) -> str:
    """Fixed-point text without a negative zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def printed(value: float, unit: str, digits: int) -> str:
    """A number as the tables print it: `digits` after the point.

    A number without a unit (a learning rate, a hyper-parameter) spans orders of magnitude: `digits` significant ones.
    """
    return fixed(value, digits) if unit else f"{value:.{digits}g}"


def half_unit(value: float, unit: str, digits: int) -> float:
    """Half a unit of the last printed digit of a number, what rounding alone can make."""
    if unit or value == 0:
        return 0.5 * 10.0**-digits
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
