"""Tables side by side with the published numbers: ours and theirs in each cell, with the verdict's sign, in the layout
of the table."""

import pytest

from fairfl.judgement.comparison import VERDICTS
from fairfl.reporting.tables.side_by_side import signs, tables_of, texts_of
from tests.unit.reporting import test_page


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
