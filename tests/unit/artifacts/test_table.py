"""Tables from hand-made numbers: the exact text of all three files."""

import json
import re
import subprocess
import sys

import pytest

from fairfl.artifacts.inputs import fixed
from fairfl.artifacts.table import latex, latex_table, markdown, results_table, static_table
from fairfl.errors import FairflError

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
    text = "setting,algorithm,hyperparameters,seed,metric,value,unit,data,rounds,run,fingerprint\n"
    for (algorithm, hyper, seed), values in numbers.items():
        for metric, unit, value in zip(METRICS, ("nats", "fraction"), values, strict=True):
            run = f"{setting}/{algorithm}/{hyper or 'default'}/seed{seed}"
            text += f"{setting},{algorithm},{hyper},{seed},{metric},{value},{unit},digits,40,{run},abc\n"
    path.write_text(text)
    return str(path)


@pytest.fixture
def spec(tmp_path):
    facts = {"data": "digits (stand-in for emnist)", "rounds": 40, "seeds": 2, "changed": ["rounds: 10000 -> 40"]}
    return {
        "paper": "eagle",
        "id": "table1",
        "artifact": {
            "kind": "table", "title": "Table 1", "caption": r"Gaps for Dir($\alpha = 0.1$), L*_k & 50% of all",
            "settings": ["emnist_a0.1"], "rows": [{"algorithm": a, "hyperparameters": h} for a, h in ROWS],
            "columns": list(METRICS), "rules": [4], "plot": None, "options": {}, "header": [], "content": [],
            "spread": "",
        },
        "metrics": METRICS,
        "algorithms": {"afl": "AFL", "fedavg": "FedAvg", "qffl": "q-FFL", "eagle": "EAGLE"},
        "scale": "quick",
        "settings": {"emnist_a0.1": facts},
        "code": {},
        "files": {"tidy": {"emnist_a0.1": tidy(tmp_path / "tidy.csv")}},
    }  # fmt: skip


CSV = """\
artifact,setting,algorithm,hyperparameters,metric,unit,mean,std,seeds,data,runs
eagle_table1,emnist_a0.1,afl,,gap_max,nats,0.3,0.05,2,digits (stand-in for emnist),R/afl/default/seed0 R/afl/default/seed1
eagle_table1,emnist_a0.1,afl,,accuracy_mean,fraction,0.625,0.125,2,digits (stand-in for emnist),R/afl/default/seed0 R/afl/default/seed1
eagle_table1,emnist_a0.1,fedavg,,gap_max,nats,-0.0002,0.0001,2,digits (stand-in for emnist),R/fedavg/default/seed0 R/fedavg/default/seed1
eagle_table1,emnist_a0.1,fedavg,,accuracy_mean,fraction,0.625,0,2,digits (stand-in for emnist),R/fedavg/default/seed0 R/fedavg/default/seed1
eagle_table1,emnist_a0.1,qffl,q=1.0,gap_max,nats,nan,,2,digits (stand-in for emnist),R/qffl/q=1.0/seed0 R/qffl/q=1.0/seed1
eagle_table1,emnist_a0.1,qffl,q=1.0,accuracy_mean,fraction,0.15,0.05,2,digits (stand-in for emnist),R/qffl/q=1.0/seed0 R/qffl/q=1.0/seed1
eagle_table1,emnist_a0.1,qffl,q=3.0,gap_max,nats,,,0,digits (stand-in for emnist),
eagle_table1,emnist_a0.1,qffl,q=3.0,accuracy_mean,fraction,,,0,digits (stand-in for emnist),
eagle_table1,emnist_a0.1,eagle,lambda=0.1,gap_max,nats,-0.4,,1,digits (stand-in for emnist),R/eagle/lambda=0.1/seed0
eagle_table1,emnist_a0.1,eagle,lambda=0.1,accuracy_mean,fraction,0.25,,1,digits (stand-in for emnist),R/eagle/lambda=0.1/seed0
""".replace("R/", "emnist_a0.1/")  # noqa: E501

MD = r"""**Table 1.** Gaps for Dir($\alpha = 0.1$), L\*_k & 50% of all

| Algorithm | $\max_k r_k(\theta)$ ↓ | accuracy ↑ |
| :--- | ---: | ---: |
| AFL | 0.300 (± 0.050) | **0.62** (± 0.12) |
| FedAvg | 0.000 (± 0.000) | **0.62** (± 0.00) |
| q-FFL q = 1.0 | diverged | 0.15 (± 0.05) |
| q-FFL q = 3.0 | – | – |
| EAGLE λ = 0.1 | **-0.400** | 0.25 |

Scale: quick. Made from a stand-in: digits for emnist. Data: digits (stand-in for emnist); 40 rounds; 2 seeds. Changed by the scale: rounds: 10000 -> 40. – Not run: q-FFL q = 3.0. Diverged (a seed ended without a finite value): q-FFL q = 1.0. Fewer seeds: EAGLE λ = 0.1 (1).
"""  # noqa: E501

TEX = r"""\begin{table}[htbp]
\centering\small
\caption{Table 1 (eagle). Gaps for Dir($\alpha = 0.1$), L*\_k \& 50\% of all}
\label{tab:eagle-table1}
\begin{tabular}{lrr}
\toprule
Algorithm & $\max_k r_k(\theta)$ $\downarrow$ & accuracy $\uparrow$ \\
\midrule
AFL & 0.300 ($\pm$ 0.050) & \textbf{0.62} ($\pm$ 0.12) \\
FedAvg & 0.000 ($\pm$ 0.000) & \textbf{0.62} ($\pm$ 0.00) \\
q-FFL $q = 1.0$ & diverged & 0.15 ($\pm$ 0.05) \\
q-FFL $q = 3.0$ & -- & -- \\
\midrule
EAGLE $\lambda = 0.1$ & \textbf{$-$0.400} & 0.25 \\
\bottomrule
\end{tabular}
\par\smallskip\parbox{\linewidth}{\footnotesize Scale: quick. Made from a stand-in: digits for emnist. Data: digits (stand-in for emnist); 40 rounds; 2 seeds. Changed by the scale: rounds: 10000 $\to$ 40. -- Not run: q-FFL q = 3.0. Diverged (a seed ended without a finite value): q-FFL q = 1.0. Fewer seeds: EAGLE $\lambda$ = 0.1 (1).}
\end{table}
"""  # noqa: E501


def assert_compiles(tex):
    """Braces, dollars and environments are balanced; nothing outside ASCII and Latin letters is left."""
    bare = re.sub(r"\\[\\{}$&%#_]", "", tex)
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0 and bare.count("$") % 2 == 0
    open_environments = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", tex):
        if what == "begin":
            open_environments.append(name)
        else:
            assert open_environments.pop() == name
    assert not open_environments
    outside_math = re.sub(r"\$[^$]*\$", "", bare)
    outside_math = re.sub(r"\\label\{[^}]*\}", "", outside_math)
    assert not set(outside_math) & set("_^#%")
    assert tex.isascii()
    columns = len(re.search(r"\\begin\{tabular\}\{([lrc]+|[lrc]*p\{[^}]*\}+)\}", tex)[1].split("p")[0])
    columns += "p{" in tex
    for line in re.findall(r"^(.*) \\\\$", tex, re.M):
        assert len(re.findall(r"(?<!\\)&", line)) == columns - 1


def test_csv_markdown_and_latex_to_the_letter(spec):
    csv, md, tex = results_table(spec)
    assert csv == CSV
    assert md == MD
    assert tex == TEX
    assert_compiles(tex)


def test_one_seed_has_no_spread(spec, tmp_path):
    one = {key: values for key, values in NUMBERS.items() if key[2] == 0}
    spec["files"]["tidy"]["emnist_a0.1"] = tidy(tmp_path / "one.csv", one)
    spec["settings"]["emnist_a0.1"]["seeds"] = 1
    csv, md, tex = results_table(spec)
    assert "±" not in md and r"\pm" not in tex
    assert "1 seed." in md and "Fewer seeds" not in md
    assert all(line.split(",")[7] == "" for line in csv.splitlines()[1:])


def test_paper_data_is_not_called_a_stand_in(spec):
    spec["settings"]["emnist_a0.1"] |= {"data": "emnist", "changed": []}
    spec["scale"] = "paper"
    for text in results_table(spec):
        assert "stand-in" not in text and "Changed" not in text


def test_several_settings_have_a_column_and_their_own_best(spec, tmp_path):
    other = {("afl", "", 0): (0.9, 0.1), ("fedavg", "", 0): (0.8, 0.2)}
    spec["artifact"] |= {
        "settings": ["emnist_a0.1", "iid"],
        "rows": spec["artifact"]["rows"][:2],
        "rules": [],
        "options": {"labels": {"emnist_a0.1": "$\\alpha = 0.1$"}},
    }
    spec["settings"]["iid"] = {"data": "emnist", "rounds": 7, "seeds": 1, "changed": []}
    spec["files"]["tidy"]["iid"] = tidy(tmp_path / "other.csv", other, "iid")
    csv, md, tex = results_table(spec)
    assert "| iid | FedAvg | **0.800** | **0.20** |" in md
    assert "| $\\alpha = 0.1$ | FedAvg | **0.000** (± 0.000) | **0.62** (± 0.00) |" in md
    assert "$\\alpha = 0.1$: Data: digits (stand-in for emnist); 40 rounds; 2 seeds." in md
    assert "iid: Data: emnist; 7 rounds; 1 seed." in md
    assert csv.count("\neagle_table1,iid,") == 4
    assert "\\midrule\niid & AFL" in tex
    assert_compiles(tex)


def test_units_are_those_of_the_paper(spec):
    spec["metrics"] = METRICS | {"accuracy_mean": METRICS["accuracy_mean"] | {"unit": "percent", "digits": 1}}
    csv, md, _ = results_table(spec)
    assert "**62.5** (± 12.5)" in md
    assert ",accuracy_mean,percent,62.5,12.5,2," in csv


def test_metric_without_a_value_is_not_called_a_missing_run(spec):
    spec["artifact"]["columns"] = ["gap_max", "gap_min"]
    spec["metrics"] = METRICS | {"gap_min": METRICS["gap_max"] | {"name": "min"}}
    _, md, _ = results_table(spec)
    assert "– No value: gap_min of AFL, gap_min of FedAvg" in md


def test_seed_that_stands_twice(spec, tmp_path):
    path = tmp_path / "tidy.csv"
    path.write_text(path.read_text() + path.read_text().split("\n")[1] + "\n")
    with pytest.raises(FairflError, match="emnist_a0.1: AFL: metric gap_max stands twice for one seed"):
        results_table(spec)


def test_metric_without_direction_has_no_best(spec):
    spec["metrics"] = {name: metric | {"direction": None} for name, metric in METRICS.items()}
    _, md, tex = results_table(spec)
    assert "**-0" not in md and "textbf" not in tex and "↓" not in md and "arrow" not in tex


STATIC = {
    "paper": "eagle", "id": "table3", "metrics": {}, "algorithms": {}, "scale": "quick", "settings": {}, "code": {},
    "artifact": {
        "kind": "static_table", "title": "Table 3", "caption": "Notation", "settings": [], "rows": [], "columns": [],
        "rules": [2], "plot": None, "options": {}, "header": ["Symbol", "Meaning"], "spread": "",
        "content": [
            ["$w_k$", "weight of client k, 100% & more"],
            ["$|S|$", "size_of a|b {set}"],
            ["λ", "trade-off ≥ 0, a price of $5"],
        ],
    },
}  # fmt: skip


def test_static_table(spec):
    csv, md, tex = static_table(STATIC)
    assert csv.splitlines()[:2] == ["Symbol,Meaning", '$w_k$,"weight of client k, 100% & more"']
    assert md == (
        "**Table 3.** Notation\n\n| Symbol | Meaning |\n| :--- | :--- |\n"
        "| $w_k$ | weight of client k, 100% & more |\n| $\\vert S\\vert $ | size_of a\\|b {set} |\n"
        "| λ | trade-off ≥ 0, a price of $5 |\n"
    )
    assert "$w_k$ & weight of client k, 100\\% \\& more \\\\\n$|S|$ & size\\_of a$|$b \\{set\\} \\\\" in tex
    assert "\\midrule\n$\\lambda$ & trade-off $\\ge$ 0, a price of \\$5 \\\\\n" in tex
    assert_compiles(tex)


def test_bracket_at_the_start_of_a_line_is_no_argument():
    assert "\n{}[0, 1] & x \\\\\n" in latex_table(["a", "b"], [["[0, 1]", "x"]], set(), "ll")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b^c~d\\e", r"a\_b\textasciicircum{}c\textasciitilde{}d\textbackslash{}e"),
        ("µ ± 1 – x²", r"$\mu$ $\pm$ 1 -- x$^{2}$"),
        ("Müller $λ_k$", r"Müller $\lambda _k$"),
        ("$5 and 7%", r"\$5 and 7\%"),
        ("two\n  lines", "two lines"),
    ],
)
def test_latex(text, escaped):
    assert latex(text) == escaped


def test_latex_refuses_what_it_cannot_write():
    with pytest.raises(FairflError, match=r"U\+6F22"):
        latex("漢")


def test_markdown():
    assert markdown("a*b|c<d `e` $x|y*z$") == r"a\*b\|c\<d \`e\` $x\vert y*z$"


@pytest.mark.parametrize(("value", "text"), [(-0.0004, "0.000"), (0.0005, "0.001"), (-1.5, "-1.500")])
def test_fixed(value, text):
    assert fixed(value, 3) == text


def test_command_line(spec, tmp_path):
    files = {kind: tmp_path / "out" / f"table1.{kind}" for kind in ("csv", "md", "tex")}
    command = [sys.executable, "-c", "import sys; from fairfl import cli; from fairfl.artifacts.table import main; "
               "cli.run(main); assert 'matplotlib' not in sys.modules"]  # fmt: skip
    arguments = [f"--{kind}={path}" for kind, path in files.items()]
    subprocess.run([*command, "--spec", json.dumps(spec), *arguments], check=True)
    assert [files[kind].read_text() for kind in ("csv", "md", "tex")] == [CSV, MD, TEX]
    done = subprocess.run([*command, "--spec", "{", *arguments], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: --spec: not valid JSON")
