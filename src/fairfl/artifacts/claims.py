"""Claims of the papers: a small language, parsed into plain data; fairfl.artifacts.evaluation judges them.

comparison   gap_var(eagle, lambda=1.0) < min_over(gap_var, !eagle)     < <= > >= ==
             + - * / ( ) abs() min() max() over cells and numbers
cell         metric(algorithm[, key=value...])[@setting]
group        min_over(metric, selector)[@setting], max_over(...); selector: id | !id | *  over the artifact's rows
argopt       argmin gap_max == eagle(lambda=2.0)                         argmax likewise
trend        monotone(metric, algorithm, key, up|down[, key=value...])   non-strict
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput

from fairfl.artifacts.arms import Arm, arm
from fairfl.errors import FairflError

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
