"""The numbers of an artifact on the page: tables in the paper's layout, and the runs behind every number."""

import math
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairfl.experiments.paper import Artifact, Metric, Paper
from fairfl.experiments.variant import GREEK
from fairfl.reporting.cells import DIVERGED, Record, digits_of, metric_of
from fairfl.reporting.marks import legend, marks
from fairfl.reporting.units import endless, printed

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


# Table, line and column in which a number stands.
Place = tuple[str, str, str]


def place_of(line: Record, artifact: Artifact) -> Place:
    """Where a line of comparison.csv stands in the artifact's layout.

    A table is named by its setting or metric, '' if it is the only one; numbers that the layout has no place for get
    tables by setting.
    """
    row, setting, metric = _row(line["algorithm"], line["hyperparameters"], artifact), line["setting"], line["metric"]
    if metric in artifact.columns and artifact.kind == "table":
        match artifact.layout:
            case "settings_by_variant":
                return "", setting, row
            case "variants_by_setting":
                return metric if _several(artifact) else "", row, setting
            case "metrics_by_variant":
                return setting, metric, row
            case "metrics_by_setting":
                return "", metric, setting
        if not artifact.rows:
            return "", setting, metric
    return setting, row, metric


def _several(artifact: Artifact) -> bool:
    """True if a row has several metrics."""
    return any(
        len(artifact.columns_for(row.algorithm, setting)) > 1
        for setting in artifact.settings
        for row in artifact.rows_in(setting)
    )


def table_views(
    lines: list[Record],
    paper: Paper,
    artifact: Artifact,
    groups: dict[tuple, dict[str, Any]],
    rounds: dict[str, tuple[int, int]],
) -> list[dict[str, Any]]:
    """The numbers in the paper's layout; `rounds` of each setting, here and in the paper."""
    digits = digits_of(paper.metrics)
    heads = _heads(lines, paper, artifact)
    ruled = [artifact.rows[number] for number in artifact.rules] if artifact.kind == "table" else []
    above = {(row.setting, _row(row.algorithm, row.variant.csv, artifact)) for row in ruled}
    tables: dict[str, dict[Place, dict[str, Any]]] = {}
    notes: dict[str, dict[str, int]] = {}  # of the paper's numbers in each table, numbered
    for line in lines:
        place = place_of(line, artifact)
        cells = tables.setdefault(place[0], {})
        limits = [endless(line["metric"], number) for number in rounds[line["setting"]]]
        cells[place] = cell_view(line, digits(line["metric"]), groups[_group(line)]["id"], *limits)
        if line["reported_note"] not in ("", DIVERGED):  # the cell itself says that
            numbered = notes.setdefault(place[0], {})
            cells[place]["reported_mark"] = numbered.setdefault(line["reported_note"], len(numbered) + 1)
    views = []
    for title, cells in tables.items():
        across, down = (list(dict.fromkeys(place[n] for place in cells)) for n in (2, 1))
        named = [title] if title in artifact.columns else [] if title else artifact.columns
        corners = {"Setting": artifact.settings, "Metric": artifact.columns}
        known = _known_by_key([line for line in lines if place_of(line, artifact)[0] == title], artifact)
        views.append({
            "title": ", ".join(plain(paper.metrics[metric].name) for metric in named) or title,
            "corner": next((word for word, names in corners.items() if set(down) <= set(names)), "Algorithm"),
            "columns": [{**heads[name], "marks": marks(known.get(name, ()))} for name in across],
            "legend": legend({word for words in known.values() for word in words}),
            "notes": list(notes.get(title, ())),
            "rows": [
                {
                    **heads[name],
                    "marks": marks(known.get(name, ())),
                    "rule": bool(above & {(None, name), (title, name)}),
                    "cells": [cells.get((title, name, column)) for column in across],
                }
                for name in down
            ],
        })  # fmt: skip
    return views


def _known_by_key(lines: list[Record], artifact: Artifact) -> dict[str, set[str]]:
    """How the hyper-parameters are known of which a line or column holds the numbers, by its key in a table."""
    known: dict[str, set[str]] = {}
    for line in lines:
        row = _row(line["algorithm"], line["hyperparameters"], artifact)
        _, *keys = place_of(line, artifact)
        key = row if row in keys else line["setting"]  # a setting stands for its only row
        known.setdefault(key, set()).update(line["provenance"].split(", "))
    return known


def _row(algorithm: str, hyperparameters: str, artifact: Artifact) -> str:
    """Key of a row. Where settings are columns, rows that the paper titles alike are one: its key is their title."""
    titles = [row.title for row in artifact.rows]
    for row in artifact.rows if artifact.layout == "variants_by_setting" else ():
        same = (row.algorithm, row.variant.csv) == (algorithm, hyperparameters)
        if same and row.title and titles.count(row.title) > 1:
            return row.title
    return f"{algorithm}({hyperparameters})"


def _heads(lines: list[Record], paper: Paper, artifact: Artifact) -> dict[str, dict[str, str]]:
    """What stands at the head of a line or column: settings, rows, metrics."""
    titles = {_row(row.algorithm, row.variant.csv, artifact): row.title for row in artifact.rows}
    heads: dict[str, dict[str, str]] = {}
    for line in lines:
        algorithm, hyperparameters = line["algorithm"], line["hyperparameters"]
        title = paper.algorithms[algorithm].title if algorithm in paper.algorithms else algorithm
        row, small = _row(algorithm, hyperparameters, artifact), hyperparameters.replace(",", ", ")
        heads[row] = {"name": titles.get(row) or title, "small": "" if row == titles.get(row) else small, "meaning": ""}
        heads[line["setting"]] = {"name": line["setting"], "small": "", "meaning": ""}
        heads[line["metric"]] = column_view(line["metric"], metric_of(paper.metrics, line["metric"]))
    return heads


def column_view(name: str, metric: Metric | None) -> dict[str, str]:
    if metric is None:
        return {"name": name, "small": "", "meaning": ""}
    better = {"up": "higher is better", "down": "lower is better", None: ""}[metric.direction]
    # A member of a family carries its number: the family's title would stand over every column.
    family = re.search(r"_(\d+)$", name) and "_k" in metric.name
    small = ", ".join(filter(None, (" or ".join([metric.unit, *metric.other_units]), better)))
    return {"name": name if family else metric.name, "small": small, "meaning": metric.meaning}


def cell_view(line: Record, digits: int, anchor: str, endless_here: str, endless_there: str) -> dict[str, Any]:
    """One number of ours and the paper's; `endless_here` and `endless_there` stand for infinity in them."""
    apart, unit = line["difference"], line["unit"]
    ran = line["seeds"] != "0"
    theirs_diverged = line["reported_note"].startswith(DIVERGED) and line["verdict"] != "not reported"
    return {
        "ours": _shown(line["ours"], unit, digits, endless_here) or DIVERGED * ran,
        "ours_std": _shown(line["ours_std"], unit, digits) if line["seeds"] not in ("0", "1") else "",
        "reported": _shown(line["reported"], unit, digits, endless_there) or DIVERGED * theirs_diverged,
        "reported_std": _shown(line["reported_spread"], unit, digits),
        "verdict": line["verdict"],
        "distance": f"{float(apart):+.3g}, limit {float(line['limit']):.3g}" if apart else "",
        "note": "; ".join(filter(None, (line["reported_note"], line["note"]))),
        "reported_mark": None,
        "contradiction": line["contradiction"],
        "anchor": anchor,
    }


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


def _shown(value: str, unit: str, digits: int, endless: str = "") -> str:
    if not value:
        return ""
    return printed(number, unit, digits) if math.isfinite(number := float(value)) else endless
