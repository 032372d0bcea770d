"""Text, inline math and tables as Markdown and LaTeX (booktabs)."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from fairfl.experiments.artifact import SelectedArtifact
from fairfl.experiments.variant import latex_symbol, symbol
from fairfl.reporting import formulas
from fairfl.reporting.footer import Facts
from fairfl.reporting.inputs import ShownRow
from fairfl.reporting.marks import MARKS


# -- Markdown ---------------------------------------------------------------------------------------
def markdown(text: str) -> str:
    """Escape what Markdown would read as mark-up. A bar inside math would end the cell: \\vert."""
    return formulas.apply(
        " ".join(text.split()),
        lambda part: re.sub(r"([*|<\\`$])", r"\\\1", part),
        lambda part: part.replace(r"\|", r"\Vert ").replace("|", r"\vert "),
    )


Header = list[list[tuple[str, int]]]  # lines; what stands above the columns, and above how many


def markdown_table(
    corner: list[str], header: Header, body: list[list[str]], rules: set[int], align: str
) -> str:
    """A pipe table. Such have one line of header: more stand below it, in bold; rules are not drawn."""
    lines = [
        [text for text, width in line for text in [text, *[""] * (width - 1)]] for line in header
    ]
    more = [
        ["", *[""] * (len(corner) - 1), *(f"**{text}**" if text else "" for text in line)]
        for line in lines[1:]
    ]
    marks = ["---:" if letter == "r" else ":---" for letter in align]
    return "\n".join(
        "| " + " | ".join(cells) + " |" for cells in [[*corner, *lines[0]], marks, *more, *body]
    )


def markdown_page(
    artifact: SelectedArtifact, facts: Facts, tables: list[str], note_text: str
) -> str:
    """The title line, with the mark of what is uninformative and what stood in for the paper's data; tables; note."""
    stand_in = f"Stand-in: {facts.stand_in}." if facts.stand_in else ""
    marks = filter(None, (facts.telling, stand_in))
    head = " ".join([f"**{markdown(titled(artifact))}.**", *map(markdown, marks)])
    return "\n\n".join(part for part in (head, *tables, markdown(note_text)) if part) + "\n"


def titled(artifact: SelectedArtifact) -> str:
    """'Table 1: main comparison', without a stop at its end."""
    return ": ".join(filter(None, (artifact.title, artifact.caption.rstrip("."))))


# -- LaTeX ------------------------------------------------------------------------------------------
PAGE = 42  # lines of tables that a page of the class article has beside caption and note
# Shrinks what is wider than the text; tables and their note together if they leave a page no room for the caption.
_WIDTH = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%s}"
_HEIGHT = (
    r"\resizebox*{!}{\ifdim\totalheight>.8\textheight.8\textheight\else\totalheight\fi}"
    r"{\begin{minipage}{\linewidth}\centering"
)
_MATH = {letter: f"\\{name}" for name, letter in reversed(formulas.LETTERS.items())} | {
    "−": "-", "ϵ": r"\epsilon", "µ": r"\mu", "✗": r"\times", "°": r"^{\circ}", "∗": r"\ast", "✓": r"\surd",
}  # fmt: skip
_MATH |= {character: f"^{{{digit}}}" for digit, character in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
_MATH |= {character: f"_{{{digit}}}" for digit, character in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_TEXT = {letter: f"${command}$" for letter, command in _MATH.items()} | {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$",
    "–": "--", "—": "---", "“": "``", "”": "''", "’": "'", "‘": "`", "…": r"\dots{}", "\u00a0": "~",
    "€": r"\texteuro{}", "£": r"\pounds{}", "•": r"\textbullet{}", "‰": r"\textperthousand{}", "§": r"\S{}", "⁄": "/",
}  # fmt: skip
_TEXT |= {
    mark: f"\\textsuperscript{{{word[0]}}}" for word, mark in MARKS.items() if not mark.isascii()
}

_IN_MATH = {ord(letter): f"{command} " for letter, command in _MATH.items()}
_IN_TEXT = {ord(letter): written for letter, written in _TEXT.items()}


def latex(text: str) -> str:
    """Text in LaTeX; inline math between $...$ stays (fairfl.reporting.formulas says what that may be).

    Letters without a command stand as they are: pdfLaTeX has those of European languages, XeLaTeX and LuaLaTeX those of
    their font.
    """
    seen = (letter for letter in text if letter.isspace() or letter.isprintable())
    return formulas.apply(
        unicodedata.normalize("NFC", " ".join("".join(seen).split())),
        lambda part: part.replace("->", "→").translate(_IN_TEXT),
        lambda part: part.replace(r"\text{", r"\mbox{").translate(_IN_MATH).rstrip(),
    )


def latex_row(row: ShownRow) -> str:
    """'EAGLE $\\lambda = 0.1$', 'q-FFL $q = 1.0$'; names of several letters stay words."""
    return row.variant.latex(row.title, latex) if row.printed is None else latex(row.printed)


def latex_table(
    corner: list[str], header: Header, body: list[list[str]], rules: set[int], align: str
) -> str:
    """A tabular with booktabs rules; `rules` are the numbers of lines that get a \\midrule above."""
    text = [f"\\begin{{tabular}}{{{align}}}", "\\toprule"]
    for line in header[:-1]:
        above = [
            f"\\multicolumn{{{width}}}{{c}}{{{name}}}" if width > 1 else name
            for name, width in line
        ]
        text.append(" & ".join([*[""] * len(corner), *above]) + r" \\")
        ends = accumulate((width for _, width in line), initial=len(corner))
        text += [f"\\cmidrule(lr){{{a + 1}-{b}}}" for a, b in pairwise(ends) if b > a + 1]
    text += [" & ".join([*corner, *(name for name, _ in header[-1])]) + r" \\", "\\midrule"]
    for number, cells in enumerate(body):
        if number > 0 and number in rules:
            text.append("\\midrule")
        # After a line break LaTeX would take a leading [ or * for an argument.
        guard = "{}" if cells[0][:1] in ("[", "*") else ""
        text.append(f"{guard}{' & '.join(cells)} \\\\")
    return "\n".join([*text, "\\bottomrule", "\\end{tabular}"])


def latex_page(
    paper: str,
    key: str,
    artifact: SelectedArtifact,
    facts: Facts,
    tabulars: list[str],
    note_text: str,
) -> str:
    """A float to \\input, or one for each tabular if a page cannot hold all. LaTeX numbers it itself: what the paper
    calls it stands behind its caption.
    """
    label = f"tab:{paper}-{key}".replace("_", "-").replace(".", "-")
    title = " ".join(latex(part) for part in (artifact.caption.rstrip("."), facts.telling) if part)
    stand_in = f"; stand-in: {facts.stand_in}" if facts.stand_in else ""
    name_in_paper = f"{paper}, {artifact.title}{stand_in}"
    packages = "\\usepackage{booktabs, graphicx}"
    whole = f"\\documentclass{{article}}{packages}\\begin{{document}}\\input{{{key}.tex}}\\end{{document}}"
    text = [f"% To be \\input; needs in the preamble: {packages}", f"% A whole document: {whole}"]
    long = "\n".join(tabulars).count("\\\\\n") > PAGE
    floats = [[tabular] for tabular in tabulars] if long else [tabulars]
    for number, inside in enumerate(floats, start=1):
        part = f"{name_in_paper}; part {number} of {len(floats)}" if floats[1:] else name_in_paper
        text += [
            "\\begin{table}[htbp]",
            "\\centering\\small",
            f"\\caption{{{f'{title} ({latex(part)})' if title else latex(part)}}}",
            f"\\label{{{label}{f'-{number}' if number > 1 else ''}}}",
        ]
        inner = ["\n\\par\\medskip\n".join(_WIDTH % tabular for tabular in inside)]
        if note_text and number == len(floats):
            note = f"{{\\footnotesize {latex(note_text)}}}"
            inner.append(f"\\par\\smallskip\\parbox{{\\linewidth}}{note}")
        text += [_HEIGHT, *inner, r"\end{minipage}}", "\\end{table}"]
    return "\n".join(text) + "\n"


@dataclass(frozen=True)
class Markup:
    """Functions that write a table in a language."""

    text: Callable[[str], str]
    number: Callable[[str], str]
    bold: str
    row: Callable[[ShownRow], str]
    key: Callable[[str], str]  # of a hyper-parameter
    table: Callable[[list[str], Header, list[list[str]], set[int], str], str]


def _number(text: str) -> str:
    """A printed number for LaTeX: a hyphen would be a dash too short."""
    return latex(text.replace("-", "−"))


MARKDOWN = Markup(
    markdown,
    markdown,
    "**%s**",
    lambda row: markdown(row.label),
    lambda key: markdown(symbol(key)),
    markdown_table,
)
LATEX = Markup(
    latex, _number, r"\textbf{%s}", latex_row, lambda key: latex_symbol(key, latex), latex_table
)


def pages(
    paper: str,
    key: str,
    artifact: SelectedArtifact,
    facts: Facts,
    tables: dict[Markup, list[str]],
    note: str,
) -> tuple[str, str]:
    """(Markdown, LaTeX) of an artifact's tables with title, caption and note."""
    return (
        markdown_page(artifact, facts, tables[MARKDOWN], note),
        latex_page(paper, key, artifact, facts, tables[LATEX], note),
    )
