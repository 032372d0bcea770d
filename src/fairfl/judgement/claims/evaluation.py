"""Claims evaluated on a table of values.

Ties: `==` and argopt hold when both sides print alike (`Metric.digits`), `!=` if they do not; `<=`, `>=`, trends and
dominance forgive rounding errors of the arithmetic only, and `<`, `>` ask for more than such an error.
"""

import itertools
import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from fairfl.experiments.artifact import Row
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cells
from fairfl.judgement.claims.grammar import (
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

    status: Literal["supported", "refuted", "missing numbers"]
    left: float | None
    right: float | None
    reason: str


class _MissingNumbers(Exception):
    """No verdict; the message says what is missing."""


@dataclass(frozen=True)
class _Scope:
    """Cells and rows that names in a claim refer to."""

    cells: Cells
    setting: str | None
    rows: tuple[Row, ...]
    digits: Callable[[str], int]

    def value(self, metric: str, variant: Variant, setting: str | None) -> float:
        where = self.where(setting)
        cell = self.cells.find(where, variant, metric)
        if cell is None or cell.mean is None:
            raise _MissingNumbers(self.cells.missing(where, variant, metric))
        return cell.mean

    def where(self, setting: str | None) -> str:
        if place := setting or self.setting:
            return place
        raise _MissingNumbers("the claim names no setting and its artifact has several")

    def variants(self, setting: str | None) -> list[Variant]:
        """The artifact's rows in a setting."""
        where = self.where(setting)
        return [row.variant for row in self.rows if row.setting in (None, where)]

    def values(
        self, metric: str, variants: Iterable[Variant], setting: str | None
    ) -> dict[Variant, float]:
        """Values of some rows; empty cells are an obstacle unless the table allows to skip them."""
        values = {}
        for variant in variants:
            try:
                values[variant] = self.value(metric, variant, setting)
            except _MissingNumbers:
                if not self.cells.skip_empty:
                    raise
        if not values:
            raise _MissingNumbers(f"no value for {metric} in {self.where(setting)}")
        return values


def evaluate(
    statement: Statement,
    cells: Cells,
    setting: str | None,
    rows: Iterable[Row],
    digits: Callable[[str], int] = lambda metric: 3,
) -> Judgement:
    """Judge a claim on a table of values.

    `setting` is where cells without '@' lie, `rows` are the artifact's rows (groups and argopt range over
    them), `digits(metric)` is the printed precision. Never raises on missing values: the judgement is then
    'missing numbers' and its reason names what is missing.
    """
    scope = _Scope(cells, setting, tuple(rows), digits)
    judges: dict[type, Callable[[Any, _Scope], Judgement]] = {
        Comparison: _comparison,
        Argopt: _argopt,
        Monotone: _monotone,
        Undominated: _undominated,
    }
    judge = judges[type(statement)]
    try:
        return judge(statement, scope)
    except _MissingNumbers as error:
        return Judgement("missing numbers", None, None, str(error))


def status_over_completed_rows(
    statement: Statement,
    cells: Cells,
    setting: str | None,
    rows: Iterable[Row],
    digits: Callable[[str], int],
) -> str:
    """Status that a claim over several rows with missing numbers would have without rows that were not run.

    'supported against 8 of 12 that were run'; '' if it speaks of no such rows, or says nothing without them either.
    """
    rows, parts = list(rows), [node for node, _ in nodes(statement)]
    named = {node.variant for node in parts if isinstance(node, CellOf | Argopt | Undominated)}
    over = [node for node in parts if isinstance(node, Group | Argopt | Undominated)]

    def find_competitors(among: list[Row]) -> set[Variant]:
        return {
            row.variant
            for row in among
            if any(not isinstance(node, Group) or node.has(row.variant) for node in over)
        } - named

    places = {getattr(node, "setting", None) or setting for node in parts}
    ran = [row for row in rows if cells.has(row.variant, [place for place in places if place])]
    competitors, completed = find_competitors(rows), find_competitors(ran)
    judgement = evaluate(statement, cells, setting, ran, digits)
    if judgement.status == "missing numbers" or not completed or completed == competitors:
        return ""
    return f"{judgement.status} against {len(completed)} of {len(competitors)} that were run"


def _equal(left: float, right: float) -> bool:
    """Equal but for rounding errors of a few float operations."""
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


def _judgement(holds: bool, left: float, right: float, reason: str) -> Judgement:
    return Judgement("supported" if holds else "refuted", left, right, reason)


def _comparison(statement: Comparison, scope: _Scope) -> Judgement:
    left, right = _evaluated(statement.left, scope), _evaluated(statement.right, scope)
    relation, equal = statement.relation, _equal(left, right)
    if relation in ("==", "!="):
        used = [
            scope.digits(node.metric) for node, _ in nodes(statement) if hasattr(node, "metric")
        ]
        alike = equal or bool(used) and round(left, min(used)) == round(right, min(used))
        holds = alike == (relation == "==")
    else:
        ahead = left < right if relation[0] == "<" else left > right
        holds = (equal or ahead) if relation.endswith("=") else (ahead and not equal)
    return _judgement(
        holds, left, right, f"{left:.6g} {relation} {right:.6g} is {'true' if holds else 'false'}"
    )


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
                raise _MissingNumbers("root of a negative number")
            return _FUNCTIONS[node.function](numbers)
        case Binary():
            operands = [_evaluated(node.left, scope), _evaluated(node.right, scope)]
            if node.operator == "/" and operands[1] == 0:
                raise _MissingNumbers("division by zero")
            value = _ARITHMETIC[node.operator](*operands)
        case _:
            value, operands = node, []
    if math.isnan(value) or (math.isinf(value) and all(map(math.isfinite, operands))):
        raise _MissingNumbers("the arithmetic leaves the range of numbers")
    return value


def _group(node: Group, scope: _Scope) -> float:
    variants = [variant for variant in scope.variants(node.setting) if node.has(variant)]
    if not variants:
        raise _MissingNumbers(f"the artifact has no row for {node}")
    return _PICK[node.function](scope.values(node.metric, variants, node.setting).values())


def _argopt(statement: Argopt, scope: _Scope) -> Judgement:
    variants = scope.variants(None)
    if statement.variant not in variants:
        raise _MissingNumbers(f"the artifact has no row {statement.variant}")
    value = scope.value(statement.metric, statement.variant, None)
    values = scope.values(statement.metric, variants, None)
    best = _PICK[statement.function](values, key=values.__getitem__)
    digits = scope.digits(statement.metric)
    holds = round(values[best], digits) == round(value, digits)
    return _judgement(holds, values[best], value, f"arg{statement.function} is {best}")


def _monotone(statement: Monotone, scope: _Scope) -> Judgement:
    key = statement.key
    values = list(
        scope.values(statement.metric, _along(statement, scope), statement.setting).items()
    )
    if len(values) < 2:
        raise _MissingNumbers(f"a trend needs two values of {key}, found {len(values)}")
    for (before, left), (after, right) in itertools.pairwise(values):
        wrong = left > right if statement.direction == "up" else left < right
        if wrong and not _equal(left, right):
            start, end = before.number(key), after.number(key)
            return _judgement(
                False, left, right, f"not {statement.direction} from {key}={start:g} to {end:g}"
            )
    return _judgement(
        True,
        values[0][1],
        values[-1][1],
        f"{statement.direction} over {len(values)} values of {key}",
    )


def _along(statement: Monotone, scope: _Scope) -> list[Variant]:
    """Rows along the hyper-parameter, sorted by it; the others must be fixed or equal."""
    key = statement.key
    variants = [variant for variant in scope.variants(statement.setting) if statement.has(variant)]
    values = {variant: variant.number(key) for variant in variants}
    if words := [value for value in values.values() if isinstance(value, str)]:
        raise _MissingNumbers(f"{key}={words[0]} is not a number")
    if len({tuple(pair for pair in variant.levels if pair[0] != key) for variant in variants}) > 1:
        raise _MissingNumbers(f"other hyper-parameters change along {key}")
    numbers = {
        variant: value for variant, value in values.items() if isinstance(value, int | float)
    }
    return sorted(numbers, key=numbers.__getitem__)


def _undominated(statement: Undominated, scope: _Scope) -> Judgement:
    named, setting = statement.variant, statement.setting
    signs = [1 if trend == "up" else -1 for _, trend in statement.criteria]
    scores = [scope.value(metric, named, setting) for metric in statement.metrics]
    values = [
        scope.values(metric, scope.variants(setting), setting) for metric in statement.metrics
    ]
    rivals = [
        variant
        for variant in values[0]
        if variant != named and all(variant in column for column in values)
    ]
    if not rivals:
        raise _MissingNumbers(f"the artifact has no row to hold {named} against")
    for rival in rivals:
        theirs = [column[rival] for column in values]
        ties = [_equal(score, other) for score, other in zip(scores, theirs, strict=True)]
        ahead = [
            sign * other > sign * score
            for sign, score, other in zip(signs, scores, theirs, strict=True)
        ]
        if all(map(operator.or_, ties, ahead)) and not all(ties):
            return _judgement(False, scores[0], theirs[0], f"dominated by {rival}")
    return _judgement(
        True, scores[0], scores[0], f"{len(rivals)} other rows are worse in something"
    )
