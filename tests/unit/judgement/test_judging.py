"""Claims are checked on our numbers and on the papers' own, and say what the judgement rests on."""

from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fairfl.experiments.artifact import Row
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import load_paper, load_workload
from fairfl.judgement.agreement import pooled_noise
from fairfl.judgement.cells import Cell, Cells, digits_of, pooled
from fairfl.judgement.claims.evaluation import evaluate
from fairfl.judgement.claims.grammar import Argopt, CellOf, Speaking, Undominated, nodes, parse
from fairfl.judgement.claims.judging import claim_lines, setting_of
from fairfl.judgement.claims.noise import DRAWS, NONE, share_of_resamples, with_noise
from fairfl.judgement.results import results_of
from fairfl.judgement.rows import ClaimLine
from tests.unit.reporting import demo

ROOT = Path(__file__).resolve().parents[3]
SETTING = demo.SETTING | {"seeds": [0]}
TABLE = {
    "kind": "table",
    "title": "Table 1",
    "caption": "Numbers",
    "settings": ["full"],
    "rows": [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}],
    "columns": ["loss"],
}


def build(root: Path, *claims: dict, reported: str = "", rows=TABLE["rows"]):
    """fedavg has loss 1, q-FFL 2, in both settings; 'short' is cut by the scale."""
    figure = {**TABLE, "kind": "figure", "title": "Figure 1", "plot": "metric_curves", "settings": ["full", "short"]}
    figure["rows"] = rows
    paper = {
        **demo.PAPER,
        "metrics": {"loss": {"name": "loss", "meaning": "mean", "unit": "nats", "digits": 0}},
        "algorithms": {"fedavg": {"title": "FedAvg"}, "qffl": {"title": "q-FFL"}, "afl": {"title": "AFL"}},
        "settings": {"full": SETTING, "short": SETTING},
        "artifacts": {"table1": TABLE, "figure1": {**figure, "claims": list(claims)}},
    }
    patch = {"match": ["short"], "set": {"rounds": 10, "data": {"name": "digits"}}, "why": "time"}
    demo.project(root, paper, patch)
    if reported:
        (root / "papers/reported/demo/table1.csv").write_text(demo.REPORTED + reported)
    for name in ("full", "short"):
        (root / f"results/tidy/{name}.csv").write_text(
            f"{demo.TIDY}{name},fedavg,,0,loss,1.0,nats,d,5,r,f\n{name},qffl,q=1.0,0,loss,2.0,nats,d,5,r,f\n"
        )
    return load_workload(root, {"scale": "tiny", "papers": ["demo"]})


def claim(expr: str, setting: str | None = "full", reference: str = "not testable from printed numbers") -> dict:
    return {"id": "c1", "setting": setting, "expr": expr, "text": "words", "reference": reference}


def lines_of(workload, root: Path) -> list[ClaimLine]:
    return claim_lines(workload, root, demo.files_below(root / "results", workload))


def judge(root: Path, *claims: dict, **options) -> list[ClaimLine]:
    return lines_of(build(root, *claims, **options), root)


def test_both_sides_are_judged(tmp_path) -> None:
    reported = "table1,full,fedavg,,loss,5,,,nats,\ntable1,full,qffl,q=1,loss,4,,,nats,\n"
    (line,) = judge(tmp_path, claim("loss(fedavg) < loss(qffl, q=1)", reference="refuted"), reported=reported)
    assert (line.status, line.lhs, line.rhs) == ("supported", "1", "2")
    # The figure has no reported file: the table of the same paper answers for it.
    assert (line.status_in_paper, line.expected_in_paper, line.basis) == ("refuted", "refuted", "full scale")


@pytest.mark.parametrize(
    ("expr", "setting", "wanted"),
    [
        # Without reported numbers.
        ("loss(fedavg) < 3", "full", {"status": "supported", "status_in_paper": "not testable from printed numbers"}),
        # The paper prints no digit after the point.
        ("loss(fedavg) + 0.4 == loss(fedavg)", "full", {"status": "supported"}),
        ("loss(qffl, q=7) < 3", "full", {
            "status": "missing numbers", "reason": "no value for loss of qffl(q=7) in full",
        }),
        ("loss(fedavg)@short < 3", None, {
            "status": "not evaluated at this scale", "status_at_this_scale": "supported",
        }),
        ("loss(fedavg)@short > 3", None, {
            "status": "not evaluated at this scale", "status_at_this_scale": "refuted",
        }),
        ("loss(qffl, q=7)@short > 3", None, {"status": "missing numbers", "status_at_this_scale": "missing numbers"}),
        ("loss(fedavg) < 3", None, {
            "status": "missing numbers", "setting": "", "lhs": "",
            "reason": "the claim names no setting and its artifact has several",
        }),
        ("loss(fedavg) == loss(fedavg)@short", "full", {
            "basis": "full scale; digits (stand-in for synthetic_gaussian), 7 changes",
        }),
    ],
)  # fmt: skip
def test_our_side_of_a_claim(tmp_path, expr, setting, wanted) -> None:
    (line,) = judge(tmp_path, claim(expr, setting))
    assert {name: getattr(line, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("chosen", "expr", "status"),
    [
        ("qffl/q=1.0", "loss(fedavg) < loss(qffl, q=1.0)", "fitted"),
        ("qffl", "loss(fedavg) < loss(qffl, q=1.0)", "fitted"),
        ("qffl", "loss(fedavg) < 3", "supported"),
        ("qffl", "loss(fedavg) < min_over(loss, qffl)", "fitted"),  # all its rows
        ("qffl/q=1.0", "loss(fedavg) < min_over(loss, qffl)", "supported"),
        ("qffl", "loss(fedavg) <= min_over(loss, !afl)", "supported"),  # one of many rows
        ("fedavg", "loss(fedavg) < loss(qffl, q=1.0)", "supported"),  # the baseline
    ],
)
def test_a_claim_on_a_row_that_something_was_chosen_by_proves_nothing(tmp_path, chosen, expr, status) -> None:
    workload = build(tmp_path, claim(expr))
    workload.settings["full"] = workload.settings["full"].model_copy(update={"fitted": {chosen: "its step"}})
    (line,) = lines_of(workload, tmp_path)
    assert (line.status, line.status_at_this_scale) == (status, "supported")
    assert ("chose its step" in line.reason) == (status == "fitted")


def test_own_reported_numbers_come_before_those_of_other_artifacts() -> None:
    key = ("s", Variant("fedavg", {}), "loss")
    tables = {
        name: Cells({key: Cell(value)}) for name, value in (("p_table1", 1.0), ("p_table2", 2.0), ("q_table1", 3.0))
    }
    assert pooled("p_table2", tables).cells[key].mean == 2.0
    assert pooled("p_figure1", tables).cells[key].mean == 1.0
    tables["p_table0"] = Cells({key: Cell(None)})
    assert pooled("p_figure1", tables).cells[key].mean == 1.0
    assert pooled("p_table0", tables).cells[key].mean is None  # illegible there, whatever others print


# -- the papers themselves --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "claims"), [("eagle", 66), ("fedfv", 34), ("focus", 100), ("fedeba", 136), ("vred", 32)]
)
def test_claims_come_out_on_a_papers_own_numbers_as_its_file_says(name: str, claims: int) -> None:
    paper = load_paper(ROOT / f"papers/{name}.yaml")
    digits = digits_of(paper.metrics)
    tables = results_of(load_workload(ROOT, {"scale": "full", "papers": [name]}), ROOT, {}).reported
    wrong, count = [], 0
    for key, artifact in paper.artifacts.items():
        values = pooled(f"{name}_{key}", tables)
        for one in artifact.claims:
            checked = evaluate(
                parse(one.expr, one.id), values, setting_of(one, f"{name}_{key}", artifact), artifact.rows, digits
            )
            status = "not testable from printed numbers" if checked.status == "missing numbers" else checked.status
            count += 1
            if status != one.reference:
                wrong.append((key, one.id, status, one.reference, checked.reason))
    assert not wrong
    assert count == claims


@pytest.mark.parametrize("name", ["eagle", "fedfv", "focus", "fedeba", "vred"])
def test_a_paper_makes_each_claim_once(name: str) -> None:
    """Numbers that several tables print count once, so claims do too: same expression, setting and rows."""
    paper, places = load_paper(ROOT / f"papers/{name}.yaml"), defaultdict(list)
    for key, artifact in paper.artifacts.items():
        for one in artifact.claims if artifact.in_paper else ():
            setting, statement = setting_of(one, key, artifact), parse(one.expr, one.id)
            rows = [row.variant for row in artifact.rows if row.setting in (None, setting)]
            ranges = [
                node for node, _ in nodes(statement) if isinstance(node, Speaking) and not isinstance(node, CellOf)
            ]
            # The best row, or one that no other dominates, is so among all of them.
            every = (Argopt, Undominated)
            meant = [sorted(str(row) for row in rows if isinstance(node, every) or node.has(row)) for node in ranges]
            places[repr(statement), setting, str(meant)].append(f"{key}: {one.id}")
    again = [" and ".join(several) for several in places.values() if len(several) > 1]
    assert not again, "\n".join(again)


# -- noise --------------------------------------------------------------------------------------------------
def seeds(means: dict[str, float], std: float, count: int) -> Cells:
    """Numbers of algorithms with the sample standard deviation `std` over an even count of seeds."""
    away = std * ((count - 1) / count) ** 0.5
    return Cells({
        ("full", Variant(name, {}), "loss"): Cell.over_seeds({n: mean + away * (-1) ** n for n in range(count)}, "nats")
        for name, mean in means.items()
    })  # fmt: skip


def checked(cells: Cells, expr: str, level: float = 0.05) -> tuple[str, float | None]:
    rows = [Row(algorithm=variant.algorithm) for _, variant, _ in cells.cells]
    judge = partial(evaluate, parse(expr, "c"), setting="full", rows=rows, digits=lambda metric: 3)
    share, _ = share_of_resamples(judge, cells, pooled_noise(cells.cells), NONE, {}, 0.05)
    return with_noise(judge(cells).status, share, level, False), share


@pytest.mark.parametrize(
    ("expr", "status"),
    [
        ("loss(fedavg) < loss(afl)", "supported"),  # ten standard errors apart
        ("loss(fedavg) > loss(afl)", "refuted"),
        ("loss(fedavg) < loss(term)", "inconclusive"),  # a tenth of one
        ("loss(fedavg) > loss(term)", "inconclusive"),
        ("min_over(loss, !afl) < loss(afl)", "supported"),
        ("loss(afl) - loss(fedavg) > 0.5", "supported"),
    ],
)
def test_a_claim_that_other_seeds_would_turn_is_within_noise(expr, status) -> None:
    assert checked(seeds({"fedavg": 1.0, "afl": 2.0, "term": 1.01}, std=0.2, count=4), expr)[0] == status


def test_the_share_of_draws_is_that_of_students_distribution() -> None:
    """Six seeds of s = 1: the mean is 1 standard error above 1, so P(t_5 > -1) = 0.818; the pooled s is its own."""
    cells = seeds({"fedavg": 1 + 6**-0.5}, std=1.0, count=6)
    status, share = checked(cells, "loss(fedavg) > 1")
    assert share == pytest.approx(0.818, abs=4 * (0.818 * 0.182 / DRAWS) ** 0.5) and status == "inconclusive"
    assert checked(cells, "loss(fedavg) > 1", level=0.3)[0] == "supported"
    assert checked(cells, "loss(fedavg) > 1") == (status, share)  # the same draws every time


def test_a_claim_on_seeds_of_one_draw_of_clients_is_as_sure_as_their_evaluations() -> None:
    own = seeds({"fedavg": 1.0, "afl": 1.1}, std=0.001, count=4)
    late = {
        ("full", Variant(name, {}), metric): Cell(value, seeds=4, unit=unit)
        for name in ("fedavg", "afl")
        for metric, value, unit in (("loss_late_std", 0.2, "nats"), ("n_late", 10.0, "count"))
    }
    cells = Cells({**own.cells, **late})
    noise = pooled_noise(own.cells)
    judge = partial(evaluate, parse("loss(fedavg) < loss(afl)", "c"), setting="full", rows=[], digits=lambda metric: 3)
    for shared, expected in ((frozenset(), "supported"), (frozenset({"full"}), "inconclusive")):
        share, _ = share_of_resamples(judge, replace(cells, one_draw=shared), noise, NONE, {}, 0.05)
        assert with_noise("supported", share, 0.05, False) == expected


def one_seed(reported: Cells, theirs: int, **late: float) -> tuple[str, float | None]:
    """fedavg's 1.0 < afl's 1.1, of one seed where the paper has so many; `late`: what last evaluations measured."""
    cells = Cells({
        ("full", Variant(name, {}), metric): Cell(value, seeds=1)
        for name, mean in (("fedavg", 1.0), ("afl", 1.1))
        for metric, value in {"loss": mean, **late}.items()
    })  # fmt: skip
    judge = partial(evaluate, parse("loss(fedavg) < loss(afl)", "c"), setting="full", rows=[], digits=lambda metric: 3)
    share, unknown = share_of_resamples(judge, cells, {}, reported, {"full": theirs}, 0.05)
    return with_noise(judge(cells).status, share, 0.05, unknown), share


LATE = {"loss_late_std": 0.001, "n_late": 10.0}  # seeds may scatter more than one run's evaluations do


@pytest.mark.parametrize(
    ("std", "theirs", "late", "status", "share"),
    [
        # With the spreads that the paper prints.
        (0.001, 5, {}, "supported", 1.0), (0.2, 5, {}, "inconclusive", pytest.approx(0.6, abs=0.3)),
        # Nothing is known of the noise: that counts if the paper has more seeds.
        (None, 5, {}, "inconclusive", None), (None, 1, {}, "supported", None),
        (None, 5, LATE, "inconclusive", 1.0), (None, 1, LATE, "supported", 1.0),
    ],
)  # fmt: skip
def test_a_claim_of_one_seed_is_judged_by_what_is_known_of_others(std, theirs, late, status, share) -> None:
    printed = Cells({
        ("full", Variant(name, {}), "loss"): Cell(1.0, std, spread_kind="std") for name in ("fedavg", "afl")
    })  # fmt: skip
    assert one_seed(printed if std else Cells(), theirs, **late) == (status, share)


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        ("loss(fedavg) < min_over(loss, !fedavg)", "supported against 1 of 2 that were run; "),
        ("argmin loss == fedavg", "supported against 1 of 2 that were run; "),
        ("loss(fedavg) < loss(afl)", ""),  # of no other rows
        ("loss(fedavg) < min_over(loss, afl)", ""),  # none of them ran
    ],
)
def test_a_claim_over_rows_that_were_not_all_run_says_what_it_is_without_them(tmp_path, expr, reason) -> None:
    rows = [*TABLE["rows"], {"algorithm": "afl"}]
    (line,) = judge(tmp_path, claim(expr), rows=rows)
    missing = "no value for loss of afl in full"
    assert (line.status, line.reason) == ("missing numbers", reason + missing)
