"""The numbers of an artifact on the page: tables in the paper's layout, and the runs behind every number."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

from fairfl.experiments.paper import Artifact, Metric, Paper
from fairfl.experiments.variant import GREEK
from fairfl.reporting.cells import DIVERGED, Record, digits_of, metric_of
from fairfl.reporting.compared import Compared, cell_view
from fairfl.reporting.grid import Head, numbers_of, spans
from fairfl.reporting.marks import legend, marks
from fairfl.reporting.reproduction.numbers import Place
from fairfl.reporting.reproduction.numbers import place as place_of
from fairfl.reporting.units import endless

_SYMBOLS = GREEK | {
    "varepsilon": "ε", "kappa": "κ", "pi": "π", "phi": "φ", "omega": "ω",
    "pm": "±", "times": "×", "cdot": "·", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "uparrow": "↑",
    "downarrow": "↓", "to": "→", "infty": "∞", "sum": "∑", "nabla": "∇", "ell": "ℓ", "in": "∈", "sqrt": "√",
    "Gamma": "Γ", "Delta": "Δ", "text": "", "mathrm": "", "mathbf": "", "mathcal": "", "textbf": "", "left": "",
    "right": "", "quad": " ",
}  # fmt: skip


def plain(text: str) -> str:
    """LaTeX of a title as readable text: '$\\max_k r_k$' -> 'max_k r_k'. Unknown commands keep their name."""
    text = re.sub(r"\\([%&#$_{}])", r"\1", text.replace("$", "").replace("^2", "²").replace("^*", "*"))
    text = re.sub(r"\\([A-Za-z]+) ?", lambda m: _SYMBOLS.get(m[1], m[1]), text)
    return re.sub(r"[{}]", "", text).replace("\\,", " ").strip()


class Files:
    """Links from the page to files of the results folder."""

    def __init__(self, results: Path, page: Path) -> None:
        self.results, self.folder = results, page.parent

    def link(self, path: str) -> str:
        """Relative URL, '' if nothing is there."""
        target = self.results / path
        if not target.exists():
            return ""
        return quote(Path(os.path.relpath(target, self.folder)).as_posix())


def table_views(
    lines: list[Record],
    paper: Paper,
    artifact: Artifact,
    groups: dict[tuple, dict[str, Any]],
    rounds: dict[str, tuple[int, int]],
    recorded: Mapping[Place, Record] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """The numbers in the paper's layout; `rounds` of each setting, here and in the paper; `recorded` at paper scale."""
    digits, numbers = digits_of(paper.metrics), Compared(lines, artifact, paper)
    cells = {}
    for place, line in numbers.placed.items():
        limits = [endless(line["metric"], number) for number in rounds[line["setting"]]]
        cells[place] = cell_view(line, digits(line["metric"]), groups[_group(line)]["id"], *limits)
        cells[place]["recorded"] = recorded_view(recorded.get(place_of(line)), digits(line["metric"]), limits[1])
    views = []
    for grid in numbers.grids():
        notes: dict[str, int] = {}  # on the paper's numbers, numbered
        filled = grid.numbers
        for place in filled:
            note = numbers.placed[place]["reported_note"]
            if note not in ("", DIVERGED):  # the cell itself says that
                cells[place]["reported_mark"] = notes.setdefault(note, len(notes) + 1)
        axes = {head.axis for heads in (*grid.lines, *grid.columns) for head in heads}
        bears = "row" if "row" in axes else "setting"
        metrics = list(dict.fromkeys(metric for _, _, metric in filled))
        columns = [tuple(_head(head, numbers, paper, bears) for head in column) for column in grid.columns]
        views.append({
            "title": column_view(metrics[0], metric_of(paper.metrics, metrics[0]))["name"] if len(metrics) == 1 else "",
            "corner": grid.corner,
            "header": spans(columns),
            "legend": legend({word for _, row, _ in filled for word in numbers.known.get(row, ())}),
            "notes": list(notes),
            "rows": [
                {
                    "heads": [_head(head, numbers, paper, bears) for head in heads],
                    "rule": number in grid.rules,
                    "cells": [[cells[place] for place in numbers_of(cell)] for cell in places],
                }
                for number, (heads, places) in enumerate(zip(grid.lines, grid.places, strict=True))
            ],
        })  # fmt: skip
    return views


def recorded_view(line: Record | None, digits: int, endless_there: str) -> dict[str, Any] | None:
    """The number that is recorded at the papers' own scale, and its verdict; None if there is none."""
    if line is None:
        return None
    view = cell_view({**line, "reported_note": "", "note": ""}, digits, "", endless_there, endless_there)
    seeds = f"{line['seeds']} seed{'' if line['seeds'] == '1' else 's'}"
    return {key: view[key] for key in ("ours", "ours_std", "verdict")} | {"seeds": seeds}


class HeadView(NamedTuple):
    """What stands above a column or in front of a line."""

    name: str
    small: str = ""
    meaning: str = ""
    marks: str = ""


def _head(head: Head, numbers: Compared, paper: Paper, bears: str) -> HeadView:
    words = {word for row in head.rows for word in numbers.known.get(row, ())} if head.axis == bears else ()
    if head.axis == "metric":
        return HeadView(**column_view(head.key, metric_of(paper.metrics, head.key)), marks=marks(words))
    return HeadView(numbers.names.get(head.key, head.key) if head.axis == "setting" else head.key, marks=marks(words))


def column_view(name: str, metric: Metric | None) -> dict[str, str]:
    if metric is None:
        return {"name": name, "small": "", "meaning": ""}
    better = {"up": "higher is better", "down": "lower is better", None: ""}[metric.direction]
    # A member of a family carries its number: the family's title would stand over every column.
    family = re.search(r"_(\d+)$", name) and "_k" in metric.name
    small = ", ".join(filter(None, (" or ".join([metric.unit, *metric.other_units]), better)))
    return {"name": name if family else metric.name, "small": small, "meaning": metric.meaning}


def _group(line: Record) -> tuple[str, ...]:
    return tuple(line[key] for key in ("setting", "algorithm", "hyperparameters", "runs", "fingerprints"))


def provenance(name: str, lines: list[Record], files: Files) -> dict[tuple, dict[str, Any]]:
    """Numbers that stem from the same runs, with the runs' folders and fingerprints."""
    groups: dict[tuple, dict[str, Any]] = {}
    for line in lines:
        key = _group(line)
        runs = list(zip(line["runs"].split(";"), line["fingerprints"].split(";"), strict=False)) if line["runs"] else []
        group = groups.setdefault(key, {
            "id": f"prov-{name}-{len(groups) + 1}",
            "setting": line["setting"],
            "row": line["algorithm"] + (f"({line['hyperparameters']})" if line["hyperparameters"] else ""),
            "data": line["data"],
            "metrics": [],
            # A training lies below runs/, a local optimum names its folder itself.
            "runs": [
                {"id": run, "code": code, "url": files.link(f"runs/{run}") or files.link(run)} for run, code in runs
            ],
        })  # fmt: skip
        group["metrics"].append(line["metric"])
    return groups


def contradictions_view(lines: list[Record], metrics: dict[str, Metric]) -> list[dict[str, str]]:
    """The numbers of a paper that others of its numbers speak against."""
    digits = digits_of(metrics)
    views = []
    for line in lines:
        if line["contradiction"]:
            cell = cell_view(line, digits(line["metric"]), "", "", "∞")
            described = metric_of(metrics, line["metric"])
            views.append({
                "artifact": line["artifact"],
                "setting": line["setting"],
                "row": line["algorithm"] + (f"({line['hyperparameters']})" if line["hyperparameters"] else ""),
                "metric": described.name if described else line["metric"],
                "reported": cell["reported"],
                "reported_std": cell["reported_std"],
                "contradiction": line["contradiction"],
            })  # fmt: skip
    return views
