"""What the page says first, what it was made from; tables side by side with the published numbers."""

import json
import subprocess
from pathlib import Path

import pytest

from fairfl.experiments.paper import Paper
from fairfl.experiments.workload import load_workload
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.ranking import RankingLine
from fairfl.judgement.rows import ComparisonLine
from fairfl.reporting.compared import row_of
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.page.details import sentences_on
from fairfl.reporting.page.files import Files
from fairfl.reporting.page.made import describe_code, describe_runs, read_summaries
from fairfl.reporting.page.numbers import table_views
from fairfl.reporting.page.page import PageRows, farthest
from fairfl.reporting.page.settings import setting_view
from fairfl.reporting.tables.side_by_side import signs, tables_of, texts_of
from tests.unit.reporting import demo, test_page
from tests.unit.rows import compared

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


def test_tau_is_a_mean_over_the_columns_that_were_judged() -> None:
    found = ((1.0, True), (0.5, True), (-1.0, False), (None, True))
    rankings = [RankingLine("a", "s", "m", 3, tau, None, None, None, checked) for tau, checked in found]
    assert PageRows([], [], rankings).tau == "+0.75 over 2 columns"
    assert PageRows([], [], rankings[2:]).tau == "" and PageRows([], [], rankings[:1]).tau == "+1.00 over 1 column"


def test_the_farthest_comes_first_and_what_has_no_noise_estimate_last() -> None:
    changes = (
        {"difference": "-90", "tolerance": "0.05", "seed_std": "", "metric": "unknown"},  # rounding alone
        {"difference": "3", "reported": "47"},
        {"difference": "-10"},
        {"difference": "-10", "artifact": "demo_table1", "contradiction": ""},  # the same number, printed again
        {"difference": "", "ours": "", "ours_std": "", "reported": "7", "verdict": "diverged"},
        {"verdict": "agrees", "reported": "51", "difference": "99"},
    )
    lines = [compared(LINE, **change) for change in changes]
    shown = farthest({"full scale": lines}, {"demo": Paper(**PAPER)})
    assert [number.line.difference for _, _, number, _ in shown] == [None, -10, 3, -90]
    scale, paper, number, times = shown[1]
    assert (scale, paper.called, times) == ("full scale", "demo", 5.0)
    assert (number.row.label, number.metric) == ("FedFV α = 0.1", "Ave.")
    assert number.both == ("50.0 ± 1.0", "60.0") and shown[0][2].both == ("diverged", "7.0")


def test_a_line_is_checked_if_its_number_is_at_full_scale() -> None:
    paper, here = Paper(**PAPER), compared(LINE, verdict="not comparable: scale")
    for stored, marks in (({here.place: compared(LINE)}, (True, True)), ({}, (False, False))):
        (view,) = table_views([here], paper, paper.artifacts["table1"], [], {"x": (5, 9)}, stored)
        assert [(row["checked"], row["differing"]) for row in view["rows"]] == [marks]


def test_a_number_stands_in_the_row_of_its_setting() -> None:
    line = compared(LINE, setting="y")
    rows = [ShownRow(line.variant, "FedFV", setting, printed=setting) for setting in ("x", "y")]
    assert row_of(line, rows, {}) == rows[1]
    assert row_of(line, rows[:1], {"fedfv": "FedFV"}).label == "FedFV α = 0.1"


def test_tables_side_by_side_belong_to_the_selection_and_all_else_to_the_results(tmp_path) -> None:
    page = tmp_path / "selections/a/index.html"
    for file in (tmp_path / "demo/t.md", page.parent / "demo/t.side_by_side.md"):
        file.parent.mkdir(parents=True)
        file.touch()
    files = Files(tmp_path, page)
    links = [files.link(f"demo/t.{ending}") for ending in ("md", "side_by_side.md", "tex")]
    assert links == ["../../demo/t.md", "demo/t.side_by_side.md", ""]


def test_a_setting_lists_values_that_are_no_defaults_with_or_without_a_source(tmp_path) -> None:
    setting = {key: value for key, value in demo.SETTING.items() if key != "sources"}
    table = PAPER["artifacts"]["table1"] | {"settings": ["demo_x"]}
    own = {"sources": "own", "settings": {"demo_x": setting}, "artifacts": {"table1": table}}
    demo.project(tmp_path, PAPER | own)
    view = setting_view(load_workload(tmp_path, {"scale": "tiny", "papers": ["demo"]}), "demo_x")
    keys = [key for key, *_ in view["rows"]]
    assert "rounds" in keys and "local_epochs" not in keys


def test_details_say_how_hyperparameters_are_known_unless_the_paper_prints_them() -> None:
    for provenance, is_said in (("assumed", True), ("paper", False)):
        texts = sentences_on(compared(LINE, provenance=provenance), "FedFV", None, "seeds", None)
        assert (f"Hyper-parameters: {provenance}." in texts) == is_said


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
    lines += [summary(tmp_path, "d", "{damaged"), summary(tmp_path, "e", "[]"), made_by("a;gone"), made_by("")]
    described = describe_runs(read_summaries(tmp_path, lines))
    assert (described["runs"], described["seconds"]) == (3, "4 min")
    assert (described["machines"], described["versions"]) == (["EPYC", "Xeon"], ["python 3.11", "torch 2.1"])


def test_the_commit_is_named_and_whether_it_was_changed(tmp_path) -> None:
    assert describe_code(tmp_path) == {"commit": "", "date": ""}
    (tmp_path / "file").write_text("a")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "file"], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    clean = describe_code(tmp_path)
    assert len(clean["commit"]) == 12 and clean["date"][:2] == "20"
    (tmp_path / "file").write_text("b")
    assert describe_code(tmp_path)["commit"] == f"{clean['commit']}, changed since"


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
