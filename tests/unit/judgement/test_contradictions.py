"""What a paper's numbers say against each other: printed twice, or not following from one another."""

import pytest

from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cell, Cells
from fairfl.judgement.claims.contradictions import contradictions
from tests.unit.reporting import demo

METRICS = {
    "acc": {"name": "accuracy", "meaning": "", "unit": "percent", "digits": 2},
    "var": {"name": "variance", "meaning": "", "unit": "percent2", "digits": 2},
    "cv": {"name": "CV", "meaning": "", "unit": "fraction", "digits": 4},
    "gain": {"name": "gain", "meaning": "", "unit": "percent", "digits": 1},
}
CV = {"id": "cv", "expr": "cv(row) == sqrt(var(row)) / acc(row)", "text": "CV of the printed numbers"}


def paper(*consistency) -> dict[str, Paper]:
    table = {"kind": "table", "title": "T", "caption": "", "settings": ["s.1", "t"], "columns": list(METRICS)}
    rows = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1}}]
    found = Paper(
        paper="p",
        title="",
        citation="Nobody.",
        arxiv="0000.00000",
        metrics=METRICS,
        algorithms={name: {"title": name} for name in ("fedavg", "qffl")},
        settings={"s.1": demo.SETTING, "t": demo.SETTING},
        artifacts={f"table{n}": {**table, "rows": rows} for n in (1, 2, 3)},
        consistency=list(consistency),
    )
    return {"p": found}


def values(**numbers) -> Cells:
    """FedAvg's numbers in setting s.1; a pair is (mean, spread)."""
    pairs = {metric: own if isinstance(own, tuple) else (own, None) for metric, own in numbers.items()}
    return Cells(
        {
            ("s.1", Variant("fedavg", {}), metric): Cell(*own, unit=METRICS[metric]["unit"])
            for metric, own in pairs.items()
        }
    )


def texts(papers, **tables) -> dict[tuple[str, str], list[str]]:
    found = contradictions(papers, {f"p_{name}": table for name, table in tables.items()})
    return {(name, key[2]): lines for (name, key), lines in found.items()}


def test_numbers_that_are_printed_twice_name_each_other() -> None:
    high = values(acc=(33.39, 0.22))
    assert texts(paper(), table1=values(acc=(31.98, 0.3)), table2=high, table3=high) == {
        ("p_table1", "acc"): ["table2, table3: 33.39 ± 0.22"],
        ("p_table2", "acc"): ["table1: 31.98 ± 0.30"],
        ("p_table3", "acc"): ["table1: 31.98 ± 0.30"],
    }


def test_another_spread_is_a_contradiction_rounding_and_gaps_are_none() -> None:
    one = values(acc=(31.98, 0.3))
    assert texts(paper(), table1=one, table2=values(acc=(31.98, 0.5))) == {
        ("p_table1", "acc"): ["table2: 31.98 ± 0.50"],
        ("p_table2", "acc"): ["table1: 31.98 ± 0.30"],
    }
    for other in ((31.9849, 0.3), (31.98, None), (None, 0.5)):
        assert texts(paper(), table1=one, table2=values(acc=other)) == {}
    elsewhere = Cells({("t", Variant("fedavg", {}), "acc"): Cell(9.0, unit="percent")})
    assert texts(paper(), table1=one, table2=elsewhere) == {}


def test_a_number_that_does_not_follow_from_those_of_other_tables() -> None:
    source = values(acc=(50.0, 1.0), var=(25.0, 3.0))  # 5 / 50
    assert texts(paper(CV), table1=source, table2=values(cv=0.1)) == {}
    assert texts(paper(CV), table1=source, table2=values(cv=0.10004)) == {}  # half a unit of the last digit
    assert texts(paper(CV), table1=source, table2=values(cv=0.1124)) == {
        ("p_table2", "cv"): ["0.1000 expected: CV of the printed numbers"]
    }
    assert texts(paper(CV | {"within": 0.2}), table1=source, table2=values(cv=0.1124)) == {}
    assert texts(paper(CV | {"text": ""}), table1=source, table2=values(cv=0.2)) == {
        ("p_table2", "cv"): [f"0.1000 expected: {CV['expr']}"]
    }


def test_a_relation_may_name_another_row_and_a_setting() -> None:
    gain = {"id": "gain", "expr": "gain(row) == 100 * (1 - cv(row) / cv(fedavg))", "within": 0.02}
    cells = dict(values(cv=0.2).cells)
    for setting in ("s.1", "t"):
        cells[setting, Variant("fedavg", {}), "cv"] = Cell(0.2, unit="fraction")
        cells[setting, Variant("qffl", {"q": 1}), "cv"] = Cell(0.15, unit="fraction")
        cells[setting, Variant("qffl", {"q": 1}), "gain"] = Cell(21.8, unit="percent")
    found = contradictions(paper(gain), {"p_table1": Cells(cells)})
    text = "25.0 expected: gain(row) == 100 * (1 - cv(row) / cv(fedavg))"
    assert found == {("p_table1", (setting, Variant("qffl", {"q": 1}), "gain")): [text] for setting in ("s.1", "t")}
    (key,) = contradictions(paper(gain | {"setting": "t"}), {"p_table1": Cells(cells)})
    assert key[1][0] == "t"


def test_two_numbers_that_should_differ_are_both_marked() -> None:
    twin = {"id": "twin", "expr": "var(fedavg)@s.1 != var(qffl, q=1)@s.1", "text": "a copy"}
    cells = {**values(var=58.19).cells, ("s.1", Variant("qffl", {"q": 1}), "var"): Cell(58.19, unit="percent2")}
    found = contradictions(paper(twin), {"p_table1": Cells(cells), "p_table2": values(var=58.19)})
    keys = [(name, key[1].algorithm) for name, key in found]
    assert sorted(keys) == [("p_table1", "fedavg"), ("p_table1", "qffl"), ("p_table2", "fedavg")]
    assert {text for texts in found.values() for text in texts} == {"a copy"}
    assert texts(paper(twin), table1=values(var=58.19)) == {}  # nothing to hold it against
    cells["s.1", Variant("qffl", {"q": 1}), "var"] = Cell(58.2, unit="percent2")
    assert contradictions(paper(twin), {"p_table1": Cells(cells)}) == {}


@pytest.mark.parametrize(
    ("relation", "worst", "broken"), [("<=", 50.004, False), ("<=", 50.1, True), ("<", 49.0, False)]
)
def test_inequalities_forgive_rounding(relation, worst, broken) -> None:
    order = {"id": "order", "expr": f"gain(row) {relation} acc(row)", "text": "no more than the mean"}
    wanted = {("p_table1", metric): ["no more than the mean"] for metric in ("gain", "acc")} if broken else {}
    assert texts(paper(order), table1=values(gain=worst, acc=50.0)) == wanted
