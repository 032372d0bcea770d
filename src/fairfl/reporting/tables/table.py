"""One table as CSV (tidy), Markdown and LaTeX (booktabs).

Rows, columns, order and precision are the paper's. A cell reads "mean (± std)" over seeds (population
standard deviation, as the papers aggregate a fixed list of seeds); one seed has no ±. Seconds are aggregated over
repetitions instead. Rounds to a target that a seed did not reach read "> 300". What was chosen by tuning, counted in a
partition or belongs to the setting is one number, with the paper's own behind it. The best value of a metric over the
rows of a setting, ties at the printed precision included, is bold. Rows whose hyper-parameters are not the paper's own
words carry a mark, explained below the table (fairfl.reporting.marks).
"""

import re
from collections.abc import Iterable, Mapping
from itertools import chain

import pandas as pd

from fairfl.experiments.described import Metric
from fairfl.experiments.origin import owner
from fairfl.judgement.cells import NO_VARIANT, number_text
from fairfl.judgement.sources import RowProvenance
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.footer import grouped, units
from fairfl.reporting.inputs import Inputs, ShownRow
from fairfl.reporting.marks import Words, legend, words_of
from fairfl.reporting.pivot import pivots_of
from fairfl.reporting.tables.markup import LATEX, MARKDOWN, Markup, pages
from fairfl.reporting.tables.numbers import NOTHING, Number, numbers_of, say_machines, say_missing
from fairfl.reporting.tables.tabular import BAR, Config, tabulars, title, with_words
from fairfl.runtime.validation import check

USED_COLUMNS = (
    "artifact",
    "algorithm",
    "hyperparameter",
    "value",
    "provenance",
    "note",
    "artifacts",
)


def results_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of results."""
    inputs, artifact = Inputs(spec), spec.artifact
    config = check(
        artifact.options, Config, f"papers/{spec.paper}.yaml", f"artifacts.{spec.id}.options"
    )
    names = {setting: name.replace(BAR, " ") for setting, name in inputs.names.items()}
    rows = {
        row: RowProvenance(entry.provenance, row.algorithm in spec.reconstructed, entry.note)
        for row, entry in zip(inputs.rows, artifact.rows, strict=True)
    } or {ShownRow(NO_VARIANT, ""): RowProvenance("")}  # where numbers belong to no algorithm
    notes = {"": ""}
    numbers = numbers_of(inputs, rows, notes)
    say_missing(inputs, numbers, names)
    if "timed" in artifact.origins:
        say_machines(inputs, numbers, names)
    pivots = [
        with_words(pivot, config.words, inputs.settings, inputs.name)
        for pivot in pivots_of(artifact, numbers)
    ]
    metrics = {one.metric: one.number.metric for one in numbers.itertuples()}
    _say_axes(inputs, pivots[0].axes if pivots else [], metrics, numbers["row"])
    words = {row: rows[row].words for row in numbers["of"]}
    texts = tabulars(pivots, config.labels, metrics, words, _cell)
    measured = [
        (number.metric.name, number.ours.unit) for number in numbers["number"] if number.ours.seeds
    ]
    parts = [
        *legend(chain(*words.values())),
        *(f"{mark[1:]} {text.rstrip('.')}." for text, mark in notes.items() if text),
        units(measured),
        *spec.sentences(names, artifact.columns),  # the title line names stand-ins
        *grouped((name, spec.settings[setting].unprinted) for setting, name in names.items()),
        *inputs.remarks,
    ]
    pages_of = pages(spec.paper, spec.id, artifact, spec, texts, " ".join(filter(None, parts)))
    return csv(inputs, rows, numbers), *pages_of


def csv(inputs: Inputs, rows: Mapping[ShownRow, RowProvenance], numbers: pd.DataFrame) -> str:
    """One line per cell; mean is empty for a missing run, 'nan' for a diverged one, 'inf' where the cell has no end."""
    records = []
    for one in numbers.itertuples():
        # `runs`: the runs, or the other results, that the number comes from.
        ours, row, facts = one.number.ours, rows[one.of], inputs.spec.settings[one.setting]
        records.append({
            "artifact": inputs.name,
            **one.of.names(one.setting),
            "metric": one.metric,
            "unit": ours.unit,
            "mean": "nan" if ours.diverged else number_text(ours.mean),
            "std": number_text(ours.std if ours.seeds > 1 else None),
            "seeds": ours.seeds,
            "data": facts.data,
            "runs": re.sub(r"(partitions/[^/ ]+)/\S+|\.json\b", r"\1", " ".join(ours.runs)),
            "provenance": ", ".join(row.words),
            "note": "; ".join(filter(None, (row.note, facts.unprinted))),
        })  # fmt: skip
    return pd.DataFrame(records).to_csv(index=False, lineterminator="\n")


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


def _cell(markup: Markup, front: Number, behind: Number | None = None) -> str:
    """A number with what is next to it, perhaps with a gain behind it; the best ones are bold."""
    beside = markup.number(front.beside)
    means = [
        markup.bold % text if one.best else text
        for one in (front, behind)
        if one is not None
        for text in [markup.number(one.text)]
    ]
    if behind is None:
        return f"{means[0]} {beside}".rstrip()
    if front.text == behind.text in NOTHING.values():  # once will do
        return means[0]
    return " ".join(filter(None, (means[0], beside.strip("()"), f"({means[1]})")))


def table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of any kind."""
    return results_table(spec) if spec.artifact.kind == "table" else static_table(spec)


def static_table(spec: ArtifactSpec) -> tuple[str, str, str]:
    """(CSV, Markdown, LaTeX) of a table of words; the CSV has a line for each value in use, even if not printed."""
    artifact, words = spec.artifact, words_of(spec.artifact, spec.used)
    if artifact.content == "used":
        records = [
            {**dict(one), "artifact": spec.name, "artifacts": " ".join(one.artifacts)}
            for one in spec.used
        ]
        frame, is_prose = pd.DataFrame(records, columns=list(USED_COLUMNS)), True
    else:
        frame = pd.DataFrame(words.rows, columns=words.header)
        is_prose = max(len(row[-1]) for row in words.rows) > 50

    def cell(markup: Markup, words: Words) -> str:
        if isinstance(words, str):
            return markup.text(words)
        return "; ".join(f"{markup.key(key)}: {markup.text(values)}" for key, values in words)

    tables = {}
    # A last column of prose has a width, or it leaves LaTeX's page.
    for markup, last in ((MARKDOWN, "l"), (LATEX, r"p{0.6\linewidth}" if is_prose else "l")):
        header = [[(markup.text(name), 1) for name in words.header]]
        body = [[cell(markup, one) for one in row] for row in words.rows]
        align = "l" * (len(words.header) - 1) + last
        tables[markup] = [markup.table([], header, body, set(artifact.rules), align)]
    text = frame.to_csv(index=False, lineterminator="\n")
    return text, *pages(spec.paper, spec.id, artifact, spec, tables, " ".join(words.legend))
