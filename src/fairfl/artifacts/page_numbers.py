"""The numbers of an artifact on the page: tables in the paper's layout, and the runs behind every number."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fairfl.artifacts.arms import spelled
from fairfl.artifacts.units import printed
from fairfl.artifacts.values import DIVERGED, digits_of, metric_of
from fairfl.spec.paper import Artifact, Metric, Paper

Record = dict[str, str]  # a line of comparison.csv or claims.csv

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω",
}  # fmt: skip
_SYMBOLS = {
    "pm": "±", "times": "×", "cdot": "·", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "uparrow": "↑",
    "downarrow": "↓", "to": "→", "infty": "∞", "sum": "∑", "nabla": "∇", "ell": "ℓ", "in": "∈", "sqrt": "√",
    "Gamma": "Γ", "Delta": "Δ", "text": "", "mathrm": "", "mathbf": "", "mathcal": "", "textbf": "", "left": "",
    "right": "", "quad": " ",
}  # fmt: skip


def plain(text: str) -> str:
    """LaTeX of a title as readable text: '$\\max_k r_k$' -> 'max_k r_k'. Unknown commands keep their name."""
    text = re.sub(r"\\([%&#$_{}])", r"\1", text.replace("$", "").replace("^2", "²").replace("^*", "*"))
    text = re.sub(r"\\([A-Za-z]+) ?", lambda m: (_GREEK | _SYMBOLS).get(m[1], m[1]), text)
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
    """Where a line of comparison.csv stands in the artifact's layout. A table is named by its setting, '' if it is the
    only one; numbers that the layout has no place for get tables by setting."""
    row = _row(line["algorithm"], line["hyperparameters"])
    if line["metric"] in artifact.columns and artifact.kind == "table":
        if artifact.layout == "settings_by_arm":
            return "", line["setting"], row
        if artifact.layout == "arms_by_setting":
            return "", row, line["setting"]
        if not artifact.rows:
            return "", line["setting"], line["metric"]
    return line["setting"], row, line["metric"]


def table_views(
    lines: list[Record], paper: Paper, artifact: Artifact, groups: dict[tuple, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The numbers in the paper's layout."""
    digits = digits_of(paper.metrics)
    heads = _heads(lines, paper, artifact)
    ruled = [artifact.rows[number] for number in artifact.rules] if artifact.kind == "table" else []
    above = {(row.setting, _row(row.algorithm, spelled(row.hyperparameters))) for row in ruled}
    tables: dict[str, dict[Place, dict[str, Any]]] = {}
    for line in lines:
        place = place_of(line, artifact)
        cells = tables.setdefault(place[0], {})
        cells[place] = cell_view(line, digits(line["metric"]), groups[_group(line)]["id"])
    views = []
    for title, cells in tables.items():
        across, down = (list(dict.fromkeys(place[n] for place in cells)) for n in (2, 1))
        settings = all(name in artifact.settings for name in down)
        views.append({
            "title": title or ", ".join(plain(paper.metrics[metric].name) for metric in artifact.columns),
            "corner": "Setting" if settings else "Algorithm",
            "columns": [heads[name] for name in across],
            "rows": [
                {
                    **heads[name],
                    "rule": bool(above & {(None, name), (title, name)}),
                    "cells": [cells.get((title, name, column)) for column in across],
                }
                for name in down
            ],
        })  # fmt: skip
    return views


def _row(algorithm: str, hyperparameters: str) -> str:
    return f"{algorithm}({hyperparameters})"


def _heads(lines: list[Record], paper: Paper, artifact: Artifact) -> dict[str, dict[str, str]]:
    """What stands at the head of a line or column: settings, rows, metrics."""
    titles = {_row(row.algorithm, spelled(row.hyperparameters)): row.title for row in artifact.rows}
    heads: dict[str, dict[str, str]] = {}
    for line in lines:
        algorithm, hyperparameters = line["algorithm"], line["hyperparameters"]
        own = paper.algorithms[algorithm].title if algorithm in paper.algorithms else algorithm
        row, small = _row(algorithm, hyperparameters), hyperparameters.replace(",", ", ")
        heads[row] = {"name": titles.get(row) or own, "small": small, "meaning": ""}
        heads[line["setting"]] = {"name": line["setting"], "small": "", "meaning": ""}
        heads[line["metric"]] = column_view(line["metric"], metric_of(paper.metrics, line["metric"]))
    return heads


def column_view(name: str, metric: Metric | None) -> dict[str, str]:
    if metric is None:
        return {"name": name, "small": "", "meaning": ""}
    better = {"up": "higher is better", "down": "lower is better", None: ""}[metric.direction]
    # A member of a family carries its number: the family's title would stand over every column.
    family = re.search(r"_(\d+)$", name) and "_k" in metric.name
    small = ", ".join(filter(None, (metric.unit, better)))
    return {"name": name if family else metric.name, "small": small, "meaning": metric.meaning}


def cell_view(line: Record, digits: int, anchor: str) -> dict[str, Any]:
    over, unit = line["difference_over_spread"], line["unit"]
    ran, said = line["seeds"] != "0", line["note"].startswith(DIVERGED) and line["verdict"] != "not reported"
    return {
        "ours": _shown(line["ours"], unit, digits) or DIVERGED * ran,
        "ours_std": _shown(line["ours_std"], unit, digits) if line["seeds"] not in ("0", "1") else "",
        "reported": _shown(line["reported"], unit, digits) or DIVERGED * said,
        "reported_std": _shown(line["reported_spread"], unit, digits),
        "verdict": line["verdict"],
        "distance": f"{float(over):+.1f} joint spreads" if over else "",
        "note": line["note"],
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


def _shown(value: str, unit: str, digits: int) -> str:
    return printed(float(value), unit, digits) if value else ""
