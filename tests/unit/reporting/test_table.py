"""Tables from hand-made numbers: the exact text of all three files."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from fairfl.experiments.workload import Workload, load_workload
from fairfl.reporting.artifact import artifact_spec
from fairfl.reporting.footer import Facts, condensed
from fairfl.reporting.tables import table as tables
from fairfl.reporting.tables.markup import latex, latex_page, latex_table
from tests.defaults import CONFIG
from tests.unit.reporting import demo

METRICS = {
    "gap_max": {"name": r"$\max_k r_k(\theta)$", "meaning": "", "unit": "nats", "direction": "down", "digits": 3},
    "accuracy_mean": {"name": "accuracy", "meaning": "", "unit": "fraction", "direction": "up", "digits": 2},
}
# algorithm, hyper-parameters, seed -> gap_max, accuracy_mean
NUMBERS = {
    ("afl", "", 0): (0.25, 0.5),
    ("afl", "", 1): (0.35, 0.75),
    ("fedavg", "", 0): (-0.0001, 0.625),
    ("fedavg", "", 1): (-0.0003, 0.625),
    ("qffl", "q=1.0", 0): (float("nan"), 0.1),
    ("qffl", "q=1.0", 1): (0.1, 0.2),
    ("eagle", "lambda=0.1", 0): (-0.4, 0.25),
}
ROWS = [("afl", {}), ("fedavg", {}), ("qffl", {"q": 1.0}), ("qffl", {"q": 3.0}), ("eagle", {"lambda": 0.1})]


def tidy(path, numbers=NUMBERS, setting="emnist_a0.1"):
    return demo.tidy(path, [
        (setting, *key, metric, value, unit)
        for key, values in numbers.items()
        for metric, unit, value in zip(METRICS, ("nats", "fraction"), values, strict=True)
    ])  # fmt: skip


@pytest.fixture
def spec(tmp_path):
    facts = {"data": "digits (stand-in for emnist)", "rounds": 40, "changed": ["rounds: 10000 -> 40"]}
    files = {"tidy": {"emnist_a0.1": tidy(tmp_path / "tidy.csv")}}
    return demo.spec(
        "eagle_table1", files, facts, METRICS, kind="table", title=r"Table 1: Dir($\alpha = 0.1$), L*_k & 50% of all",
        settings=["emnist_a0.1"], rows=[{"algorithm": a, "hyperparameters": h} for a, h in ROWS],
        columns=list(METRICS), rules=[4],
    )  # fmt: skip


EXPECTED = Path(__file__).parent / "expected"


def build(spec):
    """(CSV, Markdown, LaTeX) of a table."""
    return tables.table(demo.parsed(spec))


def test_csv_markdown_and_latex_to_the_letter(spec):
    for kind, text in zip(("csv", "md", "tex"), build(spec), strict=True):
        assert text == (EXPECTED / f"table1.{kind}").read_text()


def test_a_column_for_all_clients_is_a_column_for_each(spec, tmp_path):
    """Settings may have other clients; the family's description names each."""
    metric = {"name": "loss", "meaning": "", "unit": "nats", "direction": "down", "digits": 1}
    spec["metrics"] = {**METRICS, "loss_client_k": metric}
    spec["artifact"]["columns"] = ["accuracy_mean", "loss_client_k"]
    spec["artifact"]["columns_of"] = {"afl": ["loss_client_k"]}
    lines = Path(spec["files"]["tidy"]["emnist_a0.1"]).read_text().splitlines()
    more = [line.replace("gap_max", f"loss_client_{k}") for k in (10, 2) for line in lines if ",gap_max," in line]
    Path(spec["files"]["tidy"]["emnist_a0.1"]).write_text("\n".join([*lines, *more]) + "\n")
    csv, md, tex = build(spec)
    assert "| Algorithm | accuracy ↑ | loss, client 2 ↓ | loss, client 10 ↓ |" in md
    assert "| AFL |  | 0.3 (± 0.0) | 0.3 (± 0.0) |" in md and "No value" not in md
    assert "loss, client 10 $\\downarrow$" in tex and ",loss_client_10,nats,0.3," in csv
    path = Path(spec["files"]["tidy"]["emnist_a0.1"])
    named = pd.read_csv(path, dtype=str, keep_default_na=False).assign(owners=json.dumps(["a", "b", "north $"]))
    named.to_csv(path, index=False)
    _, md, tex = build(spec)
    assert r"| loss, north \$ ↓ | loss, client 10 ↓ |" in md and r"loss, north \$ $\downarrow$" in tex


def test_a_source_of_many_codes_names_two():
    codes = [f"{code:012x}" for code in range(15)]
    sources = [f"MNIST; stored with the code of {code}" for code in codes]
    assert condensed(sources[:3]) == [f"{sources[0]} and {codes[1]} and {codes[2]}"]
    assert condensed(sources) == [f"{sources[0]} and {codes[1]} and others"]


def test_one_seed_has_no_spread(spec, tmp_path):
    one = {key: values for key, values in NUMBERS.items() if key[2] == 0}
    spec["files"]["tidy"]["emnist_a0.1"] = tidy(tmp_path / "one.csv", one)
    spec["settings"]["emnist_a0.1"]["seeds"] = 1
    csv, md, tex = build(spec)
    assert "±" not in md and r"\pm" not in tex
    assert "1 seed." in md and "Seeds run" not in md
    assert all(line.split(",")[7] == "" for line in csv.splitlines()[1:])
    spec["settings"]["emnist_a0.1"]["seeds"] = 3
    assert build(spec)[1].endswith(" Seeds run: only 1.\n")  # all rows have so many


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b^c~d\\e", r"a\_b\textasciicircum{}c\textasciitilde{}d\textbackslash{}e"),
        ("µ ± 1 – x²", r"$\mu$ $\pm$ 1 -- x$^{2}$"),
        ("90° τ₀ x¹²", r"90$^{\circ}$ $\tau$$_{0}$ x$^{1}$$^{2}$"),
        ("q = 0.5 ᵃⁱ*", r"q = 0.5 \textsuperscript{a}\textsuperscript{i}*"),
        ("Müller $λ_k$", r"Müller $\lambda _k$"),
        ("$5 and 7%", r"\$5 and 7\%"),
        ("two\n  lines", "two lines"),
        ("5 € ñ\u200b\u202eł", r"5 \texteuro{} ñł"),
        ("漢字 ą", "漢字 ą"),  # of XeLaTeX and LuaLaTeX
        (r"cost_\$, gain_\$: $5 and $6", r"cost\_\$, gain\_\$: \$5 and \$6"),
    ],
)
def test_latex(text, escaped):
    assert latex(text) == escaped


# -- metrics as lines -------------------------------------------------------------------------
LAYOUTS = {
    "accuracy_mean": {"name": "Avg Acc", "meaning": "", "unit": "fraction", "direction": "up", "digits": 2},
    "loss_mean": {
        "name": "Avg Loss", "meaning": "", "unit": "nats", "other_units": ["mse"], "direction": "down", "digits": 2,
    },
    "loss_parity": {"name": "Parity", "meaning": "", "unit": "mse", "direction": "down", "digits": 2},
}  # fmt: skip


def lines_of_tidy(path, setting, numbers, unit="nats"):
    """A tidy file: algorithm, hyper-parameters, metric, value of each line."""
    units = {"accuracy_mean": "fraction", "loss_mean": unit, "loss_parity": "mse"}
    return demo.tidy(path, [(setting, name, hyper, 0, m, value, units[m]) for name, hyper, m, value in numbers])


@pytest.fixture
def grouped(tmp_path):
    """FOCUS with another number of models, FedAvg and, on images only, AFL, in a regression and in a classification."""
    toy = [("focus", "M=2", "loss_mean", 0.25), ("fedavg", "", "loss_mean", 0.5)]
    toy += [("focus", "M=2", "loss_parity", 0.5), ("fedavg", "", "loss_parity", 0.5)]
    mnist = [("focus", "M=3", "accuracy_mean", 0.75), ("fedavg", "", "accuracy_mean", 0.5)]
    mnist += [
        ("focus", "M=3", "loss_mean", 0.5),
        ("fedavg", "", "loss_mean", 0.25),
        ("afl", "", "loss_mean", float("nan")),
    ]
    files = {
        "toy": lines_of_tidy(tmp_path / "toy.csv", "toy", toy, "mse"),
        "mnist": lines_of_tidy(tmp_path / "mnist.csv", "mnist", mnist),
    }
    rows = [
        {"algorithm": "focus", "hyperparameters": {"M": 2}, "setting": "toy", "title": "FOCUS"},
        {"algorithm": "focus", "hyperparameters": {"M": 3}, "setting": "mnist", "title": "FOCUS"},
        {"algorithm": "fedavg"},
        {"algorithm": "afl", "setting": "mnist"},
    ]
    return demo.spec(
        "eagle_table1", {"tidy": files}, {"rounds": 40, "seeds": 1}, LAYOUTS, kind="table", settings=list(files),
        rows=rows, columns=list(LAYOUTS), layout={"down": ["setting", "metric"], "across": ["row"]},
        columns_in={"toy": ["loss_mean", "loss_parity"], "mnist": ["accuracy_mean", "loss_mean"]},
        options={"labels": {"toy": "Synthetic", "mnist": "MNIST"}},
    )  # fmt: skip


def test_lines_may_be_metrics_and_columns_variants(grouped):
    csv, md, tex = build(grouped)
    assert md.splitlines()[2:8] == [
        "| Dataset | Metric | FOCUS | FedAvg | AFL |",
        "| :--- | :--- | ---: | ---: | ---: |",
        "| Synthetic | Avg Loss ↓ | **0.25** | 0.50 |  |",
        "| Synthetic | Parity ↓ | **0.50** | **0.50** |  |",
        "| MNIST | Avg Acc ↑ | **0.75** | 0.50 | – |",
        "| MNIST | Avg Loss ↓ | 0.50 | **0.25** | diverged |",
    ]
    assert "– No value: accuracy_mean of AFL (MNIST)." in md and "Cells:" not in md
    assert "\\begin{tabular}{llrrr}" in tex and "\\\\\n\\midrule\nMNIST & Avg Acc $\\uparrow$ & \\textbf{0.75}" in tex
    assert csv.splitlines()[1] == "eagle_table1,toy,focus,M=2,loss_mean,mse,0.25,,1,toy,toy/focus/M=2/seed0,paper,"
    assert ",mnist,focus,M=3,loss_mean,nats,0.5," in csv
    assert not [line for line in csv.splitlines() if ",toy," in line and "accuracy_mean" in line]


# -- every table of the papers, with and without numbers, in a LaTeX document -----------------------------
COMPILER = shutil.which("pdflatex")
ROOT = Path(__file__).parents[3]
TEX = (EXPECTED / "table1.tex").read_text()
FACTS = Facts(scale="quick", settings={})


@cache
def workload() -> Workload:
    return load_workload(ROOT, CONFIG)


def written(name: str) -> str:
    """A table before anything has run."""
    known = workload()
    kinds = dict.fromkeys([*known.known[name][2].needs, "reported"])
    return tables.table(artifact_spec(known, name, {kind: {} for kind in kinds}))[2]


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
