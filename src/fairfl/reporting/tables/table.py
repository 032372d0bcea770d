"""One table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. Seconds are aggregated over
repetitions instead. Rounds to a target that a seed did not reach read "> 300". What was chosen by tuning, counted in a
partition or belongs to the setting is one number, with the paper's own behind it. The best value of a metric over the
rows of a setting, ties at the printed precision included, is bold. Rows whose hyper-parameters are not the paper's own
words carry a mark, explained below the table (fairfl.reporting.marks).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.experiments.variant import symbol
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.cells import number_text
from fairfl.reporting.inputs import Inputs, Row, labels
from fairfl.reporting.marks import USED_HEADER, Known, legend, marks, used_lines
from fairfl.reporting.notes import grouped, note
from fairfl.reporting.tables.layouts import Head, Words, grid_of, title
from fairfl.reporting.tables.lines import TableLine, best, lines_of, on_machines, remarks
from fairfl.reporting.tables.markup import (
    latex,
    latex_key,
    latex_page,
    latex_row,
    latex_table,
    markdown,
    markdown_page,
    markdown_table,
)
from fairfl.runtime.validation import check

CSV_COLUMNS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "unit", "mean", "std", "seeds", "data", "runs",
    "provenance", "note",
)  # fmt: skip
USED_COLUMNS = ("artifact", "algorithm", "hyperparameter", "value", "provenance", "note", "artifacts")


Cells = list[list[str]]


class Config(Strict):
    """Options of a table."""

    labels: dict[str, str] = Field(default_factory=dict, description="setting id -> how the paper calls it")
    words: list[Words] = Field(default_factory=list, description="more columns, in layout variants")


# -- how it is known --------------------------------------------------------------------------------
def merged(known: dict[Row, Known], layout: str) -> dict[Row, set[str]]:
    """The words of each row; rows that are called alike have one place together, but in layout variants."""
    return {
        row: {
            word
            for other, provenance in known.items()
            if other == row or (layout != "variants" and other.label == row.label)
            for word in provenance.words
        }
        for row in known
    }


def marked(name: str, words: Iterable[str]) -> str:
    """'q-FFL q = 0.5 ᵃ'."""
    return f"{name} {marks(words)}".rstrip()


# -- CSV --------------------------------------------------------------------------------------------
def csv(inputs: Inputs, lines: list[TableLine], known: dict[Row, Known]) -> str:
    """One line per cell; mean is empty for a missing run, 'nan' for a diverged one, 'inf' where the cell has no end."""
    records = []
    for line in lines:
        facts = inputs.spec.settings[line.setting]
        provenance = known.get(line.row, Known(""))
        notes = "; ".join(filter(None, (provenance.note, facts.unprinted)))
        for metric, entry in line.entries.items():
            cell = entry.ours
            mean = "nan" if cell.diverged else number_text(cell.mean)
            key = (inputs.name, line.setting, line.row.algorithm, line.row.hyperparameters, metric)
            numbers = (cell.unit, mean, number_text(entry.std), cell.seeds, facts.data, " ".join(entry.sources))
            records.append((*key, *numbers, ", ".join(provenance.words), notes))
    return pd.DataFrame(records, columns=list(CSV_COLUMNS)).to_csv(index=False, lineterminator="\n")


# -- the three files --------------------------------------------------------------------------------
def results_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs = Inputs(spec)
    inputs.require(spec.artifact.needs)
    artifact, metrics = spec.artifact, spec.metrics
    config = check(artifact.options, Config, f"papers/{spec.paper}.yaml", f"artifacts.{spec.id}.options")
    names = labels(inputs.settings, config.labels)
    lines = lines_of(inputs)
    remarks(inputs, lines, names)
    if "timed" in artifact.origins:
        on_machines(inputs, lines, names)
    winners = {m: best(lines, m, metrics[m].direction, metrics[m].digits) for m in artifact.columns}
    known = {
        row: Known(entry.provenance, row.algorithm in spec.reconstructed, entry.note)
        for row, entry in zip(inputs.rows, artifact.rows, strict=True)
    }
    words = merged(known, artifact.layout)
    stand_for = {line.setting: line.row for line in lines} if artifact.layout == "metrics_by_setting" else {}
    titled = {
        setting: marked(name, words.get(stand_for[setting], ()) if setting in stand_for else ())
        for setting, name in names.items()
    }
    grid = grid_of(inputs, lines, titled, config.words)
    reported = [entry.reported for line in lines for entry in line.entries.values()]
    texts = dict.fromkeys(cell.note for cell in reported if cell and cell.note)
    notes = {text: number for number, text in enumerate(texts, 1)}
    if artifact.layout in ("settings_by_variant", "variants_by_setting") and len(artifact.columns) == 1:
        inputs.say(f"Cells: {title(metrics[artifact.columns[0]])}.")

    def printed(
        place: tuple[TableLine, str] | str, bold: str, text: Callable[[str], str], number: Callable[[str], str]
    ) -> str:
        if isinstance(place, str):
            return text(place)
        line, metric = place
        digits, entry = metrics[metric].digits, line.entries[metric]
        mark = f" [{notes[entry.reported.note]}]" if entry.reported and entry.reported.note else ""
        mean, beside = (number(part) for part in (entry.number(digits), entry.beside(digits, mark)))
        mean = bold % mean if (line.setting, line.row) in winners[metric] else mean
        return f"{mean} {beside}".rstrip()

    def body(head: Callable[[Head], str], *style: Any) -> list[list[str]]:
        return [
            [*map(head, heads), *(printed(place, *style) for place in places)]
            for heads, places in zip(grid.heads, grid.places, strict=True)
        ]

    def in_markdown(head: Head) -> str:
        return markdown(marked(head.label, words[head]) if isinstance(head, Row) else head)

    def in_latex(head: Head) -> str:
        return f"{latex_row(head)} {latex(marks(words[head]))}".rstrip() if isinstance(head, Row) else latex(head)

    used = {word for line in lines for word in words.get(line.row, ())}
    explained = [*legend(used), *(f"[{number}] {text.rstrip('.')}." for text, number in notes.items())]
    unprinted = grouped((name, spec.settings[setting].unprinted) for setting, name in names.items())
    note_text = " ".join([*explained, note(spec, names), *unprinted, *inputs.remarks])
    left = len(grid.corner)
    titles = [*grid.corner, *grid.columns]
    md = markdown_table([*map(in_markdown, titles)], body(in_markdown, "**%s**", markdown, markdown), left)
    tex_body = body(in_latex, r"\textbf{%s}", latex, _number)
    tex = latex_table([*map(in_latex, titles)], tex_body, grid.rules, "l" * left + grid.align)
    return csv(inputs, lines, known), markdown_page(spec, md, note_text), latex_page(spec, tex, note_text)


def _number(text: str) -> str:
    """A printed number for LaTeX: a hyphen would be a dash too short."""
    return latex(text.replace("-", "−"))


def table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of any kind."""
    if spec.artifact.kind == "table":
        return results_table(spec)
    return used_table(spec) if spec.artifact.content == "used" else static_table(spec)


def static_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table whose content stands in the paper's YAML."""
    header, content = spec.artifact.header, spec.artifact.content
    text = pd.DataFrame(content, columns=header).to_csv(index=False, lineterminator="\n")
    md, tex = ([[escape(cell) for cell in row] for row in content] for escape in (markdown, latex))
    prose = max(len(row[-1]) for row in content) > 50
    return text, *_pages(spec, header, md, tex, set(spec.artifact.rules), prose)


def _pages(
    spec: ArtifactSpec, header: Sequence[str], md: Cells, tex: Cells, rules: set[int], prose: bool, note_text: str = ""
) -> tuple[str, str]:
    """(Markdown, LaTeX) of a table of words; the last column has a width if it holds `prose`, or it leaves the page."""
    columns = "l" * (len(header) - 1) + ("p{0.6\\linewidth}" if prose else "l")
    return (
        markdown_page(spec, markdown_table([*map(markdown, header)], md, len(header)), note_text),
        latex_page(spec, latex_table([*map(latex, header)], tex, rules, columns), note_text),
    )


def used_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of the hyper-parameters in use: a line of the CSV for each value."""
    values = spec.used
    records = [{**dict(used), "artifact": spec.name, "artifacts": " ".join(used.artifacts)} for used in values]
    text = pd.DataFrame(records, columns=list(USED_COLUMNS)).to_csv(index=False, lineterminator="\n")
    lines = used_lines(values)
    md = [[markdown(title), markdown(symbol(key)), markdown(", ".join(shown))] for title, key, shown in lines]
    tex = [[latex(title), latex_key(key), latex(", ".join(shown))] for title, key, shown in lines]
    rules = {n for n in range(1, len(lines)) if lines[n][0] != lines[n - 1][0]}
    return text, *_pages(
        spec, USED_HEADER, md, tex, rules, True, " ".join(legend((u.provenance for u in values), "value"))
    )
