"""python -m fairfl.artifacts.table: one table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. The best value of
a column, ties at the printed precision included, is bold.
"""

import argparse
import math
import re
import statistics
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field

from fairfl import atomic, cli
from fairfl.artifacts.inputs import GREEK, Inputs, Row, finite, fixed, labels, note, read_spec
from fairfl.errors import FairflError
from fairfl.spec.base import Strict
from fairfl.spec.strict import check

MISSING, DIVERGED = "–", "diverged"
ARROWS = {"up": " ↑", "down": " ↓", None: ""}
CSV_COLUMNS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "unit", "mean", "std", "seeds", "data", "runs",
)  # fmt: skip


class Config(Strict):
    """Options of a table."""

    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> name in column Setting")


@dataclass(frozen=True)
class Cell:
    """A metric of one row in one setting: mean and population std over `seeds` seeds, in `unit`."""

    mean: float | None  # None: not run; NaN: a seed diverged
    std: float | None  # None: fewer than two seeds
    seeds: int
    unit: str
    runs: tuple[str, ...]

    def text(self, digits: int) -> str:
        """'0.152', 'diverged' or '–'."""
        if self.mean is None:
            return MISSING
        return fixed(self.mean, digits) if finite(self.mean) else DIVERGED

    def spread(self, digits: int) -> str:
        """'(± 0.207)', '' if there is none."""
        return f"(± {fixed(self.std, digits)})" if finite(self.mean) and finite(self.std) else ""


@dataclass(frozen=True)
class Line:
    """One printed row; `rule` says that the paper draws a rule above it."""

    setting: str
    row: Row
    cells: dict[str, Cell]
    rule: bool


# -- numbers ----------------------------------------------------------------------------------------
def cell(tidy: pd.DataFrame, setting: str, row: Row, metric: str, unit: str) -> Cell:
    """Aggregate a metric over seeds. Raises FairflError if a seed stands twice."""
    own = row.of(tidy)
    own = own[(own["setting"] == setting) & (own["metric"] == metric)].sort_values("seed", kind="stable")
    if own.empty:
        return Cell(None, None, 0, unit, ())
    if own["seed"].duplicated().any():
        raise FairflError(f"{setting}: {row.label}: metric {metric} stands twice for one seed")
    values = own["value"].tolist()
    runs = tuple(own["run"])
    if not all(map(math.isfinite, values)):  # a mean over the surviving seeds would flatter the algorithm
        return Cell(math.nan, None, len(values), unit, runs)
    std = statistics.pstdev(values) if len(values) > 1 else None
    return Cell(statistics.fmean(values), std, len(values), unit, runs)


def lines_of(inputs: Inputs) -> list[Line]:
    """The table's rows, setting by setting."""
    spec, metrics = inputs.spec["artifact"], inputs.spec["metrics"]
    lines = []
    for setting in inputs.settings:
        for number, row in enumerate(inputs.rows):
            cells = {m: cell(inputs.tidy, setting, row, m, metrics[m]["unit"]) for m in spec["columns"]}
            first_of_next = number == 0 and bool(lines)
            lines.append(Line(setting, row, cells, first_of_next or number in spec["rules"]))
    return lines


def best(lines: list[Line], metric: str, direction: str | None, digits: int) -> set[tuple[str, Row]]:
    """(setting, row) of the best values per setting, compared as printed."""
    winners: set[tuple[str, Row]] = set()
    for setting in {line.setting for line in lines} if direction else ():
        shown = {
            line.row: float(line.cells[metric].text(digits))
            for line in lines
            if line.setting == setting and finite(line.cells[metric].mean)
        }
        if len(shown) > 1:
            top = (max if direction == "up" else min)(shown.values())
            winners |= {(setting, row) for row, value in shown.items() if value == top}
    return winners


def remarks(inputs: Inputs, lines: list[Line], names: dict[str, str]) -> None:
    """Say what is missing and why: runs that were not asked for, metrics without a value, divergence."""

    def called(line: Line) -> str:
        return line.row.label if len(names) == 1 else f"{line.row.label} ({names[line.setting]})"

    absent = [line for line in lines if not any(c.seeds for c in line.cells.values())]
    inputs.remark(f"{MISSING} Not run", [called(line) for line in absent])
    empty = [f"{m} of {called(x)}" for x in lines if x not in absent for m, c in x.cells.items() if not c.seeds]
    inputs.remark(f"{MISSING} No value", empty)
    inputs.remark(
        "Diverged (a seed ended without a finite value)",
        [called(x) for x in lines if any(c.text(0) == DIVERGED for c in x.cells.values())],
    )
    asked = inputs.spec["settings"]
    ran = [(x, max(c.seeds for c in x.cells.values())) for x in lines if x not in absent]
    fewer = [f"{called(x)} ({seeds})" for x, seeds in ran if seeds < asked[x.setting]["seeds"]]
    inputs.remark("Fewer seeds", fewer)


# -- CSV --------------------------------------------------------------------------------------------
def csv(inputs: Inputs, lines: list[Line]) -> str:
    """One line per cell; mean is empty for a missing run and 'nan' for a diverged one."""
    records = []
    for line in lines:
        for metric, own in line.cells.items():
            mean, std = ("" if number is None else f"{number + 0.0:.9g}" for number in (own.mean, own.std))
            data = inputs.spec["settings"][line.setting]["data"]
            key = (inputs.name, line.setting, line.row.algorithm, line.row.hyperparameters, metric)
            records.append((*key, own.unit, mean, std, own.seeds, data, " ".join(own.runs)))
    return pd.DataFrame(records, columns=list(CSV_COLUMNS)).to_csv(index=False, lineterminator="\n")


# -- Markdown ---------------------------------------------------------------------------------------
def _outside_math(text: str, plain: Callable[[str], str], math: Callable[[str], str]) -> str:
    """Apply one function to text and another to inline math between $...$ (dollars stay)."""
    parts = re.split(r"(?<!\\)\$", text)
    if len(parts) % 2 == 0:  # a lone dollar is not math
        return plain(text)
    return "".join(f"${math(part)}$" if n % 2 else plain(part) for n, part in enumerate(parts))


def markdown(text: str) -> str:
    """Escape what Markdown would read as mark-up. A bar inside math would end the cell: \\vert."""
    return _outside_math(
        " ".join(text.split()),
        lambda part: re.sub(r"([*|<\\`])", r"\\\1", part),
        lambda part: part.replace(r"\|", r"\Vert ").replace("|", r"\vert "),
    )


def markdown_table(header: list[str], body: list[list[str]], numbers_from: int) -> str:
    """A pipe table; columns from `numbers_from` on are right-aligned."""
    marks = [":---" if n < numbers_from else "---:" for n in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, marks, *body])


def markdown_page(spec: dict[str, Any], table: str, note_text: str) -> str:
    head = f"**{markdown(spec['artifact']['title'])}.** {markdown(spec['artifact']['caption'])}"
    return "\n\n".join(part for part in (head, table, markdown(note_text)) if part) + "\n"


# -- LaTeX ------------------------------------------------------------------------------------------
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "–": "--", "—": "---", "“": "``", "”": "''", "’": "'", "‘": "`", "…": r"\dots{}", "\u00a0": "~",
}  # fmt: skip
_LATEX_MATH = {letter: f"\\{name}" for name, letter in GREEK.items()} | {
    "±": r"\pm", "×": r"\times", "≤": r"\le", "≥": r"\ge", "≠": r"\neq", "≈": r"\approx", "→": r"\to",
    "↑": r"\uparrow", "↓": r"\downarrow", "∞": r"\infty", "·": r"\cdot", "−": "-", "∈": r"\in", "∑": r"\sum",
    "ϵ": r"\epsilon", "κ": r"\kappa", "π": r"\pi", "φ": r"\phi", "χ": r"\chi", "ψ": r"\psi", "ω": r"\omega",
    "µ": r"\mu", "ζ": r"\zeta", "Δ": r"\Delta", "Σ": r"\Sigma", "Λ": r"\Lambda", "Θ": r"\Theta", "Ω": r"\Omega",
    "²": "^{2}", "³": "^{3}", "∗": r"\ast", "‖": r"\Vert", "∇": r"\nabla", "√": r"\surd",
    "✓": r"\surd",  # \checkmark needs amssymb
}  # fmt: skip


def latex(text: str) -> str:
    """Escape text for LaTeX; inline math between $...$ stays. Raises FairflError for an unknown character."""
    return _outside_math(" ".join(text.split()), _latex_plain, _latex_math)


def _latex_plain(text: str) -> str:
    return "".join(_latex_character(character) for character in text.replace("->", "→"))


def _latex_character(character: str) -> str:
    if character in _LATEX:
        return _LATEX[character]
    if character in _LATEX_MATH:
        return f"${_LATEX_MATH[character]}$"
    if character.isascii() or unicodedata.category(character)[0] == "L" and ord(character) < 0x180:
        return character  # accented Latin letters: LaTeX reads UTF-8
    plain = unicodedata.normalize("NFKD", character)
    if not plain.isascii():
        raise FairflError(f"character {character!r} (U+{ord(character):04X}) cannot be written in LaTeX; use $...$")
    return plain


def _latex_math(text: str) -> str:
    return "".join(f"{_LATEX_MATH[c]} " if c in _LATEX_MATH else c for c in text).rstrip()


def latex_row(row: Row) -> str:
    """'EAGLE $\\lambda = 0.1$', 'q-FFL $q = 1.0$'; names of several letters stay words."""
    shown = []
    for key, value in row.values:
        parts = [f"\\{part}" if part in GREEK else part for part in key.split("_")]
        if all(part[0] == "\\" or len(part) == 1 for part in parts):
            name = parts[0] + "".join(f"_{{{part}}}" for part in parts[1:])
            shown.append(f"${name} = {value}$" if isinstance(value, int | float) else f"${name}$ = {latex(str(value))}")
        else:
            shown.append(latex(f"{key} = {value}"))
    return f"{latex(row.title)} {', '.join(shown)}".rstrip()


def latex_table(header: list[str], body: list[list[str]], rules: set[int], columns: str) -> str:
    """A tabular with booktabs rules; `rules` are the row numbers that get a \\midrule above."""
    text = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", " & ".join(header) + r" \\", "\\midrule"]
    for number, cells in enumerate(body):
        if number in rules and number > 0:
            text.append("\\midrule")
        # After a line break LaTeX would take a leading [ or * for an argument.
        guard = "{}" if cells[0][:1] in ("[", "*") else ""
        text.append(guard + " & ".join(cells) + r" \\")
    return "\n".join([*text, "\\bottomrule", "\\end{tabular}"])


def latex_page(spec: dict[str, Any], tabular: str, note_text: str) -> str:
    """A float to \\input; needs \\usepackage{booktabs} and nothing else."""
    artifact = spec["artifact"]
    label = f"tab:{spec['paper']}-{spec['id']}".replace("_", "-")
    text = [
        "\\begin{table}[htbp]",
        "\\centering\\small",
        f"\\caption{{{latex(artifact['title'])} ({latex(spec['paper'])}). {latex(artifact['caption'])}}}",
        f"\\label{{{label}}}",
        tabular,
    ]
    if note_text:
        text.append(f"\\par\\smallskip\\parbox{{\\linewidth}}{{\\footnotesize {latex(note_text)}}}")
    return "\n".join([*text, "\\end{table}"]) + "\n"


# -- the three files --------------------------------------------------------------------------------
def results_table(spec: dict[str, Any]) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs = Inputs(spec)
    artifact, metrics = spec["artifact"], spec["metrics"]
    options = check(artifact["options"], Config, f"papers/{spec['paper']}.yaml", f"artifacts.{spec['id']}.options")
    names = labels(inputs.settings, options.labels)
    lines = lines_of(inputs)
    remarks(inputs, lines, names)
    columns = artifact["columns"]
    winners = {m: best(lines, m, metrics[m]["direction"], metrics[m]["digits"]) for m in columns}
    several = len(names) > 1

    def cells(line: Line, bold: str, escape: Callable[[str], str]) -> list[str]:
        texts = []
        for metric in columns:
            digits = metrics[metric]["digits"]
            mean, spread = (escape(t) for t in (line.cells[metric].text(digits), line.cells[metric].spread(digits)))
            mean = bold % mean if (line.setting, line.row) in winners[metric] else mean
            texts.append(f"{mean} {spread}".rstrip())
        return texts

    titles = ["Setting"] * several + ["Algorithm"]
    titles += [metrics[m]["name"] + ARROWS[metrics[m]["direction"]] for m in columns]
    left = [[names[x.setting]] * several for x in lines]
    note_text = " ".join([note(spec, names), *inputs.remarks])
    md_body = [
        [markdown(t) for t in (*start, x.row.label)] + cells(x, "**%s**", markdown)
        for start, x in zip(left, lines, strict=True)
    ]
    tex_body = [
        [*map(latex, start), latex_row(x.row)] + cells(x, r"\textbf{%s}", _number)
        for start, x in zip(left, lines, strict=True)
    ]
    rules = {number for number, line in enumerate(lines) if line.rule}
    layout = "l" * (several + 1) + "r" * len(columns)
    md = markdown_page(spec, markdown_table([markdown(t) for t in titles], md_body, several + 1), note_text)
    tex = latex_page(spec, latex_table([latex(t) for t in titles], tex_body, rules, layout), note_text)
    return csv(inputs, lines), md, tex


def _number(text: str) -> str:
    """A printed number for LaTeX: a hyphen would be a dash too short."""
    return latex(text.replace("-", "−"))


def static_table(spec: dict[str, Any]) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table whose content stands in the paper's YAML."""
    header, content = spec["artifact"]["header"], spec["artifact"]["content"]
    text = pd.DataFrame(content, columns=header).to_csv(index=False, lineterminator="\n")
    body = [[markdown(c) for c in row] for row in content]
    md = markdown_table([markdown(c) for c in header], body, len(header))
    # The last column of such tables holds prose; without a width it would leave the page.
    longest = max(len(row[-1]) for row in content)
    layout = "l" * (len(header) - 1) + ("p{0.6\\linewidth}" if longest > 50 else "l")
    rules = set(spec["artifact"]["rules"])
    tex = latex_table([latex(c) for c in header], [[latex(c) for c in row] for row in content], rules, layout)
    return text, markdown_page(spec, md, ""), latex_page(spec, tex, "")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.artifacts.table", description=__doc__)
    parser.add_argument("--spec", required=True, help="job spec (JSON)")
    for kind in ("csv", "md", "tex"):
        parser.add_argument(f"--{kind}", required=True, type=Path, help=f"the table as .{kind}")
    args = parser.parse_args(argv)
    spec = read_spec(args.spec)
    build = static_table if spec["artifact"]["kind"] == "static_table" else results_table
    for path, text in zip((args.csv, args.md, args.tex), build(spec), strict=True):
        atomic.write_text(path, text)


if __name__ == "__main__":
    cli.run(main)
