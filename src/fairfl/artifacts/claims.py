"""Claims of the papers: a small language, parsed into plain data and evaluated on a table of values.

    comparison   gap_var(eagle, lambda=1.0) < min_over(gap_var, !eagle)     < <= > >= ==
                 + - * / ( ) abs() min() max() over cells and numbers
    cell         metric(algorithm[, key=value...])[@setting]
    group        min_over(metric, selector)[@setting], max_over(...); selector: id | !id | *  over the artifact's rows
    argopt       argmin gap_max == eagle(lambda=2.0)                         argmax likewise
    trend        monotone(metric, algorithm, key, up|down[, key=value...])   non-strict

Ties: `==` and argopt hold when both sides print alike (`Metric.digits`); `<=`, `>=` and trends forgive
rounding errors of the arithmetic only, and `<`, `>` ask for more than such an error.
"""

import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput

from fairfl.artifacts.values import Arm, Values, arm, arm_text
from fairfl.errors import FairflError
from fairfl.spec.paper import Row

GRAMMAR = r"""
    ?start: comparison | argopt | monotone
    comparison: sum RELATION sum
    argopt: ARGOPT IDENT EQUALS arm
    monotone: "monotone" "(" IDENT "," IDENT "," IDENT "," TREND ("," pair)* ")" ["@" SETTING]
    arm: IDENT ["(" [pair ("," pair)*] ")"]
    ?sum: product | sum (PLUS | MINUS) product -> binary
    ?product: unary | product (TIMES | DIVIDE) unary -> binary
    ?unary: atom | MINUS unary -> negative
    ?atom: NUMBER -> number
        | "(" sum ")"
        | ABS "(" sum ")" -> function
        | (MIN | MAX) "(" sum ("," sum)* ")" -> function
        | GROUP "(" IDENT "," selector ")" ["@" SETTING] -> group
        | IDENT "(" IDENT ("," pair)* ")" ["@" SETTING] -> cell
    selector: [NOT] IDENT | TIMES
    pair: IDENT "=" level
    level: [MINUS] NUMBER | IDENT

    RELATION: "<=" | ">=" | "<" | ">" | EQUALS
    EQUALS: "=="
    ARGOPT.2: /arg(min|max)\b/
    GROUP.2: /(min|max)_over\b/
    TREND.2: /(up|down)\b/
    ABS: "abs"
    MIN: "min"
    MAX: "max"
    PLUS: "+"
    MINUS: "-"
    TIMES: "*"
    DIVIDE: "/"
    NOT: "!"
    IDENT: /[A-Za-z_][A-Za-z0-9_]*/
    SETTING: /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*/
    NUMBER: /([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/
    %ignore /[ \t\r\n]+/
"""
# What an error message calls a token; others are shown as they are written.
_SPOKEN = {
    "IDENT": "a name", "NUMBER": "a number", "SETTING": "a setting", "RELATION": "one of < <= > >= ==",
    "TREND": "up or down", "ARGOPT": "argmin or argmax", "GROUP": "min_over or max_over", "$END": "the end",
}  # fmt: skip
_PICK: dict[str, Callable[..., Any]] = {"min": min, "max": max}
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_MAX_DEPTH = 100  # evaluation recurses; Python stops at about 1000


class ClaimError(FairflError):
    """A claim that is not written in the grammar. The message names claim, column and what was expected."""


@dataclass(frozen=True)
class CellOf:
    metric: str
    algorithm: str
    arm: Arm
    setting: str | None


@dataclass(frozen=True)
class Group:
    """Over the rows of one algorithm, of all others (`excluded`), or all rows (`algorithm` is None)."""

    function: Literal["min", "max"]
    metric: str
    algorithm: str | None
    excluded: bool
    setting: str | None


@dataclass(frozen=True)
class Call:
    function: Literal["abs", "min", "max"]
    arguments: tuple["Expression", ...]


@dataclass(frozen=True)
class Binary:
    operator: Literal["+", "-", "*", "/"]
    left: "Expression"
    right: "Expression"


Expression = float | CellOf | Group | Call | Binary


@dataclass(frozen=True)
class Comparison:
    left: Expression
    relation: Literal["<", "<=", ">", ">=", "=="]
    right: Expression


@dataclass(frozen=True)
class Argopt:
    function: Literal["min", "max"]
    metric: str
    algorithm: str
    arm: Arm


@dataclass(frozen=True)
class Monotone:
    metric: str
    algorithm: str
    key: str
    direction: Literal["up", "down"]
    fixed: Arm
    setting: str | None


Statement = Comparison | Argopt | Monotone
Line = tuple[str, Arm]  # a row of the artifact


@dataclass(frozen=True)
class Judgement:
    """`left`, `right`: both sides; argopt: the best and the named row; trend: where it breaks, or both ends."""

    status: Literal["holds", "fails", "undecidable"]
    left: float | None
    right: float | None
    reason: str


# -- parsing ----------------------------------------------------------------------------------
def _arm(pairs: Iterable[tuple[Token, str] | None]) -> Arm:
    """Hyper-parameters from pairs; FairflError with the column of a key that stands twice."""
    found: dict[str, str] = {}
    for key, level in filter(None, pairs):
        if key in found:
            raise FairflError(f"column {key.start_pos + 1}: found {key.value!r} again, expected another key")
        found[key.value] = level
    return arm(found)


@v_args(inline=True)
class _Builder(Transformer):
    """Builds the syntax tree while parsing, so that no recursion over a deep parse tree happens."""

    def number(self, text: Token) -> float:
        return float(text)

    def binary(self, left: Expression, sign: Token, right: Expression) -> Binary:
        return Binary(str(sign), left, right)

    def negative(self, minus: Token, operand: Expression) -> Binary:
        return Binary(str(minus), 0.0, operand)

    def function(self, name: Token, *arguments: Expression) -> Call:
        return Call(str(name), arguments)

    def group(self, name: Token, metric: Token, selector: tuple[str | None, bool], setting: Token | None) -> Group:
        return Group(name.removesuffix("_over"), str(metric), *selector, setting and str(setting))

    def selector(self, *parts: Token | None) -> tuple[str | None, bool]:
        return (None, False) if parts == ("*",) else (str(parts[1]), parts[0] is not None)

    def cell(self, metric: Token, algorithm: Token, *rest: Any) -> CellOf:
        return CellOf(str(metric), str(algorithm), _arm(rest[:-1]), rest[-1] and str(rest[-1]))

    def arm(self, algorithm: Token, *pairs: Any) -> tuple[str, Arm]:
        return str(algorithm), _arm(pairs)

    def pair(self, key: Token, level: str) -> tuple[Token, str]:
        return key, level

    def level(self, *parts: Token | None) -> str:
        return "".join(part for part in parts if part is not None)

    def comparison(self, left: Expression, relation: Token, right: Expression) -> Comparison:
        return Comparison(left, str(relation), right)

    def argopt(self, function: Token, metric: Token, _: Token, named: tuple[str, Arm]) -> Argopt:
        return Argopt(function.removeprefix("arg"), str(metric), *named)

    def monotone(self, metric: Token, algorithm: Token, key: Token, trend: Token, *rest: Any) -> Monotone:
        words = [str(word) for word in (metric, algorithm, key, trend)]
        return Monotone(*words, _arm(rest[:-1]), rest[-1] and str(rest[-1]))


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", transformer=_Builder(), maybe_placeholders=True)


def parse(text: str, claim: str) -> Statement:
    """Parse one claim. Raises ClaimError with the claim's id, the column and what was expected there."""
    try:
        statement = _parser().parse(text)
    except UnexpectedInput as error:
        raise ClaimError(f"claim {claim}: {_unexpected(text, error)}") from None
    except FairflError as error:
        raise ClaimError(f"claim {claim}: {error}") from None
    if max(depth for _, depth in nodes(statement)) > _MAX_DEPTH:
        raise ClaimError(f"claim {claim}: nested more than {_MAX_DEPTH} deep")
    return statement


def _unexpected(text: str, error: UnexpectedInput) -> str:
    if isinstance(error, UnexpectedCharacters):
        position, wanted = error.pos_in_stream, error.allowed
        found = repr(text[position])
    else:
        token, wanted = error.token, error.expected
        ended = token.type == "$END"
        position, found = (len(text), "the end") if ended else (token.start_pos, repr(token.value))
    names = sorted(_SPOKEN.get(name) or repr(_parser().get_terminal(name).pattern.value) for name in wanted)
    return f"column {position + 1}: found {found}, expected {' or '.join(names)}"


def nodes(statement: Statement) -> Iterator[tuple[Any, int]]:
    """The statement and every expression in it but numbers, with their depths; without recursion."""
    stack: list[tuple[Any, int]] = [(statement, 1)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        for item in fields(node):
            value = getattr(node, item.name)
            inside = value if isinstance(value, tuple) else (value,)
            stack.extend((part, depth + 1) for part in inside if isinstance(part, CellOf | Group | Call | Binary))


# -- evaluation -------------------------------------------------------------------------------
class _Undecidable(Exception):
    """No verdict; the message says what is missing."""


@dataclass(frozen=True)
class _Scope:
    """What names in a claim refer to."""

    values: Values
    setting: str | None
    rows: tuple[Line, ...]
    digits: Callable[[str], int]

    def value(self, metric: str, algorithm: str, levels: Arm, setting: str | None) -> float:
        where = self.where(setting)
        cell = self.values.find(where, algorithm, levels, metric)
        if cell is None or cell.mean is None:
            raise _Undecidable(self.values.missing(where, algorithm, levels, metric))
        return cell.mean

    def where(self, setting: str | None) -> str:
        if setting or self.setting:
            return setting or self.setting
        raise _Undecidable("the claim names no setting and its artifact has several")

    def present(self, metric: str, rows: Iterable[Line], setting: str | None) -> list[tuple[str, Arm, float]]:
        """Values of some rows; empty cells are an obstacle unless the table allows to skip them."""
        found = []
        for algorithm, levels in rows:
            try:
                found.append((algorithm, levels, self.value(metric, algorithm, levels, setting)))
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
    scope = _Scope(values, setting, tuple((row.algorithm, arm(row.hyperparameters)) for row in rows), digits)
    judge = {Comparison: _comparison, Argopt: _argopt, Monotone: _monotone}[type(statement)]
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
    if relation == "==":
        used = [scope.digits(node.metric) for node, _ in nodes(statement) if hasattr(node, "metric")]
        holds = equal or bool(used) and round(left, min(used)) == round(right, min(used))
    else:
        ahead = left < right if relation[0] == "<" else left > right
        holds = (equal or ahead) if relation.endswith("=") else (ahead and not equal)
    return _judgement(holds, left, right, f"{left:.6g} {relation} {right:.6g} is {'true' if holds else 'false'}")


def _evaluated(node: Expression, scope: _Scope) -> float:
    match node:
        case CellOf():
            value = scope.value(node.metric, node.algorithm, node.arm, node.setting)
        case Group():
            value = _group(node, scope)
        case Call():
            numbers = [_evaluated(argument, scope) for argument in node.arguments]
            value = abs(numbers[0]) if node.function == "abs" else _PICK[node.function](numbers)
        case Binary():
            left, right = _evaluated(node.left, scope), _evaluated(node.right, scope)
            if node.operator == "/" and right == 0:
                raise _Undecidable("division by zero")
            value = _ARITHMETIC[node.operator](left, right)
        case _:
            value = node
    if not math.isfinite(value):
        raise _Undecidable("the arithmetic leaves the range of numbers")
    return value


def _group(node: Group, scope: _Scope) -> float:
    rows = [row for row in scope.rows if node.algorithm is None or (row[0] == node.algorithm) != node.excluded]
    if not rows:
        raise _Undecidable(f"the artifact has no row for {'!' * node.excluded}{node.algorithm or '*'}")
    return _PICK[node.function](value for _, _, value in scope.present(node.metric, rows, node.setting))


def _argopt(statement: Argopt, scope: _Scope) -> Judgement:
    named = (statement.algorithm, statement.arm)
    if named not in scope.rows:
        raise _Undecidable(f"the artifact has no row {arm_text(*named)}")
    value = scope.value(statement.metric, *named, None)
    found = scope.present(statement.metric, scope.rows, None)
    best = _PICK[statement.function](found, key=lambda item: item[2])
    digits = scope.digits(statement.metric)
    holds = round(best[2], digits) == round(value, digits)
    return _judgement(holds, best[2], value, f"arg{statement.function} is {arm_text(*best[:2])}")


def _monotone(statement: Monotone, scope: _Scope) -> Judgement:
    key, rows = statement.key, [(statement.algorithm, levels) for _, levels in _points(statement, scope)]
    found = scope.present(statement.metric, rows, statement.setting)
    if len(found) < 2:
        raise _Undecidable(f"a trend needs two values of {key}, found {len(found)}")
    for (_, before, left), (_, after, right) in zip(found, found[1:], strict=False):
        wrong = left > right if statement.direction == "up" else left < right
        if wrong and not _equal(left, right):
            start, end = dict(before)[key], dict(after)[key]
            return _judgement(False, left, right, f"not {statement.direction} from {key}={start:g} to {end:g}")
    return _judgement(True, found[0][2], found[-1][2], f"{statement.direction} over {len(found)} values of {key}")


def _points(statement: Monotone, scope: _Scope) -> list[tuple[float, Arm]]:
    """Rows along the hyper-parameter, sorted by it; the others must be fixed or equal."""
    fixed, key = set(statement.fixed), statement.key
    points = [
        (dict(levels)[key], levels)
        for algorithm, levels in scope.rows
        if algorithm == statement.algorithm and key in dict(levels) and fixed <= set(levels)
    ]
    words = [value for value, _ in points if isinstance(value, str)]
    if words:
        raise _Undecidable(f"{key}={words[0]} is not a number")
    if len({tuple(pair for pair in levels if pair[0] != key) for _, levels in points}) > 1:
        raise _Undecidable(f"other hyper-parameters change along {key}")
    return sorted(points)
