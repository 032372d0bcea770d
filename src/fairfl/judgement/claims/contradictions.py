"""Where a paper's own numbers contradict each other: one quantity printed twice with different values, and relations
that should hold between numbers (`consistency` of papers/<paper>.yaml) and do not. Our numbers take no part.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from fairfl.experiments.consistency import Consistency
from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import NO_VARIANT, Cell, Cells, Key, digits_of, key_of, pooled
from fairfl.judgement.claims.evaluation import evaluate
from fairfl.judgement.claims.grammar import (
    CellOf,
    ClaimError,
    Comparison,
    Group,
    bound,
    nodes,
    parse,
)
from fairfl.judgement.units import half_unit, printed, printed_cell
from fairfl.runtime.validation import nearest

# In a relation: any variant of which the paper prints the number on the left.
ROW = "row"
# (artifact name, key of a number) -> what speaks against the number
Contradictions = dict[tuple[str, Key], list[str]]
_EXPECTED = {"==": "", ">=": "at least ", "<=": "at most "}


def contradictions(papers: Mapping[str, Paper], tables: Mapping[str, Cells]) -> Contradictions:
    """Contradictions within some papers; `tables` are their numbers by artifact name ('fedeba_table2').

    Raises ClaimError for a relation that is not a comparison, or names a setting that is not there.
    """
    texts: Contradictions = {}
    for name, paper in papers.items():
        book = _Book(
            name, paper, {key: table for key, table in tables.items() if key.startswith(f"{name}_")}
        )
        for place, text in (*book.printed_twice(), *book.unrelated()):
            texts.setdefault(place, []).append(text)
    return texts


@dataclass(frozen=True)
class _Book:
    """A paper and what its artifacts print."""

    name: str
    paper: Paper
    tables: dict[str, Cells]

    @property
    def digits(self) -> Callable[[str], int]:
        return digits_of(self.paper.metrics)

    # -- one quantity in several places -----------------------------------------------------------
    def printed_twice(self) -> Iterator[tuple[tuple[str, Key], str]]:
        """Numbers that other artifacts print with another value or spread: 'table12, table15: 33.39 ± 0.22'."""
        places: dict[Key, dict[str, Cell]] = {}
        for name, table in self.tables.items():
            for key, cell in table.cells.items():
                if cell.mean is not None:
                    places.setdefault(key, {})[name] = cell
        for key, cells in places.items():
            for name, printed_here in cells.items():
                others: dict[str, list[str]] = {}
                for other, cell in cells.items():
                    if self._differ(printed_here, cell, key[2]):
                        others.setdefault(self._text(cell, key[2]), []).append(
                            other.removeprefix(f"{self.name}_")
                        )
                if others:
                    yield (
                        (name, key),
                        "; ".join(f"{', '.join(names)}: {text}" for text, names in others.items()),
                    )

    def _differ(self, one: Cell, other: Cell, metric: str) -> bool:
        """True if two prints of a quantity differ by more than rounding, or their spreads do."""
        pairs = [(one.mean, other.mean), (one.std, other.std)]
        return any(
            a is not None
            and b is not None
            and abs(a - b) > half_unit(max(abs(a), abs(b)), one.unit, self.digits(metric))
            for a, b in pairs
        )

    def _text(self, cell: Cell, metric: str) -> str:
        return printed_cell(cell.mean, cell.unit, self.digits(metric), cell.std)

    # -- relations between quantities -------------------------------------------------------------
    def unrelated(self) -> Iterator[tuple[tuple[str, Key], str]]:
        """Numbers that do not satisfy a relation: '0.0938 expected: CV of the printed variance and accuracy'."""
        relations = [(relation, self._parsed(relation)) for relation in self.paper.consistency]
        for name, table in self.tables.items() if relations else ():
            values = pooled(name, self.tables)
            for relation, statement in relations:
                for setting, variant in self._places(relation, statement, table):
                    relates = bound(statement, ROW, variant)
                    if text := self._broken(relation, relates, values, setting):
                        sides = (relates.left, relates.right)
                        keys = (_key(side, setting) for side in sides if isinstance(side, CellOf))
                        yield from (((name, key), text) for key in keys if key in table.cells)

    def _places(
        self, relation: Consistency, statement: Comparison, table: Cells
    ) -> list[tuple[str, Variant]]:
        """(setting, variant) that a relation is about in a table; nameless if it names its numbers itself."""
        if not (_of_rows(statement) and isinstance(statement.left, CellOf)):
            return [(relation.setting or "", NO_VARIANT)]
        return [
            (setting, variant)
            for setting, variant, metric in table.cells
            if metric == statement.left.metric and relation.setting in (None, setting)
        ]

    def _broken(
        self, relation: Consistency, statement: Comparison, values: Cells, setting: str
    ) -> str:
        """Fault, in words; '' if the relation holds, or a number is missing or without end."""
        judgement = evaluate(statement, values, setting, (), self.digits)
        if (
            judgement.left is None
            or judgement.right is None
            or not math.isfinite(judgement.left - judgement.right)
        ):
            return ""
        slack, unit, digits = relation.within * abs(judgement.right), "", 6
        if isinstance(statement.left, CellOf):
            unit, digits = (
                values.cells[_key(statement.left, setting)].unit,
                self.digits(statement.left.metric),
            )
            slack += half_unit(judgement.left, unit, digits)
        near = abs(judgement.left - judgement.right) <= slack
        if (
            near
            if statement.relation == "=="
            else judgement.status == "supported" or (near and statement.relation != "!=")
        ):
            return ""
        text = relation.text or relation.expr
        least = _EXPECTED.get(statement.relation)
        if least is None or (least and isinstance(statement.right, CellOf)):
            return text  # it is said of both sides
        return f"{least}{printed(judgement.right, unit, digits)} expected: {text}"

    def _parsed(self, relation: Consistency) -> Comparison:
        where = f"papers/{self.name}.yaml: consistency"
        try:
            statement = parse(relation.expr, relation.id)
        except ClaimError as error:
            raise ClaimError(f"{where}: {error}") from None
        if not isinstance(statement, Comparison):
            raise ClaimError(
                f"{where}: claim {relation.id}: a trend or an optimum; expected a comparison"
            )
        rows = _of_rows(statement)
        if rows and statement.left not in rows:
            raise ClaimError(
                f"{where}: claim {relation.id}: the left side must be one number of `{ROW}`"
            )
        for node in (node for node, _ in nodes(statement) if isinstance(node, CellOf | Group)):
            if node.setting and node.setting not in self.paper.settings:
                hint = nearest(node.setting, self.paper.settings)
                raise ClaimError(f"{where}: claim {relation.id}: no setting {node.setting!r}{hint}")
            if not (rows or node.setting or relation.setting):
                raise ClaimError(
                    f"{where}: claim {relation.id}: no setting for {node.metric}; name one with @ or `setting`"
                )
        return statement


def _of_rows(statement: Comparison) -> list[CellOf]:
    """The numbers of `row`."""
    return [
        node
        for node, _ in nodes(statement)
        if isinstance(node, CellOf) and node.variant.algorithm == ROW
    ]


def _key(cell: CellOf, setting: str) -> Key:
    return key_of(cell.setting or setting, cell.variant, cell.metric)
