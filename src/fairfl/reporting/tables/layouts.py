"""What stands where in a table: lines and columns in the layout that the paper chose."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.experiments.paper import Metric
from fairfl.metrics.origin import owner
from fairfl.reporting.inputs import Inputs, Row
from fairfl.reporting.tables.lines import TableLine
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

ARROWS = {"up": " ↑", "down": " ↓", None: ""}
Head = str | Row


class Words(Strict):
    """A column of words about the settings, between the numbers."""

    title: str
    after: str = Field(description="metric id of the column before it")
    texts: dict[str, str] = Field(description="setting id -> words")


@dataclass(frozen=True)
class Grid:
    """What stands where on paper. A place is a number (line, metric), words, or empty."""

    corner: list[str]  # titles of the columns that name the lines
    columns: Sequence[Head]
    heads: Sequence[Sequence[Head]]  # names of each line, as many as `corner`
    places: list[list[tuple[TableLine, str] | str]]  # of each line, as many as `columns`
    rules: set[int]  # lines with a rule above
    align: str  # "l" or "r" for each column


def grid_of(inputs: Inputs, lines: list[TableLine], names: dict[str, str], words: list[Words]) -> Grid:
    """The lines in the layout that the artifact asks for. Raises FairflError if that has no place for an option."""
    layout = inputs.spec.artifact.layout
    if layout == "variants":
        return _variants(inputs, lines, names, words)
    if words:
        raise FairflError(f"{inputs.name}: options.words: layout {layout} has no place for words; use layout variants")
    labelled: Labelled = {}
    for line in lines:
        if (line.setting, line.row.label) in labelled:
            raise FairflError(f"{inputs.name}: two rows are called {line.row.label!r}; give them a `title` each")
        labelled[line.setting, line.row.label] = line
    layouts = {
        "settings_by_variant": _settings_by_variant,
        "variants_by_setting": _variants_by_setting,
        "metrics_by_variant": _metrics_by_variant,
        "metrics_by_setting": _metrics_by_setting,
    }
    return layouts[layout](inputs, names, labelled)


# The lines of a table by setting and by how their row is called.
Labelled = dict[tuple[str, str], TableLine]


def _rows(inputs: Inputs, labelled: Labelled) -> dict[str, Row]:
    """The rows by how they are called, in their order; those of different settings that are called alike are one."""
    printed = {label for _, label in labelled}
    rows: dict[str, Row] = {}
    for row in inputs.rows:
        if row.label in printed:
            rows.setdefault(row.label, row)
    return rows


def _place_of(line: TableLine | None, metric: str | None = None) -> tuple[TableLine, str] | str:
    """A metric of a line, its only one if none is named; empty if the line or the metric is not there."""
    if line is None:
        return ""
    if metric is None:
        (metric,) = line.entries
    return (line, metric) if metric in line.entries else ""


def _settings_by_variant(inputs: Inputs, names: dict[str, str], labelled: Labelled) -> Grid:
    rows = _rows(inputs, labelled)
    return Grid(
        corner=["Setting"],
        columns=list(rows.values()),
        heads=[[name] for name in names.values()],
        places=[[_place_of(labelled.get((setting, label))) for label in rows] for setting in names],
        rules=set(),
        align="r" * len(rows),
    )


def _variants_by_setting(inputs: Inputs, names: dict[str, str], labelled: Labelled) -> Grid:
    artifact, rows = inputs.spec.artifact, _rows(inputs, labelled)
    ruled = {inputs.rows[number].label for number in artifact.rules}
    several = any(len(line.entries) > 1 for line in labelled.values())
    groups: Sequence[str | None] = artifact.columns if several else [None]
    heads: list[list[Head]] = []
    places, rules = [], set()
    for metric in groups:
        titled, first = [title(inputs.spec.metrics[metric])] if metric else [], len(heads)
        for label, row in rows.items():
            line = [_place_of(labelled.get((setting, label)), metric) for setting in names]
            if any(line):
                if label in ruled or len(heads) == first:
                    rules.add(len(heads))
                heads.append([*titled, row])
                places.append(line)
    corner = ["Metric"] * several + ["Algorithm"]
    return Grid(corner, list(names.values()), heads, places, rules, "r" * len(names))


def _metrics_by_variant(inputs: Inputs, names: dict[str, str], labelled: Labelled) -> Grid:
    rows, several = _rows(inputs, labelled), len(names) > 1
    heads: list[list[str]] = []
    places, rules = [], set()
    for setting, name in names.items():
        if heads:
            rules.add(len(heads))
        for metric in inputs.spec.artifact.columns:
            line = [_place_of(labelled.get((setting, label)), metric) for label in rows]
            if any(line):
                heads.append([name] * several + [title(inputs.spec.metrics[metric])])
                places.append(line)
    corner = ["Setting"] * several + ["Metric"]
    return Grid(corner, list(rows.values()), heads, places, rules, "r" * len(rows))


def _metrics_by_setting(inputs: Inputs, names: dict[str, str], labelled: Labelled) -> Grid:
    columns, lines = inputs.spec.artifact.columns, {setting: line for (setting, _), line in labelled.items()}
    if any(owner(metric) != "setting" for metric in columns):  # no other place names the row
        inputs.remark("Numbers of", list(_rows(inputs, labelled)))
    return Grid(
        corner=["Metric"],
        columns=list(names.values()),
        heads=[[title(inputs.spec.metrics[metric])] for metric in columns],
        places=[[_place_of(lines.get(setting), metric) for setting in names] for metric in columns],
        rules=set(),
        align="r" * len(names),
    )


def _variants(inputs: Inputs, lines: list[TableLine], names: dict[str, str], words: list[Words]) -> Grid:
    columns, metrics = inputs.spec.artifact.columns, inputs.spec.metrics
    unknown = [added.after for added in words if added.after not in columns]
    if unknown:
        hint = nearest(unknown[0], columns)
        raise FairflError(f"{inputs.name}: options.words: no column {unknown[0]!r}{hint}")
    across: list[str | Words] = []
    for metric in columns:
        across += [metric, *(added for added in words if added.after == metric)]
    titles = [title(metrics[column]) if isinstance(column, str) else column.title for column in across]
    named = bool(inputs.rows)
    several = len(names) > 1 or not named
    return Grid(
        corner=["Setting"] * several + ["Algorithm"] * named,
        columns=titles,
        heads=[[names[line.setting]] * several + [line.row] * named for line in lines],
        places=[
            [
                column.texts.get(line.setting, "") if isinstance(column, Words) else _place_of(line, column)
                for column in across
            ]
            for line in lines
        ],
        rules={number for number, line in enumerate(lines) if line.rule},
        align="".join("r" if isinstance(column, str) else "l" for column in across),
    )


def title(metric: Metric) -> str:
    """'accuracy ↑'."""
    return metric.name + ARROWS[metric.direction]
