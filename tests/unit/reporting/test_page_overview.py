"""What the page says first, what it was made from; tables side by side with the published numbers; the runs."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Run
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import count
from fairfl.judgement.ranking import RankingLine
from fairfl.judgement.rows import ComparisonLine
from fairfl.reporting.page.made import made_from
from fairfl.reporting.page.overview import card, claims_counted, farthest, numbers_counted, ranked, taus
from fairfl.reporting.tables.side_by_side import signs, tables_of, texts_of
from tests.unit.reporting import demo, test_page
from tests.unit.rows import claim, compared

LINE = {
    "artifact": "demo_table1", "setting": "x", "algorithm": "fedfv", "hyperparameters": "alpha=0.1", "metric": "acc",
    "unit": "percent", "ours": "50", "ours_std": "1", "reported": "60", "reported_spread": "", "seeds": "2",
    "difference": "-10", "tolerance": "2", "seed_std": "0.5", "verdict": "differs", "contradiction": "",
    "reported_seeds": "2",
}  # fmt: skip
TABLE = {"kind": "table", "title": "Table 1", "caption": "c", "settings": ["x"], "columns": ["acc"]}
PAPER = {
    **demo.PAPER,
    "metrics": {"acc": {"name": "Ave.", "meaning": "mean", "unit": "percent", "digits": 1}},
    "algorithms": {"fedfv": {"title": "FedFV"}},
    "settings": {"x": demo.SETTING},
    "artifacts": {"table1": {**TABLE, "rows": [{"algorithm": "fedfv", "hyperparameters": {"alpha": 0.1}}]}},
}


def test_numbers_are_counted_of_those_that_were_judged() -> None:
    verdicts = ("agrees", "agrees", "close", "differs", "diverged", "inconclusive", "not run", "not reported")
    counted = numbers_counted(count(compared(LINE, verdict=word, reported=float(n)) for n, word in enumerate(verdicts)))
    assert (counted["conclusive"], counted["of"].published, counted["seeds"]) == (5, 7, "")
    words = [(number, word) for *_, number, word in counted["counts"]]
    assert words == [(2, "agree"), (1, "close"), (2, "differ"), (1, "inconclusive")]
    one = count([compared(LINE, seeds=1, reported_seeds=5)])
    assert numbers_counted(one)["seeds"] == "1 of them from one seed"


STATUSES = ("supported", "refuted", "inconclusive", "missing numbers", "not evaluated at this scale")


def test_claims_that_cannot_be_decided_are_counted_apart() -> None:
    counted = claims_counted(claim({"artifact": "a", "status": here}) for here in STATUSES)
    assert (counted["checked"], counted["others"]) == (3, 2)


def test_tau_is_a_mean_over_the_columns_that_were_judged() -> None:
    found = ((1.0, True), (0.5, True), (-1.0, False), (None, True))
    rankings = [RankingLine("a", "s", "m", 3, tau, None, None, None, checked) for tau, checked in found]
    assert taus(rankings) == "+0.75 over 2 columns"
    assert taus(rankings[2:]) == "" and card([], [], rankings[:1])["tau"] == "+1.00 over 1 column"


def views(*changes: dict[str, str]) -> list[dict[str, Any]]:
    lines = [compared(LINE, **change) for change in changes]
    return ranked(farthest(lines, {"demo": Paper(**PAPER)}, {"demo_table1": "demo"}, "full scale"))


def test_the_farthest_comes_first_and_what_has_no_noise_estimate_last() -> None:
    shown = views(
        {"difference": "-90", "tolerance": "0.05", "seed_std": "", "metric": "unknown"},  # rounding alone
        {"difference": "3", "reported": "47"},
        {"difference": "-10"},
        {"difference": "-10", "artifact": "demo_table1", "contradiction": ""},  # the same number, printed again
        {"verdict": "agrees", "reported": "51", "difference": "99"},
    )
    assert [view["of"].difference for view in shown] == [-10, 3, -90]
    first = shown[0]
    assert (first["row"], first["metric"], first["times"]) == ("FedFV α = 0.1", "Ave.", 5.0)
    assert (first["title"], first["where"]) == ("Table 1", "full scale")
    assert (first["cell"]["ours"], first["cell"]["reported"]) == ("50.0", "60.0")


# -- what it was made from ----------------------------------------------------------------------
def summary(results: Path, name: str, text: str) -> ComparisonLine:
    path = results / f"runs/{name}/summary.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return made_by(name)


def made_by(runs: str) -> ComparisonLine:
    return compared({"runs": runs})


def test_machines_versions_and_seconds_are_those_of_the_runs(tmp_path) -> None:
    versions = {"torch": "2.1", "python": "3.11"}
    lines = [
        summary(tmp_path, name, json.dumps({"processor": processor, "seconds": 70.0, "versions": versions}))
        for name, processor in (("a", "EPYC"), ("b", "EPYC"), ("c", "Xeon"))
    ]
    lines += [summary(tmp_path, "d", "{damaged"), made_by("a;gone"), made_by("")]
    made = made_from(tmp_path, tmp_path, lines)
    assert (made["runs"], made["seconds"]) == (3, "4 min")
    assert (made["machines"], made["versions"]) == (["EPYC", "Xeon"], ["python 3.11", "torch 2.1"])
    lines = [summary(tmp_path, "e", json.dumps({"arithmetic": {"threads": "2"}})), made_by("a")]
    assert made_from(tmp_path, tmp_path, lines)["arithmetic_of"] == {"e": {"threads": "2"}, "a": {}}


def test_the_commit_is_named_and_whether_it_was_changed(tmp_path) -> None:
    assert made_from(tmp_path, tmp_path, [])["commit"] == ""
    (tmp_path / "file").write_text("a")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "file"], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    clean = made_from(tmp_path, tmp_path, [])
    assert len(clean["commit"]) == 12 and clean["date"][:2] == "20"
    (tmp_path / "file").write_text("b")
    assert made_from(tmp_path, tmp_path, [])["commit"] == f"{clean['commit']}, changed since"


# -- tables side by side with the published numbers -------------------------------------------------
@pytest.fixture
def built(tmp_path):
    return test_page.build(tmp_path)


def test_each_cell_has_both_numbers_and_the_sign(built) -> None:
    workload, results = built
    (name,) = tables_of(workload)
    md, tex = texts_of(workload, results)
    assert name == "demo_table1" and "| Dataset | Algorithm | $\\max_k L_k$ ↓ | accuracy ↑ |" in md
    assert "| demo_full | FedAvg | 1.10 ± 0.10 / 1.10 ± 0.10 ✓ | – / – |" in md
    assert "| demo_full | q-FFL q = 1.0 | 1.10 ± 0.10 / 9.00 ± 0.10 ✗ | – / – |" in md
    assert "Each cell: ours / the paper's" in md and "✓ agrees. ✗ differs." in md and "≠" not in md
    assert "– no number: not run here, or not printed in the paper. Units: nats ($\\max_k L_k$), percent" in md
    assert md.endswith(" Scale: tiny.\n") and "\\label{tab:demo-table1-side-by-side}" in tex
    assert "FedAvg & 1.10 $\\pm$ 0.10 / 1.10 $\\pm$ 0.10 $\\surd$ & -- / -- \\\\" in tex


def test_every_verdict_has_a_sign_with_a_meaning() -> None:
    text = " ".join(signs(VERDICTS))
    assert "≠ not checked, other scale, or not checked, stand-in data" in text and "! diverged." in text
    assert "not reported" not in text  # a dash says so


# -- the runs -------------------------------------------------------------------------------------
RUNS = [Run("toy", Variant("fedfv", {"alpha": 0.1}), seed) for seed in (3, 4)]
