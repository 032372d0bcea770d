"""Tables beside the paper's: ours and theirs in each cell, with the verdict's sign, in the layout of the table."""

import json

import pytest

from fairfl.experiments.paper import Artifact
from fairfl.jobs.beside import main
from fairfl.judgement.comparison import VERDICTS
from fairfl.reporting.tables.beside import page, pages, signs, tables_of
from tests.unit.reporting import test_page
from tests.unit.reporting.latex import faults


@pytest.fixture
def built(tmp_path):
    return test_page.build(tmp_path)


def test_each_cell_has_both_numbers_and_the_sign(built) -> None:
    workload, results = built
    (name,) = tables_of(workload)
    md, tex = pages(workload, results)
    assert list(faults(tex)) == []
    assert name == "demo_table1" and "| Dataset | Algorithm | $\\max_k L_k$ ↓ | accuracy ↑ |" in md
    assert "| demo_full | FedAvg | 1.10 ± 0.10 / 1.10 ± 0.10 ✓ | – / – |" in md
    assert "| demo_full | q-FFL q = 1.0 | 1.10 ± 0.10 / 9.00 ± 0.10 ✗ | – / – |" in md
    assert "Each cell: ours / the paper's" in md and "✓ agrees. ✗ differs." in md and "≠" not in md
    assert "– no number: not run here, or not printed in the paper. Units: nats ($\\max_k L_k$), percent" in md
    assert md.endswith(" Scale: tiny.\n") and "\\label{tab:demo-table1-beside}" in tex


def test_a_wide_table_has_the_papers_numbers_below_ours(built) -> None:
    """Long names of settings make this one wide."""
    _, tex = pages(*built)
    assert "FedAvg & 1.10 $\\pm$ 0.10 $\\surd$ & -- \\\\\n &  & 1.10 $\\pm$ 0.10 & -- \\\\" in tex
    assert "In each cell ours, below it the paper's" in tex and "Each cell: ours /" not in tex


def test_what_tells_nothing_says_so_here_too(built) -> None:
    workload, results = built
    workload.scale.tells_nothing["demo_table1"] = "of all"
    md, tex = pages(workload, results)
    assert list(faults(tex)) == []
    assert md.splitlines()[0].endswith("** [tiny: tells nothing of all] Stand-in: digits for synthetic gaussian.")
    assert "[tiny: tells nothing of all] (demo, Table 1, beside the paper's; stand-in" in tex


def test_numbers_in_brackets_have_their_own_sign(built) -> None:
    workload, _ = built
    columns, layout = ["loss", "acc"], {"brackets": {"loss": "acc"}}
    table = Artifact(
        kind="table",
        title="T",
        caption="c",
        settings=["demo_full"],
        rows=test_page.ROWS,
        columns=columns,
        layout=layout,
    )
    empty = dict.fromkeys(
        ("reported_spread", "reported_note", "note", "contradiction", "difference", "runs", "fingerprints", "ours_std"),
        "",
    )
    base = {
        "setting": "demo_full",
        "algorithm": "fedavg",
        "hyperparameters": "",
        "seeds": "1",
        "reported_seeds": "3",
        "provenance": "paper",
    } | empty
    lines = [
        base | {"metric": "loss", "unit": "nats", "ours": "1.5", "reported": "1.25", "verdict": "close"},
        base | {"metric": "acc", "unit": "percent", "ours": "50", "reported": "60", "verdict": "not comparable: scale"},
    ]
    md, tex = page(workload, "demo", "table9", table, lines)
    assert list(faults(tex)) == []
    assert "| FedAvg | 1.50 (50.0) / 1.25 (60.0) ≈≠ |" in md and "– no number" not in md
    assert "FedAvg & 1.50 (50.0) / 1.25 (60.0) $\\approx$$\\neq$ " in tex and "Each cell: ours /" in tex
    assert "≈ close. ≠ not judged, other scale." in md
    assert "Ours of 1 of the paper's 3 seeds." in md


def test_every_verdict_has_a_sign_with_a_meaning() -> None:
    text = " ".join(signs(VERDICTS))
    assert "≠ not judged, other scale, or not judged, stand-in data" in text and "! diverged." in text
    assert "not reported" not in text  # a dash says so


def test_the_job_writes_the_files_in_turn(built, tmp_path) -> None:
    _, results = built
    files = [results / f"demo/table1.beside.{ending}" for ending in ("md", "tex")]
    config = json.dumps({"scale": "tiny", "papers": ["demo"]})
    main(["--config", config, "--root", str(tmp_path), "--results", str(results), "--out", *map(str, files)])
    assert files[0].read_text().startswith("**Table 1, beside the paper's: ")
    assert files[1].read_text().startswith("% To be \\input;")
