"""Claims evaluated on a table of values.

Ties: `==` and argopt hold when both sides print alike (`Metric.digits`), `!=` if they do not; `<=`, `>=`, trends and
dominance forgive rounding errors of the arithmetic only, and `<`, `>` ask for more than such an error.
"""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from fairfl.experiments.paper import Row
from fairfl.experiments.variant import Variant
from fairfl.reporting.claims.grammar import (
    Argopt,
    Binary,
    Call,
    CellOf,
    Comparison,
    Expression,
    Group,
    Monotone,
    Statement,
    Undominated,
    nodes,
)
from fairfl.reporting.results import Values

_PICK: dict[str, Callable[..., Any]] = {"min": min, "max": max}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    **_PICK,
    "abs": lambda numbers: abs(numbers[0]),
    "sqrt": lambda numbers: math.sqrt(numbers[0]),
    "atan_deg": lambda numbers: math.degrees(math.atan(numbers[0])),
}
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@dataclass(frozen=True)
class Judgement:
    """`left`, `right`: both sides; argopt: the best and the named row; trend: where it breaks, or both ends."""

    status: Literal["holds", "fails", "undecidable"]
    left: float | None
    right: float | None
    reason: str


class _Undecidable(Exception):
    """No verdict; the message says what is missing."""


@dataclass(frozen=True)
class _Scope:
    """What names in a claim refer to."""

    values: Values
    setting: str | None
    rows: tuple[Row, ...]
    digits: Callable[[str], int]

    def value(self, metric: str, variant: Variant, setting: str | None) -> float:
        where = self.where(setting)
        cell = self.values.find(where, variant, metric)
        if cell is None or cell.mean is None:
            raise _Undecidable(self.values.missing(where, variant, metric))
        return cell.mean

    def where(self, setting: str | None) -> str:
        if setting or self.setting:
            return setting or self.setting
        raise _Undecidable("the claim names no setting and its artifact has several")

    def variants(self, setting: str | None) -> list[Variant]:
        """Those of the artifact's rows in a setting."""
        where = self.where(setting)
        return [row.variant for row in self.rows if row.setting in (None, where)]

    def present(self, metric: str, rows: Iterable[Variant], setting: str | None) -> list[tuple[Variant, float]]:
        """Values of some rows; empty cells are an obstacle unless the table allows to skip them."""
        found = []
        for variant in rows:
            try:
                found.append((variant, self.value(metric, variant, setting)))
            except _Undecidable:
                if not self.values.skip_empty:
                    raise
        if not found:
            raise _Undecidable(f"no value for {metric} in {self.where(setting)}")
        return found


def evaluate(
    statement: Statement,
    values: Values,
    setting: str | None,
    rows: Iterable[Row],
    digits: Callable[[str], int] = lambda metric: 3,
) -> Judgement:
    """Judge a claim on a table of values.

    `setting` is where cells without '@' lie, `rows` are the artifact's rows (groups and argopt range over
    them), `digits(metric)` is the printed precision. Never raises on missing values: the judgement is then
    'undecidable' and its reason names what is missing.
    """
    scope = _Scope(values, setting, tuple(rows), digits)
    judges = {Comparison: _comparison, Argopt: _argopt, Monotone: _monotone, Undominated: _undominated}
    judge = judges[type(statement)]
    try:
        return judge(statement, scope)
    except _Undecidable as error:
        return Judgement("undecidable", None, None, str(error))


def _equal(left: float, right: float) -> bool:
    """Equal but for rounding errors of a few float operations."""
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


def _judgement(holds: bool, left: float, right: float, reason: str) -> Judgement:
    return Judgement("holds" if holds else "fails", left, right, reason)


def _comparison(statement: Comparison, scope: _Scope) -> Judgement:
    left, right = _evaluated(statement.left, scope), _evaluated(statement.right, scope)
    relation, equal = statement.relation, _equal(left, right)
    if relation in ("==", "!="):
        used = [scope.digits(node.metric) for node, _ in nodes(statement) if hasattr(node, "metric")]
        alike = equal or bool(used) and round(left, min(used)) == round(right, min(used))
        holds = alike == (relation == "==")
    else:
        ahead = left < right if relation[0] == "<" else left > right
        holds = (equal or ahead) if relation.endswith("=") else (ahead and not equal)
    return _judgement(holds, left, right, f"{left:.6g} {relation} {right:.6g} is {'true' if holds else 'false'}")


def _evaluated(node: Expression, scope: _Scope) -> float:
    """A value; infinite where a cell is, because its target was never reached."""
    match node:
        case CellOf():
            return scope.value(node.metric, node.variant, node.setting)
        case Group():
            return _group(node, scope)
        case Call():
            numbers = [_evaluated(argument, scope) for argument in node.arguments]
            if node.function == "sqrt" and numbers[0] < 0:
                raise _Undecidable("root of a negative number")
            return _FUNCTIONS[node.function](numbers)
        case Binary():
            operands = [_evaluated(node.left, scope), _evaluated(node.right, scope)]
            if node.operator == "/" and operands[1] == 0:
                raise _Undecidable("division by zero")
            value = _ARITHMETIC[node.operator](*operands)
        case _:
            value, operands = node, []
    if math.isnan(value) or (math.isinf(value) and all(map(math.isfinite, operands))):
        raise _Undecidable("the arithmetic leaves the range of numbers")
    return value


def _group(node: Group, scope: _Scope) -> float:
    rows = [
        variant
        for variant in scope.variants(node.setting)
        if node.only in (None, variant.algorithm)
        and variant.algorithm not in node.excluded
        and variant.includes(node.fixed)
    ]
    if not rows:
        asked = node.only or ", ".join(f"!{name}" for name in node.excluded) or "*"
        raise _Undecidable(f"the artifact has no row for {node.fixed.of(asked)}")
    return _PICK[node.function](value for _, value in scope.present(node.metric, rows, node.setting))


def _argopt(statement: Argopt, scope: _Scope) -> Judgement:
    rows = scope.variants(None)
    if statement.variant not in rows:
        raise _Undecidable(f"the artifact has no row {statement.variant}")
    value = scope.value(statement.metric, statement.variant, None)
    found = scope.present(statement.metric, rows, None)
    best, reached = _PICK[statement.function](found, key=lambda item: item[1])
    digits = scope.digits(statement.metric)
    holds = round(reached, digits) == round(value, digits)
    return _judgement(holds, reached, value, f"arg{statement.function} is {best}")


def _monotone(statement: Monotone, scope: _Scope) -> Judgement:
    key = statement.key
    found = scope.present(statement.metric, _points(statement, scope), statement.setting)
    if len(found) < 2:
        raise _Undecidable(f"a trend needs two values of {key}, found {len(found)}")
    for (before, left), (after, right) in zip(found, found[1:], strict=False):
        wrong = left > right if statement.direction == "up" else left < right
        if wrong and not _equal(left, right):
            start, end = before.number(key), after.number(key)
            return _judgement(False, left, right, f"not {statement.direction} from {key}={start:g} to {end:g}")
    return _judgement(True, found[0][1], found[-1][1], f"{statement.direction} over {len(found)} values of {key}")


def _points(statement: Monotone, scope: _Scope) -> list[Variant]:
    """Rows along the hyper-parameter, sorted by it; the others must be fixed or equal."""
    key = statement.key
    points = [
        (value, variant)
        for variant in scope.variants(statement.setting)
        if variant.algorithm == statement.algorithm
        and (value := variant.number(key)) is not None
        and variant.includes(statement.fixed)
    ]
    words = [value for value, _ in points if isinstance(value, str)]
    if words:
        raise _Undecidable(f"{key}={words[0]} is not a number")
    if len({tuple(level for level in variant.levels if level[0] != key) for _, variant in points}) > 1:
        raise _Undecidable(f"other hyper-parameters change along {key}")
    return [variant for _, variant in sorted(points)]


def _undominated(statement: Undominated, scope: _Scope) -> Judgement:
    metrics = [metric for metric, _ in statement.criteria]
    signs = [1 if trend == "up" else -1 for _, trend in statement.criteria]
    own = [scope.value(metric, statement.variant, statement.setting) for metric in metrics]
    found = [dict(scope.present(metric, scope.variants(statement.setting), statement.setting)) for metric in metrics]
    others = [row for row in found[0] if row != statement.variant and all(row in values for values in found)]
    if not others:
        raise _Undecidable(f"the artifact has no row to hold {statement.variant} against")
    for row in others:
        theirs = [values[row] for values in found]
        ties = [_equal(mine, other) for mine, other in zip(own, theirs, strict=True)]
        ahead = [sign * other > sign * mine for sign, mine, other in zip(signs, own, theirs, strict=True)]
        if all(map(operator.or_, ties, ahead)) and not all(ties):
            return _judgement(False, own[0], theirs[0], f"dominated by {row}")
    return _judgement(True, own[0], own[0], f"{len(others)} other rows are worse in something")
