"""One table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. Seconds are aggregated over
repetitions instead. Rounds to a target that a seed did not reach read "> 300". What was chosen by tuning, counted in a
partition or belongs to the setting is one number, with the paper's own behind it. The best value of a metric over the
rows of a setting, ties at the printed precision included, is bold. Rows whose hyper-parameters are not the paper's own
words carry a mark, explained below the table (fairfl.reporting.marks).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from fairfl.experiments.described import Metric
from fairfl.judgement.cells import number_text
from fairfl.judgement.sources import RowProvenance
from fairfl.metrics.origin import owner
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.marks import USED_HEADER, legend, printed_values, used_lines
from fairfl.reporting.notes import grouped, units
from fairfl.reporting.pivot import pivots_of
from fairfl.reporting.tables.markup import LATEX, MARKDOWN, Markup, pages
from fairfl.reporting.tables.numbers import MISSING, numbers_of, say_machines, say_missing
from fairfl.reporting.tables.tabular import BAR, Config, tabulars, title, with_words
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


def results_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs, artifact = Inputs(spec), spec.artifact
    config = check(
        artifact.options, Config, f"papers/{spec.paper}.yaml", f"artifacts.{spec.id}.options"
    )
    names = {setting: name.replace(BAR, " ") for setting, name in inputs.names.items()}
    numbers = numbers_of(inputs)
    say_missing(inputs, numbers, names)
    if "timed" in artifact.origins:
        say_machines(inputs, numbers, names)
    known = {
        row: RowProvenance(entry.provenance, row.algorithm in spec.reconstructed, entry.note)
        for row, entry in zip(inputs.rows, artifact.rows, strict=True)
    }
    pivots = [
        with_words(pivot, config.words, inputs.settings, inputs.name)
        for pivot in pivots_of(artifact, numbers)
    ]
    metrics = {one.metric: one.number.metric for one in numbers.itertuples()}
    _say_axes(inputs, pivots[0].axes if pivots else [], metrics, numbers["row"])
    reported = [number.reported for number in numbers["number"]]
    noted = dict.fromkeys(cell.note for cell in reported if cell and cell.note)
    notes = {text: f"[{n}]" for n, text in enumerate(noted, 1)}
    words = {row: entry.words for row, entry in known.items()}
    texts = tabulars(pivots, config.labels, metrics, words, partial(_cell, notes))
    used = {word for row in numbers["of"] for word in known.get(row, RowProvenance("")).words}
    measured = [
        (number.metric.name, number.ours.unit) for number in numbers["number"] if number.ours.seeds
    ]
    parts = [
        *legend(used),
        *(f"{mark} {text.rstrip('.')}." for text, mark in notes.items()),
        units(measured),
        *spec.sentences(names, artifact.columns),  # the title line names stand-ins
        *grouped((name, spec.settings[setting].unprinted) for setting, name in names.items()),
        *inputs.remarks,
    ]
    pages_of = pages(spec.paper, spec.id, artifact, spec, texts, " ".join(filter(None, parts)))
    return csv(inputs, numbers, known), *pages_of


def csv(inputs: Inputs, numbers: pd.DataFrame, known: dict[ShownRow, RowProvenance]) -> str:
    """One line per cell; mean is empty for a missing run, 'nan' for a diverged one, 'inf' where the cell has no end."""
    records = []
    for one in numbers.itertuples():
        ours, facts = one.number.ours, inputs.spec.settings[one.setting]
        provenance = known.get(one.of, RowProvenance(""))
        mean = "nan" if ours.diverged else number_text(ours.mean)
        key = (inputs.name, *one.of.names(one.setting).values(), one.metric, ours.unit)
        values = (
            mean,
            number_text(one.number.std),
            ours.seeds,
            facts.data,
            " ".join(one.number.sources),
        )
        note = "; ".join(filter(None, (provenance.note, facts.unprinted)))
        records.append((*key, *values, ", ".join(provenance.words), note))
    return pd.DataFrame(records, columns=list(CSV_COLUMNS)).to_csv(index=False, lineterminator="\n")


def _say_axes(
    inputs: Inputs, axes: list[str], metrics: Mapping[str, Metric], labels: Iterable[str]
) -> None:
    """Let the note name the metric and the variants of the numbers, where no head does."""
    if "metric" not in axes and len(metrics) == 1:
        inputs.say(f"Cells: {title(*metrics.values())}.")
    if "row" not in axes and any(
        owner(metric) != "setting" for metric in inputs.spec.artifact.columns
    ):
        inputs.remark("Numbers of", list(dict.fromkeys(labels)))


def _cell(notes: Mapping[str, str], markup: Markup, front: Any, behind: Any = None) -> str:
    """A number with what stands beside it, perhaps with a gain behind it; the best ones are bold."""
    reported = front.reported
    note = notes.get(reported.note if reported else "", "")
    beside = markup.number(front.beside(f" {note}".rstrip()))
    means = [
        markup.bold % text if one.best else text
        for one in (front, behind)
        if one is not None
        for text in [markup.number(one.text)]
    ]
    if behind is None:
        return f"{means[0]} {beside}".rstrip()
    if front.missing == behind.missing != MISSING:  # once will do
        return means[0]
    return " ".join(filter(None, (means[0], beside.strip("()"), f"({means[1]})")))


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
