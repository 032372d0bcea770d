"""Every table of the papers, with and without numbers, can be put into a LaTeX document as it is."""

import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
import yaml

from fairfl.experiments.workload import Workload, load_workload
from fairfl.reporting.artifact import artifact_spec
from fairfl.reporting.facts import Facts
from fairfl.reporting.tables.markup import latex_page, latex_table
from fairfl.reporting.tables.table import table
from tests.unit.reporting.test_table import EXPECTED

COMPILER = shutil.which("pdflatex")
ROOT = Path(__file__).parents[3]
TEX = (EXPECTED / "table1.tex").read_text()
FACTS = Facts(scale="quick", settings={})


@cache
def workload() -> Workload:
    return load_workload(ROOT, yaml.safe_load((ROOT / "config.yaml").read_text()))


def written(name: str) -> str:
    """A table before anything has run."""
    known = workload()
    kinds = dict.fromkeys([*known.known[name][2].needs, "reported"])
    return table(artifact_spec(known, name, {kind: {} for kind in kinds}))[2]


TABLES = [name for name, (_, _, artifact) in workload().known.items() if artifact.kind in ("table", "static_table")]
# What a run has left here, with the paper's numbers beside ours.
MADE = sorted(ROOT.glob("results/quick/*/*.tex"))


def compiled(folder: Path, files: Iterable[Path]) -> str:
    """What LaTeX complains of in a document with nothing but these tables, '' if of nothing."""
    inputs = "\n".join(f"\\typeout{{in {path.name}}}\\input{{{path}}}\\clearpage" for path in files)
    preamble = "\\documentclass{article}\n\\usepackage{booktabs, graphicx}\n"
    return complaints(folder, f"{preamble}\\begin{{document}}\n{inputs}\n\\end{{document}}\n")


def complaints(folder: Path, document: str) -> str:
    """What LaTeX complains of in a document, '' if of nothing; `folder` has what it reads."""
    assert COMPILER is not None
    (folder / "all.tex").write_text(document)
    command = [COMPILER, "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=300)
    said = [line for line in done.stdout.splitlines() if re.match("! |in |Overfull|.*Float too large", line)]
    found = [f"{before}: {line}" for before, line in zip(["", *said], said, strict=False) if line[:3] != "in "]
    return "\n".join(found) or ("" if done.returncode == 0 else done.stdout[-2000:])


def test_a_table_wider_than_the_text_shrinks_to_it() -> None:
    tabular = latex_table(["Algorithm"], [[("accuracy", 1)]], [["FedAvg", "1" * 150]], set(), "lr")
    text = latex_page("eagle", "table1.side_by_side", workload().known["eagle_table1"][2], FACTS, [tabular], "")
    assert r"\usepackage{booktabs, graphicx}" in text
    assert r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{\begin{tabular}" in text


def test_what_no_page_holds_is_several_floats() -> None:
    lines = [["FedAvg", "1"]] * 30
    tabulars = [latex_table(["Algorithm"], [[(name, 1)]], lines, set(), "lr") for name in ("mean", "variance")]
    text = latex_page("eagle", "table1.side_by_side", workload().known["eagle_table1"][2], FACTS, tabulars, "A note.")
    assert text.count(r"\begin{table}") == 2 and text.count("A note.") == 1 and "part 2 of 2" in text
    assert r"\label{tab:eagle-table1-side-by-side}" in text and r"\label{tab:eagle-table1-side-by-side-2}" in text
    short = latex_page("eagle", "t", workload().known["eagle_table1"][2], FACTS, [tabulars[0]], "A note.")
    assert short.count(r"\begin{table}") == 1 and "part" not in short


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no pdflatex here (Debian: texlive-latex-base, texlive-latex-recommended)")
def test_latex_compiles_every_table(tmp_path):
    for name in TABLES:
        (tmp_path / f"{name}.tex").write_text(written(name))
    assert compiled(tmp_path, sorted(tmp_path.glob("*.tex")) + MADE) == ""
    (tmp_path / "table1.tex").write_text(TEX)
    (whole,) = (line for line in TEX.splitlines() if line.startswith("% A whole document: "))
    assert complaints(tmp_path, whole.removeprefix("% A whole document: ")) == ""
    endless = latex_table(["Algorithm"], [[("mean", 1)]], [["FedAvg" * 30, "1"]] * 200, set(), "lr")
    artifact = workload().known["eagle_table1"][2]
    (tmp_path / "endless.tex").write_text(latex_page("eagle", "t", artifact, FACTS, [endless], "A long note. " * 500))
    assert compiled(tmp_path, [tmp_path / "endless.tex"]) == ""
    (tmp_path / "broken.tex").write_text(TEX.replace(r"\textbf{0.62}", r"\textbf{0.62", 1))
    assert compiled(tmp_path, [tmp_path / "broken.tex"])
