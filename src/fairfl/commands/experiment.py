"""The YAML of your experiment that `fairfl compare` writes."""

import ast
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import yaml

from fairfl.commands.new import SKELETONS
from fairfl.experiments.artifact import Artifact, Row
from fairfl.experiments.plugins import PACKAGE
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.required import ALONG_TRAINING
from fairfl.runtime.errors import FairflError

_ALONG = 2  # columns of the curves


def experiment(name: str, workload: Workload, artifact: Artifact, variants: list[Variant]) -> str:
    """The YAML of a paper with the rows of the artifact and of `variants`."""
    source = workload.papers[workload.config.papers[0]]
    for variant in variants:
        if variant in [row.variant for row in artifact.rows]:
            raise FairflError(f"{variant} is a row of {source.paper}'s {artifact.title} already")
    rows = [row for setting in artifact.settings for row in artifact.variants_in(setting)]
    algorithms = {row.algorithm for row in rows}
    titles = {key: used.title for key, used in source.algorithms.items() if key in algorithms}
    titles |= {v.algorithm: titles.get(v.algorithm) or _title(v.algorithm) for v in variants}
    labels = artifact.options.get("labels", {})
    labels = {key: text for key, text in labels.items() if key in artifact.settings}
    parts = {workload.settings[setting].reported_part for setting in artifact.settings} - {"test"}
    options = artifact.model_dump(mode="json", exclude_defaults=True)
    values = (
        options
        | _rows(options["rows"], variants)
        | {
            "name": name,
            "ours": " and ".join(dict.fromkeys(titles[variant.algorithm] for variant in variants)),
            "where": f"{source.called}'s {artifact.title}",
            "metrics": {
                m: source.metrics[m].model_dump(mode="json", exclude_defaults=True)
                for m in artifact.columns
            },
            "algorithms": {key: {"title": title} for key, title in titles.items()},
            "rules": [*options.get("rules", []), len(options["rows"])],
            "labels": labels,
            "panels": {key: text.replace(" | ", ", ") for key, text in labels.items()},
            "selectors": [variant.selector for variant in variants],
            "drawable": _drawable(workload, artifact),
            "part": min(parts, default=None),
        }
    )
    whole = _filled(yaml.safe_load((SKELETONS / "comparison.yaml").read_text()), values)
    if not values["drawable"]:
        del whole["artifacts"]["curves"]
    return yaml.safe_dump(
        whole, sort_keys=False, width=120, allow_unicode=True, default_flow_style=None
    )


def _rows(published: list[dict[str, Any]], variants: list[Variant]) -> dict[str, Any]:
    """The rows of a table and of `variants`, in the orders that the template asks for."""
    own = [
        Row(algorithm=v.algorithm, hyperparameters=dict(v.values)).model_dump(
            mode="json", exclude_defaults=True
        )
        for v in dict.fromkeys(variants)
    ]
    hidden = ("provenance", "note")
    rows = [{key: row[key] for key in row if key not in hidden} for row in published]
    first = {row["algorithm"]: row for row in reversed(rows)}
    return {
        "rows": [*rows, *own],
        "own_rows_first": [*own, *rows],
        "row_of_each_algorithm": [*own, *(row for row in rows if row is first[row["algorithm"]])],
    }


def _filled(tree: Any, values: Mapping[str, Any]) -> Any:
    """A template with a value where `$name` stands, and {name} in texts; keys without a value are left out."""
    if isinstance(tree, dict):
        parts = {key: _filled(part, values) for key, part in tree.items()}
        return {key: part for key, part in parts.items() if part}
    return deepcopy(values.get(tree[1:])) if tree.startswith("$") else tree.format(**values)


def _title(algorithm: str) -> str:
    """The first word of the algorithm's file if that is its name, 'MLR' for mlr; else its words with capitals."""
    first = (_doc(algorithm).split() or [""])[0].rstrip(".,:;")
    if re.sub(r"\W|_", "", first).lower() == algorithm.replace("_", ""):
        return first
    return " ".join(word.capitalize() for word in algorithm.split("_"))


def _doc(algorithm: str) -> str:
    try:
        return (
            ast.get_docstring(ast.parse((PACKAGE / "algorithms" / f"{algorithm}.py").read_bytes()))
            or ""
        )
    except (OSError, SyntaxError, ValueError):
        return ""  # said by those who run it


def _drawable(workload: Workload, artifact: Artifact) -> list[str]:
    """The first columns that can be drawn along training in every setting."""
    everywhere = [
        m
        for m in artifact.columns
        if all(m in artifact.columns_in.get(s, [m]) for s in artifact.settings)
    ]
    return [m for m in everywhere if m in ALONG_TRAINING][:_ALONG]
