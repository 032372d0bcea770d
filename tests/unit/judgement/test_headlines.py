"""What a paper's method gains, ours and as printed; numbers that a paper prints more than once."""

from dataclasses import replace

import pytest

from fairfl.experiments.config import VerdictConfig
from fairfl.experiments.paper import Headline, Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cell, Cells
from fairfl.judgement.headlines import Change, SelfConsistency, changes, self_consistency
from fairfl.reporting.headlines import with_itself
from tests.unit.reporting import demo
from tests.unit.rows import compared

HEADLINE = Headline(
    setting="x", method={"algorithm": "fedfv", "hyperparameters": {"alpha": 0.5}}, baseline={"algorithm": "fedavg"},
    fairness="std", utility="acc", source="abstract",
)  # fmt: skip


def line(algorithm, hyperparameters, metric, ours, reported, seeds="2", setting="x", by_seed=""):
    return compared({
        "ours_by_seed": by_seed,
        "setting": setting, "algorithm": algorithm, "hyperparameters": hyperparameters, "metric": metric, "ours": ours,
        "reported": reported, "seeds": seeds, "reported_seeds": "5",
    })  # fmt: skip


LINES = [
    line("fedavg", "", "std", "11", "12"),
    line("fedfv", "alpha=0.5", "std", "2", "3", "1"),
    line("fedfv", "alpha=0.9", "std", "9", "9"),
    line("fedavg", "", "acc", "80", "81", setting="other"),
    line("fedavg", "", "acc", "81", "80"),
    line("fedfv", "alpha=0.5", "acc", "81.5", "79"),
    line("fedfv", "alpha=0.5", "acc", "70", "70"),  # another table: the first counts
]


def test_the_method_is_held_against_the_baseline_in_one_setting():
    both = changes(HEADLINE, LINES)
    assert both == {"ours": Change(11, 2, 0.5, 1), "reported": Change(12, 3, -1, 5)}


def test_ours_are_held_against_each_other_over_the_seeds_that_both_have():
    """The baseline has 11 over seeds 0 and 1, of which the method has the first: 12 there. Without a common one: 11."""
    method = line("fedfv", "alpha=0.5", "std", "2", "3", "1", by_seed="0:2")
    lines = [line("fedavg", "", "std", "11", "12", by_seed="0:12;1:10"), method]
    assert changes(HEADLINE, lines) == {"ours": Change(12, 2, None, 1), "reported": Change(12, 3, None, 5)}
    lines[1] = replace(method, ours_by_seed="7:2")
    assert changes(HEADLINE, lines)["ours"] == Change(11, 2, None, 1)


def test_a_number_that_is_not_there_is_none():
    both = changes(HEADLINE, [LINES[0], LINES[4], line("fedfv", "alpha=0.5", "std", "", "3", "0")])
    assert both["ours"] == Change(11, None, None, 2) and both["reported"] == Change(12, 3, None, 5)


TABLE = {"kind": "table", "title": "T", "caption": "c", "settings": ["x"], "columns": ["acc"]}
TABLE["rows"] = [{"algorithm": "fedavg"}]
PAPER = {
    **demo.PAPER,
    "metrics": {"acc": {"name": "Ave.", "meaning": "mean", "unit": "percent", "digits": 1}},
    "algorithms": {"fedavg": {"title": "FedAvg"}},
    "settings": {"x": demo.SETTING},
    "artifacts": {"table1": TABLE, "table2": TABLE, "table3": TABLE | {"in_paper": False}},
}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((80.0, 0.5), (80.0, 0.1), SelfConsistency(1, 0, 0)),
        ((80.0, None), (80.9, None), SelfConsistency(1, 1, 1)),  # within one point: close
        ((80.0, None), (81.5, None), SelfConsistency(1, 1, 0)),
        ((80.0, None), (None, None), SelfConsistency(0, 0, 0)),
    ],
)
def test_two_prints_of_a_number_are_held_against_each_other(first, second, found):
    place = ("x", Variant("fedavg", {}), "acc")
    tables = {
        f"demo_table{n}": Cells({place: Cell(mean, std, unit="percent", spread_kind="std")})
        for n, (mean, std) in enumerate((first, second, (10.0, None)), 1)
    }
    assert self_consistency("demo", Paper(**PAPER), tables, VerdictConfig()) == found


def test_rows_that_are_equal_in_effect_are_held_against_each_other():
    """Two seeds each, 80 +- 0.5 and 82.6 +- 0.5. Divided by two, s^2 = 2 (0.5^2 + 0.5^2) / 2 = 0.5 of two degrees,
    whose t is 4.302653, so 3.04 + 0.1 is allowed: they agree. Divided by one, s^2 = 0.25 and 2.15 + 0.1: they do not;
    nor with eight seeds that the text states, s^2 = 0.25 of 14 degrees and 0.54 + 0.1. 83.3 of the third never agrees
    with the first; 0.7 from the second, it is close without any noise."""
    rows = [{"algorithm": "fedavg"}, *({"algorithm": "qffl", "hyperparameters": {"q": q}} for q in (0.1, 0.2))]
    group = {"setting": "x", "rows": rows, "source": "inferred: small q"}
    algorithms = PAPER["algorithms"] | {"qffl": {"title": "q-FFL", "sources": {"q": "paper"}}}
    variants = [Variant("fedavg", {}), Variant("qffl", {"q": 0.1}), Variant("qffl", {"q": 0.2})]
    for kind, stated, agree, strict in (
        ("population std", None, 2, 2),
        ("std", None, 1, 1),
        ("population std", 8, 2, 1),
    ):
        settings = {"x": demo.SETTING | {"stated_seeds": stated}}
        paper = Paper(**PAPER | {"algorithms": algorithms, "settings": settings, "equivalent_rows": [group]})
        numbers = zip(variants, ((80.0, 0.5), (82.6, 0.5), (83.3, 0.5)), strict=True)
        cells = {("x", v, "acc"): Cell(mean, std, unit="percent", spread_kind=kind) for v, (mean, std) in numbers}
        found = self_consistency("demo", paper, {"demo_table1": Cells(cells)}, VerdictConfig())
        assert found == SelfConsistency(alike=3, alike_near=agree, alike_strict=strict)
    assert with_itself(found) == "67 % (33 %, strict rule) of 3 pairs of rows equal in effect; prints nothing twice"
