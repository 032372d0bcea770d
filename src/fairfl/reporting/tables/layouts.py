"""What stands where in a table: lines and columns in the layout that the paper chose."""

from dataclasses import dataclass
from typing import Any

from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.metrics.origin import owner
from fairfl.reporting.inputs import Inputs, Row
from fairfl.reporting.tables.lines import Line
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
    columns: list[Head]
    heads: list[list[Head]]  # names of each line, as many as `corner`
    places: list[list[tuple[Line, str] | str]]  # of each line, as many as `columns`
    rules: set[int]  # lines with a rule above
    align: str  # "l" or "r" for each column


def grid_of(inputs: Inputs, lines: list[Line], names: dict[str, str], words: list[Words]) -> Grid:
    """The lines in the layout that the artifact asks for. Raises FairflError if that has no place for an option."""
    layout = inputs.spec["artifact"]["layout"]
    if layout == "arms":
        return _arms(inputs, lines, names, words)
    if words:
        raise FairflError(f"{inputs.name}: options.words: layout {layout} has no place for words; use layout arms")
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        if (line.setting, line.row.label) in found:
            raise FairflError(f"{inputs.name}: two rows are called {line.row.label!r}; give them a `title` each")
        found[line.setting, line.row.label] = line
    layouts = {
        "settings_by_arm": _settings_by_arm,
        "arms_by_setting": _arms_by_setting,
        "metrics_by_arm": _metrics_by_arm,
        "metrics_by_setting": _metrics_by_setting,
    }
    return layouts[layout](inputs, names, found)


# The lines of a table by setting and by how their row is called.
Found = dict[tuple[str, str], Line]


def _rows(inputs: Inputs, found: Found) -> dict[str, Row]:
    """The rows by how they are called, in their order; those of different settings that are called alike are one."""
    there = {label for _, label in found}
    rows: dict[str, Row] = {}
    for row in inputs.rows:
        if row.label in there:
            rows.setdefault(row.label, row)
    return rows


def _place_of(line: Line | None, metric: str | None = None) -> tuple[Line, str] | str:
    """A metric of a line, its only one if none is named; empty if the line or the metric is not there."""
    if line is None:
        return ""
    if metric is None:
        (metric,) = line.cells
    return (line, metric) if metric in line.cells else ""


def _settings_by_arm(inputs: Inputs, names: dict[str, str], found: Found) -> Grid:
    rows = _rows(inputs, found)
    return Grid(
        corner=["Setting"],
        columns=list(rows.values()),
        heads=[[name] for name in names.values()],
        places=[[_place_of(found.get((setting, label))) for label in rows] for setting in names],
        rules=set(),
        align="r" * len(rows),
    )


def _arms_by_setting(inputs: Inputs, names: dict[str, str], found: Found) -> Grid:
    spec, rows = inputs.spec["artifact"], _rows(inputs, found)
    ruled = {inputs.rows[number].label for number in spec["rules"]}
    several = any(len(line.cells) > 1 for line in found.values())
    groups = spec["columns"] if several else [None]
    heads: list[list[Head]] = []
    places, rules = [], set()
    for metric in groups:
        titled, first = [title(inputs.spec["metrics"][metric])] if several else [], len(heads)
        for label, row in rows.items():
            line = [_place_of(found.get((setting, label)), metric) for setting in names]
            if any(line):
                if label in ruled or len(heads) == first:
                    rules.add(len(heads))
                heads.append([*titled, row])
                places.append(line)
    corner = ["Metric"] * several + ["Algorithm"]
    return Grid(corner, list(names.values()), heads, places, rules, "r" * len(names))


def _metrics_by_arm(inputs: Inputs, names: dict[str, str], found: Found) -> Grid:
    rows, several = _rows(inputs, found), len(names) > 1
    heads: list[list[Head]] = []
    places, rules = [], set()
    for setting, name in names.items():
        own = {label: found.get((setting, label)) for label in rows}
        if heads:
            rules.add(len(heads))
        for metric in inputs.spec["artifact"]["columns"]:
            line = [_place_of(own[label], metric) for label in rows]
            if any(line):
                heads.append([name] * several + [title(inputs.spec["metrics"][metric])])
                places.append(line)
    corner = ["Setting"] * several + ["Metric"]
    return Grid(corner, list(rows.values()), heads, places, rules, "r" * len(rows))


def _metrics_by_setting(inputs: Inputs, names: dict[str, str], found: Found) -> Grid:
    columns, lines = inputs.spec["artifact"]["columns"], {setting: line for (setting, _), line in found.items()}
    if any(owner(metric) != "setting" for metric in columns):  # no other place names the row
        inputs.remark("Numbers of", list(_rows(inputs, found)))
    return Grid(
        corner=["Metric"],
        columns=list(names.values()),
        heads=[[title(inputs.spec["metrics"][metric])] for metric in columns],
        places=[[_place_of(lines.get(setting), metric) for setting in names] for metric in columns],
        rules=set(),
        align="r" * len(names),
    )


def _arms(inputs: Inputs, lines: list[Line], names: dict[str, str], words: list[Words]) -> Grid:
    spec, metrics = inputs.spec["artifact"], inputs.spec["metrics"]
    unknown = [own.after for own in words if own.after not in spec["columns"]]
    if unknown:
        hint = nearest(unknown[0], spec["columns"])
        raise FairflError(f"{inputs.name}: options.words: no column {unknown[0]!r}{hint}")
    columns: list[str | Words] = []
    for metric in spec["columns"]:
        columns += [metric, *(own for own in words if own.after == metric)]
    titles = [title(metrics[column]) if isinstance(column, str) else column.title for column in columns]
    named = bool(inputs.rows)
    several = len(names) > 1 or not named
    return Grid(
        corner=["Setting"] * several + ["Algorithm"] * named,
        columns=titles,
        heads=[[names[line.setting]] * several + [line.row] * named for line in lines],
        places=[
            [
                column.texts.get(line.setting, "") if isinstance(column, Words) else _place_of(line, column)
                for column in columns
            ]
            for line in lines
        ],
        rules={number for number, line in enumerate(lines) if line.rule},
        align="".join("r" if isinstance(column, str) else "l" for column in columns),
    )


def title(metric: dict[str, Any]) -> str:
    """'accuracy ↑'."""
    return metric["name"] + ARROWS[metric["direction"]]
