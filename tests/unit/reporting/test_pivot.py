"""Pivots of an artifact's numbers: order, rules, brackets, and two numbers in one cell."""

import pytest

from fairfl.experiments.layout import Layout
from fairfl.experiments.variant import Variant
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.pivot import frame_of, pivots_of, spans
from fairfl.runtime.errors import FairflError

AFL, TERM = ShownRow(Variant("afl", {}), "AFL"), ShownRow(Variant("term", {}), "TERM", ruled=True)
LATER = ShownRow(Variant("term", {"t": 2}), "TERM", printed="TERM")  # the same name in another setting


class Artifact:
    settings, columns = ["one", "two"], ["acc", "gain"]

    def __init__(self, **layout):
        self.layout = Layout(**layout)


def pivots(numbers, rows=(AFL, TERM), **layout):
    return pivots_of(Artifact(**layout), frame_of(Artifact(), rows, [(*place, n) for n, place in enumerate(numbers)]))


def texts(pivot):
    return pivot.lines(lambda *numbers: "+".join(map(str, numbers)), str)


def test_lines_and_columns_stand_in_the_papers_order_and_a_rule_is_where_it_draws_one_or_a_setting_ends():
    numbers = [("two", TERM, "acc"), ("two", AFL, "gain"), ("one", TERM, "gain"), ("two", AFL, "acc")]
    (pivot,) = pivots(numbers)
    assert list(pivot.cells.index) == [("one", "TERM"), ("two", "AFL"), ("two", "TERM")]
    assert pivot.corner == ["Dataset", "Algorithm"] and texts(pivot) == [["", "2"], ["3", "1"], ["0", ""]]
    assert pivot.rules == {0, 1, 2}
    (turned,) = pivots(numbers, down=["metric"], across=["row", "setting"])
    assert list(turned.cells.columns) == [("AFL", "two"), ("TERM", "one"), ("TERM", "two")] and turned.rules == set()
    assert spans(list(turned.cells.columns)) == [[("AFL", 1), ("TERM", 2)], [("two", 1), ("one", 1), ("two", 1)]]


def test_a_row_stands_where_its_own_setting_has_it():
    rows = [LATER, AFL, TERM]
    numbers = [("one", LATER, "acc"), ("one", AFL, "acc"), ("two", AFL, "acc"), ("two", TERM, "acc")]
    (pivot,) = pivots(numbers, rows)
    assert list(pivot.cells.index) == [("one", "TERM"), ("one", "AFL"), ("two", "AFL"), ("two", "TERM")]
    (turned,) = pivots(
        [("one", AFL, "acc"), ("one", LATER, "acc"), ("two", TERM, "acc")], rows, down=["row", "setting"]
    )
    assert list(turned.cells.index) == [("TERM", "one"), ("TERM", "two"), ("AFL", "one")]  # by the first of its rows
    heads = pivot.heads(pivot.cells.index, {}, {"one": "1"}, {AFL: {"assumed"}})
    assert [(setting.name, row.row, row.marks) for setting, row in heads] == [
        ("1", LATER, ""), ("1", AFL, "ᵃ"), ("two", AFL, "ᵃ"), ("two", TERM, ""),
    ]  # fmt: skip
    assert not any(setting.row or setting.marks for setting, _ in heads)


def test_a_metric_in_brackets_stands_behind_its_own_and_blocks_are_tables_of_their_own():
    numbers = [("one", AFL, "gain"), ("one", AFL, "acc"), ("two", AFL, "acc")]
    first, second = pivots(numbers, brackets={"acc": "gain"}, blocks=[["one"], ["two"]])
    assert (texts(first), texts(second)) == ([["1+0"]], [["2"]])


def test_two_numbers_in_one_cell_are_refused():
    with pytest.raises(FairflError, match=r"two rows are called 'TERM'; give them a `title` each \(one: acc\)"):
        pivots([("one", TERM, "acc"), ("one", LATER, "acc")], [TERM, LATER])
