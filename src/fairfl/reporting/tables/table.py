"""One table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. Seconds are aggregated over
repetitions instead. Rounds to a target that a seed did not reach read "> 300". What was chosen by tuning, counted in a
partition or belongs to the setting is one number, with the paper's own behind it. The best value of a metric over the
rows of a setting, ties at the printed precision included, is bold. Rows whose hyper-parameters are not the paper's own
words carry a mark, explained below the table (fairfl.reporting.marks).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fairfl.experiments.described import Metric
from fairfl.judgement.cells import number_text
from fairfl.judgement.sources import Known
from fairfl.metrics.origin import owner
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.grid import Grid, Place, grids_of, title
from fairfl.reporting.inputs import Inputs, Row
from fairfl.reporting.marks import USED_HEADER, legend, printed_values, used_lines
from fairfl.reporting.notes import grouped, units
from fairfl.reporting.tables.lines import (
    MISSING,
    Entry,
    TableLine,
    best,
    lines_of,
    on_machines,
    remarks,
)
from fairfl.reporting.tables.markup import LATEX, MARKDOWN, Markup, pages
from fairfl.reporting.tables.writing import BAR, Config, Names, tabulars, with_words
from fairfl.runtime.validation import check

CSV_COLUMNS = (
    "artifact", "setting", "algorithm", "hyperparameters", "metric", "unit", "mean", "std", "seeds", "data", "runs",
    "provenance", "note",
)  # fmt: skip
USED_COLUMNS = (
    "artifact",
    "algorithm",
    "hyperparameter",
    "value",
    "provenance",
    "note",
    "artifacts",
)


Cells = list[list[str]]


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
            numbers = (
                cell.unit,
                mean,
                number_text(entry.std),
                cell.seeds,
                facts.data,
                " ".join(entry.sources),
            )
            records.append((*key, *numbers, ", ".join(provenance.words), notes))
    return pd.DataFrame(records, columns=list(CSV_COLUMNS)).to_csv(index=False, lineterminator="\n")


# -- the three files --------------------------------------------------------------------------------
def results_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs = Inputs(spec)
    artifact = spec.artifact
    config = check(
        artifact.options, Config, f"papers/{spec.paper}.yaml", f"artifacts.{spec.id}.options"
    )
    names = {setting: name.replace(BAR, " ") for setting, name in inputs.names.items()}
    lines = lines_of(inputs)
    remarks(inputs, lines, names)
    if "timed" in artifact.origins:
        on_machines(inputs, lines, names)
    known = {
        row: Known(entry.provenance, row.algorithm in spec.reconstructed, entry.note)
        for row, entry in zip(inputs.rows, artifact.rows, strict=True)
    }
    printer = _Printer.of(inputs, lines)
    rows = list(dict.fromkeys([*inputs.rows, *(line.row for line in lines)]))
    grids = [
        with_words(grid, config.words, inputs.settings, inputs.name)
        for grid in grids_of(artifact, rows, [*printer.entries])
    ]
    _remark_axes(inputs, grids, lines, printer.metrics)
    heads = Names(
        config.labels, printer.metrics, {row: entry.words for row, entry in known.items()}
    )
    texts = tabulars(grids, heads, printer.printed)
    used = {word for line in lines for word in known.get(line.row, Known("")).words}
    unprinted = grouped((name, spec.settings[setting].unprinted) for setting, name in names.items())
    made_from = spec.sentences(
        names, artifact.columns, replaced=False
    )  # the title line names stand-ins
    parts = [*legend(used), *printer.remarks(), printer.units(), *made_from, *unprinted]
    note_text = " ".join(filter(None, [*parts, *inputs.remarks]))
    return csv(inputs, lines, known), *pages(spec.paper, spec.id, artifact, spec, texts, note_text)


def _remark_axes(
    inputs: Inputs, grids: list[Grid], lines: list[TableLine], metrics: Mapping[str, Metric]
) -> None:
    """Let the note name the metric and the variants of the numbers, where no head does."""
    heads = (
        [head for heads in (*grids[0].lines, *grids[0].columns) for head in heads] if grids else []
    )
    axes = {head.axis for head in heads}
    if "metric" not in axes and len(metrics) == 1:
        inputs.say(f"Cells: {title(*metrics.values())}.")
    if "row" not in axes and any(
        owner(metric) != "setting" for metric in inputs.spec.artifact.columns
    ):
        inputs.remark("Numbers of", list(dict.fromkeys(line.row.label for line in lines)))


@dataclass(frozen=True)
class _Printer:
    """Cells as text."""

    entries: dict[Place, Entry]
    metrics: dict[str, Metric]
    winners: dict[str, set[tuple[str, Row]]]  # (setting, row) by metric
    notes: dict[str, int]  # number of each remark on a printed number

    @classmethod
    def of(cls, inputs: Inputs, lines: list[TableLine]) -> "_Printer":
        entries = {
            (line.setting, line.row, metric): entry
            for line in lines
            for metric, entry in line.entries.items()
        }
        metrics = {metric: inputs.metric(metric) for _, _, metric in entries}
        winners = {
            name: best(lines, name, metric.direction, metric.digits)
            for name, metric in metrics.items()
        }
        reported = [entry.reported for entry in entries.values()]
        remarked = dict.fromkeys(cell.note for cell in reported if cell and cell.note)
        return cls(entries, metrics, winners, {text: n for n, text in enumerate(remarked, 1)})

    def printed(self, markup: Markup, place: Place, behind: Place | None) -> str:
        """A cell, perhaps with that of a gain behind it."""
        entry = self.entries[place]
        note = entry.reported.note if entry.reported else ""
        mark = f" [{self.notes[note]}]" if note else ""
        mean, beside = (
            self._number(markup, place),
            entry.beside(self.metrics[place[2]].digits, mark),
        )
        beside = markup.number(beside)
        if behind is None:
            return f"{mean} {beside}".rstrip()
        if entry.missing == self.entries[behind].missing != MISSING:  # once will do
            return mean
        gain = self._number(markup, behind)
        return " ".join(filter(None, (mean, beside.strip("()"), f"({gain})")))

    def _number(self, markup: Markup, place: Place) -> str:
        """The mean, bold if it is the best one."""
        setting, row, metric = place
        text = markup.number(self.entries[place].number(self.metrics[metric].digits))
        return markup.bold % text if (setting, row) in self.winners[metric] else text

    def remarks(self) -> list[str]:
        return [f"[{number}] {text.rstrip('.')}." for text, number in self.notes.items()]

    def units(self) -> str:
        """The sentence on the units of what was measured."""
        return units(
            (self.metrics[metric].name, entry.ours.unit)
            for (_, _, metric), entry in self.entries.items()
            if entry.ours.seeds
        )


def table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of any kind."""
    if spec.artifact.kind == "table":
        return results_table(spec)
    return used_table(spec) if spec.artifact.content == "used" else static_table(spec)


def static_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table whose content stands in the paper's YAML."""
    header, content = spec.artifact.header, spec.artifact.content
    text = pd.DataFrame(content, columns=header).to_csv(index=False, lineterminator="\n")
    prose = max(len(row[-1]) for row in content) > 50
    return text, *_words(
        spec, header, lambda markup: [list(map(markup.text, row)) for row in content], prose
    )


def used_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of the hyper-parameters in use: a line of the CSV for each value, even if not printed."""
    values = printed_values(spec.used, spec.artifact.options.get("printed", []))
    records = [
        {**dict(used), "artifact": spec.name, "artifacts": " ".join(used.artifacts)}
        for used in spec.used
    ]
    text = pd.DataFrame(records, columns=list(USED_COLUMNS)).to_csv(
        index=False, lineterminator="\n"
    )

    def body(markup: Markup) -> Cells:
        return [
            [
                markup.text(title),
                "; ".join(f"{markup.key(key)}: {markup.text(shown)}" for key, shown in of),
            ]
            for title, of in used_lines(values)
        ]

    return text, *_words(
        spec,
        USED_HEADER,
        body,
        True,
        " ".join(legend((used.provenance for used in values), "value")),
    )


def _words(
    spec: ArtifactSpec,
    header: Sequence[str],
    body: Callable[[Markup], Cells],
    prose: bool,
    note_text: str = "",
) -> tuple[str, str]:
    """(Markdown, LaTeX) of a table of words; the last column has a width if it holds `prose`, or it leaves the page."""
    aligned = {
        MARKDOWN: "l" * len(header),
        LATEX: "l" * (len(header) - 1) + ("p{0.6\\linewidth}" if prose else "l"),
    }
    rules = set(spec.artifact.rules)
    tables = {
        markup: [
            markup.table(
                [], [[(markup.text(name), 1) for name in header]], body(markup), rules, align
            )
        ]
        for markup, align in aligned.items()
    }
    return pages(spec.paper, spec.id, spec.artifact, spec, tables, note_text)
