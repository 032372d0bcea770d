"""Claims of the papers: a small language, parsed into plain data; fairfl.judgement.claims.evaluation judges them.

comparison   gap_var(eagle, lambda=1.0) < min_over(gap_var, !eagle)     < <= > >= == !=
             + - * / ( ) abs() min() max() sqrt() atan_deg() over cells and numbers; atan_deg: arc tangent in degrees
cell         metric(algorithm[, key=value...])[@setting]
group        min_over(metric, selector[, key=value...])[@setting], max_over(...) over the artifact's rows that have the
             values; selector: id | !id, !id, ... | *
argopt       argmin gap_max == eagle(lambda=2.0)                         argmax likewise
trend        monotone(metric, algorithm, key, up|down[, key=value...])   non-strict
dominance    undominated eagle(lambda=2.0): accuracy up, gap_var down    no row is as good in all and better in one

A key may have a dot: dp.sigma=2 is the parameter of a modifier.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from fairfl.experiments.variant import Variant
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import shown

GRAMMAR = r"""
    ?start: comparison | argopt | monotone | undominated
    comparison: sum RELATION sum
    argopt: ARGOPT IDENT EQUALS variant
    monotone: "monotone" "(" IDENT "," IDENT "," KEY "," TREND ("," pair)* ")" ["@" SETTING]
    undominated: "undominated" variant ":" criterion ("," criterion)* ["@" SETTING]
    criterion: IDENT TREND
    variant: IDENT ["(" [pair ("," pair)*] ")"]
    ?sum: product | sum (PLUS | MINUS) product -> binary
    ?product: unary | product (TIMES | DIVIDE) unary -> binary
    ?unary: atom | MINUS unary -> negative
    ?atom: NUMBER -> number
        | "(" sum ")"
        | (ABS | SQRT | ATAN) "(" sum ")" -> function
        | (MIN | MAX) "(" sum ("," sum)* ")" -> function
        | GROUP "(" IDENT "," selector ")" ["@" SETTING] -> group
        | IDENT "(" IDENT ("," pair)* ")" ["@" SETTING] -> cell
    selector: IDENT ("," pair)* -> included
        | TIMES ("," pair)* -> everything
        | exclusions ("," pair)* -> excluded
    exclusions: NOT IDENT | exclusions "," NOT IDENT
    pair: KEY "=" value
    value: [MINUS] NUMBER | IDENT

    RELATION: "<=" | ">=" | "!=" | "<" | ">" | EQUALS
    EQUALS: "=="
    ARGOPT.2: /arg(min|max)\b/
    GROUP.2: /(min|max)_over\b/
    TREND.2: /(up|down)\b/
    ABS: "abs"
    SQRT: "sqrt"
    ATAN: "atan_deg"
    MIN: "min"
    MAX: "max"
    PLUS: "+"
    MINUS: "-"
    TIMES: "*"
    DIVIDE: "/"
    NOT: "!"
    IDENT: /[A-Za-z_][A-Za-z0-9_]*/
    KEY: /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?/
    SETTING: /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*/
    NUMBER: /([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/
    %ignore /[ \t\r\n]+/
"""
# What an error message calls a token; others are shown as they are written.
_SPOKEN = {
    "IDENT": "a name", "KEY": "a name", "NUMBER": "a number", "SETTING": "a setting",
    "RELATION": "one of < <= > >= == !=",
    "TREND": "up or down", "ARGOPT": "argmin or argmax", "GROUP": "min_over or max_over", "$END": "the end",
}  # fmt: skip
_MAX_DEPTH = 100  # evaluation recurses; Python stops at about 1000
_MAX_LENGTH = 10_000  # characters; a list of names takes quadratic time


class ClaimError(FairflError):
    """A claim that is not written in the grammar. The message names claim, column and what was expected."""


class Speaking:
    """Base of what speaks of numbers in a setting, its own or the claim's: of a variant unless it says otherwise."""

    metric: str
    variant: Variant
    setting: str | None = None

    @property
    def metrics(self) -> list[str]:
        """The metrics in it."""
        return [self.metric]

    def has(self, variant: Variant) -> bool:
        """True if a row is meant."""
        return variant == self.variant

    @property
    def algorithms(self) -> list[str]:
        """The names of algorithms in it."""
        return [self.variant.algorithm]

    def __str__(self) -> str:
        return str(self.variant)


@dataclass(frozen=True)
class CellOf(Speaking):
    metric: str
    variant: Variant
    setting: str | None


@dataclass(frozen=True)
class Group(Speaking):
    """Over the rows of an algorithm ('': of any but those `excluded`) that have the values of `variant`."""

    function: Literal["min", "max"]
    metric: str
    excluded: tuple[str, ...]
    variant: Variant
    setting: str | None

    def has(self, variant: Variant) -> bool:
        named = self.variant.algorithm in ("", variant.algorithm)
        return named and variant.algorithm not in self.excluded and variant.includes(self.variant)

    @property
    def algorithms(self) -> list[str]:
        return [*filter(None, [self.variant.algorithm]), *self.excluded]

    def __str__(self) -> str:
        """'!fedavg(q=1)'."""
        excluded = ", ".join(f"!{name}" for name in self.excluded)
        return str(self.variant.of(self.variant.algorithm or excluded or "*"))


@dataclass(frozen=True)
class Call:
    function: Literal["abs", "sqrt", "atan_deg", "min", "max"]
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
    relation: Literal["<", "<=", ">", ">=", "==", "!="]
    right: Expression


@dataclass(frozen=True)
class Argopt(Speaking):
    function: Literal["min", "max"]
    metric: str
    variant: Variant


@dataclass(frozen=True)
class Monotone(Speaking):
    """Along the values of `key`, over the rows of the algorithm that have the values of `variant`."""

    metric: str
    key: str
    direction: Literal["up", "down"]
    variant: Variant
    setting: str | None

    def has(self, variant: Variant) -> bool:
        named = variant.algorithm == self.variant.algorithm and variant.number(self.key) is not None
        return named and variant.includes(self.variant)

    def __str__(self) -> str:
        """'qffl(steps=2) with q'."""
        return f"{self.variant} with {self.key}"


@dataclass(frozen=True)
class Undominated(Speaking):
    variant: Variant
    criteria: tuple[tuple[str, Literal["up", "down"]], ...]  # metric, where better is
    setting: str | None

    @property
    def metrics(self) -> list[str]:
        return [metric for metric, _ in self.criteria]


Statement = Comparison | Argopt | Monotone | Undominated


# -- parsing ----------------------------------------------------------------------------------
def _variant(algorithm: str, pairs: Iterable[tuple[Token, str] | None]) -> Variant:
    """The variant with hyper-parameters from pairs; FairflError with the column of a duplicated key."""
    values: dict[str, str] = {}
    for key, value in filter(None, pairs):
        if key in values:
            raise FairflError(
                f"column {(key.start_pos or 0) + 1}: found {shown(str(key.value))} again, expected another key"
            )
        values[key.value] = value
    return Variant(algorithm, values)


_Selector = tuple[tuple[str, ...], Variant]


@v_args(inline=True)
class _Builder(Transformer):
    """Builds the syntax tree while parsing, so that no recursion over a deep parse tree happens."""

    ABS = SQRT = ATAN = MIN = MAX = PLUS = MINUS = TIMES = DIVIDE = RELATION = str
    IDENT = SETTING = TREND = str
    number, comparison = float, Comparison

    def binary(self, left: Expression, sign: Any, right: Expression) -> Binary:
        return Binary(sign, left, right)

    def negative(self, minus: Any, operand: Expression) -> Binary:
        return Binary(minus, 0.0, operand)

    def function(self, name: Any, *arguments: Expression) -> Call:
        return Call(name, arguments)

    def group(self, name: Any, metric: str, selector: _Selector, setting: str | None) -> Group:
        return Group(name.removesuffix("_over"), metric, *selector, setting)

    def included(self, algorithm: str, *pairs: Any) -> _Selector:
        return (), _variant(algorithm, pairs)

    def everything(self, star: str, *pairs: Any) -> _Selector:
        return (), _variant("", pairs)

    def excluded(self, names: tuple[str, ...], *pairs: Any) -> _Selector:
        return names, _variant("", pairs)

    def exclusions(self, *parts: Any) -> tuple[str, ...]:
        return (*(parts[0] if isinstance(parts[0], tuple) else ()), parts[-1])

    def cell(self, metric: str, algorithm: str, *rest: Any) -> CellOf:
        return CellOf(metric, _variant(algorithm, rest[:-1]), rest[-1])

    def variant(self, algorithm: str, *pairs: Any) -> Variant:
        return _variant(algorithm, pairs)

    def pair(self, key: Token, value: str) -> tuple[Token, str]:
        return key, value

    def value(self, *parts: str | None) -> str:
        return "".join(filter(None, parts))

    def argopt(self, function: Any, metric: str, _: Token, variant: Variant) -> Argopt:
        return Argopt(function.removeprefix("arg"), metric, variant)

    def monotone(self, metric: str, algorithm: str, key: Token, trend: Any, *rest: Any) -> Monotone:
        return Monotone(metric, key.value, trend, _variant(algorithm, rest[:-1]), rest[-1])

    def undominated(self, variant: Variant, *rest: Any) -> Undominated:
        return Undominated(variant, rest[:-1], rest[-1])

    def criterion(self, metric: str, trend: str) -> tuple[str, str]:
        return metric, trend


@cache
def _parser() -> Lark:
    return Lark(GRAMMAR, parser="lalr", transformer=_Builder(), maybe_placeholders=True)


@cache
def _statement(text: str) -> Any:
    """Result of the builder, no tree."""
    return _parser().parse(text)


def parse(text: str, claim: str) -> Statement:
    """Parse one claim. Raises ClaimError with the claim's id, the column and what was expected there."""
    if len(text) > _MAX_LENGTH:
        raise ClaimError(f"claim {claim}: {len(text)} characters, expected {_MAX_LENGTH} at most")
    try:
        statement = _statement(text)
    except (UnexpectedCharacters, UnexpectedToken) as error:
        raise ClaimError(f"claim {claim}: {_unexpected(text, error)}") from None
    except FairflError as error:
        raise ClaimError(f"claim {claim}: {error}") from None
    if max(depth for _, depth in nodes(statement)) > _MAX_DEPTH:
        raise ClaimError(f"claim {claim}: nested more than {_MAX_DEPTH} deep")
    return statement


def _unexpected(text: str, error: UnexpectedCharacters | UnexpectedToken) -> str:
    if isinstance(error, UnexpectedCharacters):
        position, expected = error.pos_in_stream or 0, error.allowed
        actual = shown(text[position])
    else:
        token, expected = error.token, error.expected
        ended = token.type == "$END"
        position, actual = (
            (len(text), "the end") if ended else (token.start_pos or 0, shown(str(token.value)))
        )
    names = sorted(
        _SPOKEN.get(name) or repr(_parser().get_terminal(name).pattern.value) for name in expected
    )
    return f"column {position + 1}: found {actual}, expected {' or '.join(names)}"


def nodes(statement: Statement) -> Iterator[tuple[Any, int]]:
    """The statement and every expression in it but numbers, with their depths; without recursion."""
    stack: list[tuple[Any, int]] = [(statement, 1)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        for item in fields(node):
            value = getattr(node, item.name)
            inside = value if isinstance(value, tuple) else (value,)
            stack.extend(
                (part, depth + 1)
                for part in inside
                if isinstance(part, CellOf | Group | Call | Binary)
            )


def bound(node: Any, name: str, variant: Variant) -> Any:
    """An expression or comparison in which `name`, written without hyper-parameters, stands for a variant."""
    if isinstance(node, CellOf):
        return replace(node, variant=variant) if node.variant == Variant(name, {}) else node
    if isinstance(node, Call):
        return replace(node, arguments=tuple(bound(part, name, variant) for part in node.arguments))
    if isinstance(node, Binary | Comparison):
        sides = {side: bound(getattr(node, side), name, variant) for side in ("left", "right")}
        return replace(node, **sides)
    return node
