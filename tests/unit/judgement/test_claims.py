"""The claim language: what parses, what it means, and that no text does anything else than raise ClaimError."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.experiments.artifact import Row
from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cell, Cells
from fairfl.judgement.claims.contradictions import contradictions
from fairfl.judgement.claims.evaluation import evaluate
from fairfl.judgement.claims.grammar import Argopt, Binary, CellOf, ClaimError, Comparison, Group, parse
from tests.bad_input.refusals import check_lines
from tests.unit.reporting import demo

NUMBERS = {
    ("fedavg", ""): {"gap": 0.3, "acc": 0.687},
    ("qffl", "q=1.0"): {"gap": 0.2, "acc": 0.68},
    ("qffl", "q=5"): {"gap": 0.25, "acc": 0.67},
    ("eagle", "lambda=0.1"): {"gap": 0.15, "acc": 0.69},
    ("eagle", "lambda=2.0"): {"gap": 0.1, "acc": 0.675},
    ("eagle", "lambda=10"): {"gap": 0.1004, "acc": 0.66},
}
ROWS = [Row(algorithm=name, hyperparameters=dict(Variant.from_csv(name, text).values)) for name, text in NUMBERS]


def table(setting: str = "s", skip_empty: bool = False, **changed: float | None) -> Cells:
    """NUMBERS in one setting; `changed` replaces gaps by algorithm name and first value: eagle_2=None."""
    cells = {}
    for (name, text), metrics in NUMBERS.items():
        for metric, value in metrics.items():
            cells[setting, Variant.from_csv(name, text), metric] = Cell(value)
        label = "_".join([name, *(f"{value:g}".replace(".", "") for _, value in Variant.from_csv(name, text).values)])
        if label in changed:
            cells[setting, Variant.from_csv(name, text), "gap"] = Cell(changed[label])
    return Cells(cells, skip_empty)


def checked(text: str, values: Cells | None = None, rows=ROWS, digits: int = 3):
    return evaluate(parse(text, "c"), values or table(), "s", rows, lambda metric: digits)


STATUSES = [
    ("gap(eagle, lambda=2.0) < gap(fedavg)", "supported"),
    ("gap(fedavg) < gap(eagle, lambda=2.0)", "refuted"),
    ("gap(fedavg) >= 0.3", "supported"),
    ("gap(fedavg) > 0.3", "refuted"),
    ("1 - 2 - 3 == -4", "supported"),
    ("2 + 3 * 4 == 14", "supported"),
    ("12 / 3 / 2 == 2", "supported"),
    ("-(2 - 5) == 3", "supported"),
    ("min(3, 1, 2) + max(3, 1, 2) == 4", "supported"),
    ("abs(acc(fedavg) - acc(eagle, lambda=2.0)) <= 0.012", "supported"),  # 0.01200000000000001 in floats
    ("100*(gap(fedavg)/gap(qffl, q=1)-1) >= 50", "supported"),
    ("min_over(gap, eagle) < min_over(gap, !eagle)", "supported"),
    ("max_over(gap, *) == gap(fedavg)", "supported"),
    ("argmin gap == eagle(lambda=2)", "supported"),
    ("argmin gap == qffl(q=1)", "refuted"),
    ("argmax gap == fedavg", "supported"),
    ("monotone(acc, eagle, lambda, down)", "supported"),
    ("monotone(acc, eagle, lambda, up)", "refuted"),
    ("gap(fedavg) != gap(qffl, q=1)", "supported"),
    ("sqrt(acc(fedavg) * acc(fedavg)) == acc(fedavg)", "supported"),
    ("atan_deg(1) == 45", "supported"),
    ("acc(fedavg) > acc(qffl, q=1) * 1.03", "refuted"),
    ("min_over(gap, !eagle, !qffl) == gap(fedavg)", "supported"),
    ("max_over(gap, eagle, lambda=2) == 0.1", "supported"),
    ("max_over(gap, !fedavg, !eagle, q=1) == 0.2", "supported"),
    ("undominated eagle(lambda=2): acc up, gap down", "supported"),
    ("undominated eagle(lambda=10): acc up, gap down", "refuted"),
]
TEXTS = [text for text, _ in STATUSES]


@pytest.mark.parametrize(("text", "status"), STATUSES)
def test_claims(text, status) -> None:
    judgement = checked(text)
    assert judgement.status == status
    assert judgement.left is not None and judgement.right is not None and judgement.reason


def test_tree() -> None:
    assert parse("gap(eagle, lambda=1.0)@s.a0.1 - 1 < min_over(gap, !eagle)", "c") == Comparison(
        Binary("-", CellOf("gap", Variant("eagle", {"lambda": 1.0}), "s.a0.1"), 1.0),
        "<",
        Group("min", "gap", ("eagle",), Variant("", {}), None),
    )
    assert parse("argmax m == a(k=v,l=-2e-3)", "c") == Argopt("max", "m", Variant("a", {"k": "v", "l": -0.002}))


def test_dominance_names_the_better_row_and_forgives_ties() -> None:
    assert "dominated by eagle(lambda=2)" in checked("undominated eagle(lambda=10): acc up, gap down").reason
    values = table(fedavg=0.1)  # as good as eagle(lambda=2) in gap, better in acc
    assert checked("undominated eagle(lambda=2): acc up, gap down", values).reason == "dominated by fedavg"
    same = Cells({**values.cells, ("s", Variant("fedavg", {}), "acc"): Cell(0.675)})
    assert checked("undominated eagle(lambda=2): acc up, gap down", same).status == "supported"


def test_equalities_and_argopt_accept_ties_at_the_printed_precision_only() -> None:
    assert checked("argmin gap == eagle(lambda=10)", digits=3).status == "supported"
    assert checked("argmin gap == eagle(lambda=10)", digits=4).status == "refuted"
    assert checked("gap(eagle, lambda=2) == gap(eagle, lambda=10)", digits=3).status == "supported"
    assert checked("gap(eagle, lambda=2) == gap(eagle, lambda=10)", digits=4).status == "refuted"
    assert checked("gap(eagle, lambda=10) <= gap(eagle, lambda=2)", digits=3).status == "refuted"
    assert checked("1.0001 == 1", digits=0).status == "refuted"  # no metric, no printed precision


def test_trend_is_taken_along_the_number_not_the_order_of_rows() -> None:
    judgement = checked("monotone(gap, eagle, lambda, down)", rows=ROWS[::-1])
    assert (judgement.status, judgement.left, judgement.right) == ("refuted", 0.1, 0.1004)
    assert "lambda=2 to 10" in judgement.reason


def test_trend_with_a_fixed_parameter() -> None:
    rows = [Row(algorithm="f", hyperparameters={"a": a, "t": t}) for a in (1, 2) for t in (0, 1)]
    values = Cells({("s", row.variant, "m"): Cell(float(n)) for n, row in enumerate(rows)})
    assert checked("monotone(m, f, t, up, a=1)", values, rows).status == "supported"
    assert "other hyper-parameters change" in checked("monotone(m, f, t, up)", values, rows).reason


def test_rows_of_another_setting_take_no_part() -> None:
    rows = [*ROWS, Row(algorithm="afl", setting="t.0"), Row(algorithm="fedprox", setting="s")]
    values = Cells(
        {
            **table().cells,
            ("t.0", Variant("afl", {}), "gap"): Cell(0.0),
            ("s", Variant("fedprox", {}), "gap"): Cell(0.5),
        }
    )
    assert checked("min_over(gap, *) == 0.1", values, rows).status == "supported"
    assert checked("argmax gap == fedprox", values, rows).status == "supported"
    assert checked("min_over(gap, afl)@t.0 == 0", values, rows).status == "supported"
    assert "no row for fedprox" in checked("min_over(gap, fedprox)@t.0 < 1", values, rows).reason
    assert "no row afl" in checked("argmin gap == afl", values, rows).reason


def test_another_setting() -> None:
    values = Cells({**table().cells, **table("t.0", fedavg=9.0).cells})
    assert checked("gap(fedavg)@t.0 - 1 > gap(fedavg)", values).left == 8
    assert checked("max_over(gap, *)@t.0 == 9", values).status == "supported"
    assert checked("monotone(gap, qffl, q, up)@t.0", values).status == "supported"
    no_setting = evaluate(parse("gap(fedavg) > 0", "c"), values, None, ROWS)
    assert (no_setting.status, "no setting" in no_setting.reason) == ("missing numbers", True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gap(fedprox) < 1", "no value for gap of fedprox in s"),
        ("loss(fedavg) < 1", "no value for loss of fedavg in s"),
        ("gap(fedavg)@z < 1", "in z"),
        ("1 / (gap(fedavg) - gap(fedavg)) < 1", "division by zero"),
        ("1e308 * 10 < 1", "range of numbers"),
        ("min_over(gap, fedprox) < 1", "no row for fedprox"),
        ("argmin gap == eagle(lambda=7)", "no row eagle(lambda=7)"),
        ("monotone(loss, eagle, lambda, up)", "no value for loss"),
        ("sqrt(0 - 1) < 1", "root of a negative number"),
        ("min_over(gap, !eagle, !qffl, !fedavg) < 1", "no row for !eagle, !qffl, !fedavg"),
    ],
)
def test_what_cannot_be_decided_says_why(text, reason) -> None:
    judgement = checked(text)
    assert (judgement.status, judgement.left, judgement.right) == ("missing numbers", None, None)
    assert reason in judgement.reason


@pytest.mark.parametrize("text", ["min_over(gap, *) < 1", "argmin gap == fedavg", "monotone(gap, eagle, lambda, down)"])
def test_empty_cells_stop_our_groups_but_not_the_papers(text) -> None:
    assert checked(text, table(eagle_2=None)).status == "missing numbers"
    assert checked(text, table(eagle_2=None, skip_empty=True)).status != "missing numbers"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: found the end"),
        ("gap(fedavg)", "column 12: found the end, expected .*one of < <= > >= =="),
        ("gap(fedavg) = 1", "column 13: found '='"),
        ("gap(fedavg, q) < 1", r"column 14: found '\)', expected '='"),
        ("gap(fedavg, q=1, q=2) < 1", "column 18: found 'q' again"),
        ("undominated eagle: gap", "expected up or down"),
        ("argmin gap < fedavg", "column 12: found '<', expected '=='"),
        ("monotone(gap, eagle, lambda, sideways)", "found 'sideways', expected up or down"),
        ("__import__('os').system('true') < 1", 'column 12: found "\'"'),
        ("-" * 500 + "1 < 2", "nested more than 100 deep"),
    ],
)
def test_syntax_errors_name_claim_column_and_expectation(text, message) -> None:
    with pytest.raises(ClaimError, match=f"claim t8_x: .*{message}"):
        parse(text, "t8_x")


_NUMBER = st.floats(0, 1e6, allow_nan=False).map(repr)
_FORMULA = st.recursive(
    _NUMBER,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"-{text}"),
        inner.map(lambda text: f"abs({text})"),
    ),
    max_leaves=12,
)


@given(_FORMULA)
def test_arithmetic_is_pythons(formula) -> None:
    wanted = eval(formula, {"__builtins__": {}, "abs": abs})
    judgement = checked(f"{formula} <= 0")
    assert judgement.left == wanted if math.isfinite(wanted) else judgement.status == "missing numbers"


@st.composite
def mutated(draw):
    """A claim in which pieces were dropped and put in."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(0, 3))):
        at, drop = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        piece = draw(st.sampled_from(["", "(", ")", ",", "=", "@", "-", "x", " ", "\n", "é", "1e9"]))
        text = text[:at] + piece + text[at + drop :]
    return text


@settings(max_examples=50)
@given(mutated() | st.text(max_size=80))
def test_any_text_is_a_claim_or_is_refused_in_words(text):
    try:
        statement = parse(text, "c")
    except ClaimError as error:
        check_lines(str(error), ("claim c: ",))
    else:
        assert parse(f" {text}\n", "c") == statement


# -- what a paper's numbers say against each other: printed twice, or not following from one another --------
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


SOURCE = {"acc": (50.0, 1.0), "var": (25.0, 3.0)}  # 5 / 50
TAILS = {"id": "tails", "expr": "gain(row) >= acc(row) + 3.6 * sqrt(var(row))", "text": "as far apart"}


@pytest.mark.parametrize(
    ("relation", "change", "numbers", "expected"),
    [
        (CV, {}, {"cv": 0.1}, {}),
        (CV, {}, {"cv": 0.10004}, {}),  # half a unit of the last digit
        (CV, {}, {"cv": 0.1124}, {"cv": "0.1000 expected: CV of the printed numbers"}),
        (CV, {"within": 0.2}, {"cv": 0.1124}, {}),
        (CV, {"text": ""}, {"cv": 0.2}, {"cv": f"0.1000 expected: {CV['expr']}"}),
        (TAILS, {}, {"gain": 68.0}, {}),
        (TAILS, {}, {"gain": 67.9}, {"gain": "at least 68.0 expected: as far apart"}),
        *(
            ({"id": "order", "expr": f"gain(row) {relation} acc(row)", "text": "no more"}, {}, numbers, expected)
            for relation, numbers, expected in (
                ("<=", {"gain": 50.004, "acc": 50.0}, {}),
                ("<=", {"gain": 50.1, "acc": 50.0}, {"gain": "no more", "acc": "no more"}),
                ("<", {"gain": 49.0, "acc": 50.0}, {}),
            )
        ),
    ],
)
def test_a_number_that_does_not_follow_from_others_is_named_but_for_rounding(relation, change, numbers, expected):
    """Numbers of another table are taken where this one has none; a bound of several numbers is said."""
    found = texts(paper(relation | change), table1=values(**SOURCE), table2=values(**numbers))
    assert found == {("p_table2", metric): [text] for metric, text in expected.items()}


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
