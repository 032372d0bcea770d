"""What `make lint` counts as a habit, and what it does not."""

from collections import Counter

import pytest

from tests import habits, words
from tests.budgets import lowered, risen

HABITS = [
    ('x = "a" * (n > 1)', "text or list times truth"),
    ("x = [a] * bool(a)", "text or list times truth"),
    ("def f(known): ...", "participle as a name"),
    ("x: dict[tuple[int, str, str], int]", "key of three parts"),
    ("display.why = lambda: 1", "callable set from outside"),
    ('def f():\n    """What it does."""', "docstring that does not begin with a noun or verb"),
    ("x: (\n    int  # of all\n) = 1", "comment in a bracket"),
]
NONE = ["x = 2 * (n > 1)", 'x = "a" * 3', "x = y.known", "x: dict[tuple[int, str], int]", "self.why = lambda: 1"]
NONE += ['def f():\n    """Whatsoever."""', "x = f(\n    1,  # of all\n)"]


@pytest.mark.parametrize(("text", "habits_found"), [(t, [h]) for t, h in HABITS] + [(t, []) for t in NONE])
def test_a_habit_is_counted_and_other_code_is_not(text, habits_found):
    assert [name for name, _ in habits.found_in(text)] == habits_found


def test_words_are_counted_whole_and_over_line_ends():
    found = words.counted(["made anew", "deal"], "It is made\nanew. A great deal, ideally.")
    assert found == Counter({"made anew": 1, "deal": 1})
    assert words.avoided("| instead of | write |\n|---|---|\n| `a b`, `c` | `d` |\n\n") == ["a b", "c"]


def test_no_count_may_rise_but_a_package_may_gain_what_another_has_lost():
    budgets = {"tokens": {"a": 5, "b": 5}, "words": {"docs": 1}, "habits": {"x": 1}}
    now = {"tokens": {"a": 7, "b": 3}, "words": {"docs": 1}, "habits": {"x": 0}}
    assert risen(now, budgets) == [] and lowered(now, budgets) == now
    heavier = {"tokens": {"a": 7, "b": 4}, "words": {"docs": 2}, "habits": {"x": 1, "y": 1}}
    found = [line.partition(",")[0] for line in risen(heavier, budgets)]
    assert found == ["tokens: a: 7", "words: docs: 2", "habits: y: 1"]
