"""Settings and algorithms on the page: each value here, the paper's, and its source."""

import math
from collections.abc import Iterable
from typing import Any

import yaml

from fairfl.experiments.described import DescribedAlgorithm
from fairfl.experiments.paper import Artifact
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.judgement.changes import original


def _text(value: Any) -> str:
    """A value as YAML has it: '{name: cnn, channels: [32, 64]}'."""
    return (
        yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
        .removesuffix("...\n")
        .strip()
    )


def setting_view(workload: Workload, name: str) -> dict[str, Any]:
    """Every hyper-parameter that a setting names: value here, the paper's value, source."""
    here, paper = workload.settings[name], original(workload, name)
    values, published = (
        setting.model_dump(mode="json", exclude_none=True) for setting in (here, paper)
    )
    rows = []
    for key in filter(lambda key: key not in ("sources", "notes"), Setting.model_fields):
        value = values.get(key)
        sources = [
            text if part == key else f"{part.removeprefix(f'{key}.')}: {text}"
            for part, text in paper.sources.items()
            if part == key or part.startswith(f"{key}.")
        ]
        changed = value != published.get(key)
        if (
            sources
            or changed
            or value != Setting.model_fields[key].get_default(call_default_factory=True)
        ):
            rows.append(
                {
                    "key": key,
                    "here": _text(value),
                    "paper": _text(published.get(key)) if changed else "",
                    "changed": changed,
                    "sources": sources,
                }
            )
    return {"name": name, "data": here.data.label, "rows": rows, "notes": paper.notes}


def algorithm_view(
    key: str, algorithm: DescribedAlgorithm, artifacts: Iterable[Artifact]
) -> dict[str, Any]:
    """Hyper-parameters of an algorithm: fixed values, values of the rows, the paper's grid, source."""
    used: dict[str, dict[str, None]] = {}
    for row in (row for artifact in artifacts for row in artifact.rows if row.algorithm == key):
        for name, value in row.hyperparameters.items():
            used.setdefault(name, {})[str(value)] = None
    rows = []
    for name in dict.fromkeys([*algorithm.defaults, *algorithm.grid, *used]):
        fixed = _text(algorithm.defaults[name]) if name in algorithm.defaults else ""
        grid, values = (
            ", ".join(map(str, algorithm.grid.get(name, []))),
            ", ".join(used.get(name, ())),
        )
        source = algorithm.sources.get(name, "")
        rows.append({"key": name, "fixed": fixed, "rows": values, "grid": grid, "source": source})
    return {"key": key, "title": algorithm.title, "rows": rows}
