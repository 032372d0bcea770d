"""What a paper's method gains, ours and as printed; numbers that a paper prints more than once."""

import pytest

from fairfl.experiments.config import Verdict
from fairfl.experiments.paper import Headline, Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cell, Cells
from fairfl.judgement.headlines import Change, Reprints, changes, reprints
from tests.unit.reporting import demo

HEADLINE = Headline(
    setting="x", method={"algorithm": "fedfv", "hyperparameters": {"alpha": 0.5}}, baseline={"algorithm": "fedavg"},
    fairness="std", utility="acc", source="abstract",
)  # fmt: skip


def line(algorithm, hyperparameters, metric, ours, reported, seeds="2", setting="x"):
    return {
        "setting": setting, "algorithm": algorithm, "hyperparameters": hyperparameters, "metric": metric, "ours": ours,
        "reported": reported, "seeds": seeds, "reported_seeds": "5",
    }  # fmt: skip


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
    "artifacts": {"table1": TABLE, "table2": TABLE, "table3": TABLE | {"ours": True}},
}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ((80.0, 0.5), (80.0, 0.1), Reprints(1, 0, 0)),
        ((80.0, None), (80.9, None), Reprints(1, 1, 1)),  # within one point: close
        ((80.0, None), (81.5, None), Reprints(1, 1, 0)),
        ((80.0, None), (None, None), Reprints(0, 0, 0)),
    ],
)
def test_two_prints_of_a_number_are_held_against_each_other(first, second, found):
    place = ("x", Variant("fedavg", {}), "acc")
    tables = {
        f"demo_table{n}": Cells({place: Cell(mean, std, unit="percent", spread_kind="std")})
        for n, (mean, std) in enumerate((first, second, (10.0, None)), 1)
    }
    assert reprints("demo", Paper(**PAPER), tables, Verdict()) == found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"setting": "y"}, "headline.setting: unknown 'y'"),
        ({"method": {"algorithm": "fedavgg"}}, "headline.method: unknown 'fedavgg'; did you mean 'fedavg'"),
        ({"utility": "ac"}, "headline.utility: unknown 'ac'; did you mean 'acc'"),
    ],
)
def test_a_headline_names_what_the_paper_has(change, words):
    headline = {"setting": "x", "method": {"algorithm": "fedavg"}, "baseline": {"algorithm": "fedavg"}}
    headline |= {"fairness": "acc", "utility": "acc", "source": "abstract"}
    assert Paper(**PAPER | {"headline": headline}).headline
    with pytest.raises(ValueError, match=words):
        Paper(**PAPER | {"headline": headline | change})
