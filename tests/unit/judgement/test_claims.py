"""The claim language: what parses, what it means, and that no text does anything else than raise ClaimError."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairfl.experiments.paper import Row
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cell, Cells
from fairfl.judgement.claims.evaluation import evaluate
from fairfl.judgement.claims.grammar import Argopt, Binary, CellOf, ClaimError, Comparison, Group, parse

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


def judged(text: str, values: Cells | None = None, rows=ROWS, digits: int = 3):
    return evaluate(parse(text, "c"), values or table(), "s", rows, lambda metric: digits)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("gap(eagle, lambda=2.0) < gap(fedavg)", "holds"),
        ("gap(fedavg) < gap(eagle, lambda=2.0)", "fails"),
        ("gap(fedavg) >= 0.3", "holds"),
        ("gap(fedavg) > 0.3", "fails"),
        ("1 - 2 - 3 == -4", "holds"),
        ("2 + 3 * 4 == 14", "holds"),
        ("12 / 3 / 2 == 2", "holds"),
        ("-(2 - 5) == 3", "holds"),
        ("min(3, 1, 2) + max(3, 1, 2) == 4", "holds"),
        ("abs(acc(fedavg) - acc(eagle, lambda=2.0)) <= 0.012", "holds"),  # 0.01200000000000001 in floats
        ("100*(gap(fedavg)/gap(qffl, q=1)-1) >= 50", "holds"),
        ("min_over(gap, eagle) < min_over(gap, !eagle)", "holds"),
        ("max_over(gap, *) == gap(fedavg)", "holds"),
        ("argmin gap == eagle(lambda=2)", "holds"),
        ("argmin gap == qffl(q=1)", "fails"),
        ("argmax gap == fedavg", "holds"),
        ("monotone(acc, eagle, lambda, down)", "holds"),
        ("monotone(acc, eagle, lambda, up)", "fails"),
        ("gap(fedavg) != gap(qffl, q=1)", "holds"),
        ("sqrt(acc(fedavg) * acc(fedavg)) == acc(fedavg)", "holds"),
        ("atan_deg(1) == 45", "holds"),
        ("acc(fedavg) > acc(qffl, q=1) * 1.03", "fails"),
        ("min_over(gap, !eagle, !qffl) == gap(fedavg)", "holds"),
        ("max_over(gap, eagle, lambda=2) == 0.1", "holds"),
        ("max_over(gap, !fedavg, !eagle, q=1) == 0.2", "holds"),
        ("undominated eagle(lambda=2): acc up, gap down", "holds"),
        ("undominated eagle(lambda=10): acc up, gap down", "fails"),
    ],
)
def test_claims(text, status) -> None:
    judgement = judged(text)
    assert judgement.status == status
    assert judgement.left is not None and judgement.right is not None and judgement.reason


def test_tree() -> None:
    assert parse("gap(eagle, lambda=1.0)@s.a0.1 - 1 < min_over(gap, !eagle)", "c") == Comparison(
        Binary("-", CellOf("gap", Variant("eagle", {"lambda": 1.0}), "s.a0.1"), 1.0),
        "<",
        Group("min", "gap", None, ("eagle",), Variant("", {}), None),
    )
    assert parse("argmax m == a(k=v,l=-2e-3)", "c") == Argopt("max", "m", Variant("a", {"k": "v", "l": -0.002}))


def test_dominance_names_the_better_row_and_forgives_ties() -> None:
    assert "dominated by eagle(lambda=2)" in judged("undominated eagle(lambda=10): acc up, gap down").reason
    values = table(fedavg=0.1)  # as good as eagle(lambda=2) in gap, better in acc
    assert judged("undominated eagle(lambda=2): acc up, gap down", values).reason == "dominated by fedavg"
    same = Cells({**values.cells, ("s", Variant("fedavg", {}), "acc"): Cell(0.675)})
    assert judged("undominated eagle(lambda=2): acc up, gap down", same).status == "holds"


def test_equalities_and_argopt_accept_ties_at_the_printed_precision_only() -> None:
    assert judged("argmin gap == eagle(lambda=10)", digits=3).status == "holds"
    assert judged("argmin gap == eagle(lambda=10)", digits=4).status == "fails"
    assert judged("gap(eagle, lambda=2) == gap(eagle, lambda=10)", digits=3).status == "holds"
    assert judged("gap(eagle, lambda=2) == gap(eagle, lambda=10)", digits=4).status == "fails"
    assert judged("gap(eagle, lambda=10) <= gap(eagle, lambda=2)", digits=3).status == "fails"
    assert judged("1.0001 == 1", digits=0).status == "fails"  # no metric, no printed precision


def test_trend_is_taken_along_the_number_not_the_order_of_rows() -> None:
    judgement = judged("monotone(gap, eagle, lambda, down)", rows=ROWS[::-1])
    assert (judgement.status, judgement.left, judgement.right) == ("fails", 0.1, 0.1004)
    assert "lambda=2 to 10" in judgement.reason


def test_trend_with_a_fixed_parameter() -> None:
    rows = [Row(algorithm="f", hyperparameters={"a": a, "t": t}) for a in (1, 2) for t in (0, 1)]
    values = Cells({("s", row.variant, "m"): Cell(float(n)) for n, row in enumerate(rows)})
    assert judged("monotone(m, f, t, up, a=1)", values, rows).status == "holds"
    assert "other hyper-parameters change" in judged("monotone(m, f, t, up)", values, rows).reason


def test_rows_of_another_setting_take_no_part() -> None:
    rows = [*ROWS, Row(algorithm="afl", setting="t.0"), Row(algorithm="fedprox", setting="s")]
    values = Cells(
        {
            **table().cells,
            ("t.0", Variant("afl", {}), "gap"): Cell(0.0),
            ("s", Variant("fedprox", {}), "gap"): Cell(0.5),
        }
    )
    assert judged("min_over(gap, *) == 0.1", values, rows).status == "holds"
    assert judged("argmax gap == fedprox", values, rows).status == "holds"
    assert judged("min_over(gap, afl)@t.0 == 0", values, rows).status == "holds"
    assert "no row for fedprox" in judged("min_over(gap, fedprox)@t.0 < 1", values, rows).reason
    assert "no row afl" in judged("argmin gap == afl", values, rows).reason


def test_another_setting() -> None:
    values = Cells({**table().cells, **table("t.0", fedavg=9.0).cells})
    assert judged("gap(fedavg)@t.0 - 1 > gap(fedavg)", values).left == 8
    assert judged("max_over(gap, *)@t.0 == 9", values).status == "holds"
    assert judged("monotone(gap, qffl, q, up)@t.0", values).status == "holds"
    no_setting = evaluate(parse("gap(fedavg) > 0", "c"), values, None, ROWS)
    assert (no_setting.status, "no setting" in no_setting.reason) == ("undecidable", True)


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
    judgement = judged(text)
    assert (judgement.status, judgement.left, judgement.right) == ("undecidable", None, None)
    assert reason in judgement.reason


@pytest.mark.parametrize("text", ["min_over(gap, *) < 1", "argmin gap == fedavg", "monotone(gap, eagle, lambda, down)"])
def test_empty_cells_stop_our_groups_but_not_the_papers(text) -> None:
    assert judged(text, table(eagle_2=None)).status == "undecidable"
    assert judged(text, table(eagle_2=None, skip_empty=True)).status != "undecidable"


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
    judgement = judged(f"{formula} <= 0")
    assert judgement.left == wanted if math.isfinite(wanted) else judgement.status == "undecidable"
