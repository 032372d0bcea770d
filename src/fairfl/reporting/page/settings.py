"""Settings and algorithms on the page: each value here, the paper's, and its source."""

import math
from collections.abc import Iterable
from typing import Any

import yaml

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.judgement.changes import original


def yaml_text(value: Any) -> str:
    """A value as YAML has it: '{name: cnn, channels: [32, 64]}'."""
    text = yaml.safe_dump(value, default_flow_style=True, width=math.inf, sort_keys=False)
    return text.removesuffix("...\n").strip()


def setting_view(workload: Workload, name: str) -> dict[str, Any]:
    """Every hyper-parameter that a setting names: value here, the published value if it differs, sources."""
    here, paper = workload.settings[name], original(workload, name)
    values, published = (
        setting.model_dump(mode="json", exclude_none=True) for setting in (here, paper)
    )
    rows = []
    for key, field in Setting.model_fields.items():
        value, is_changed = values.get(key), values.get(key) != published.get(key)
        sources = [
            text if part == key else f"{part.removeprefix(f'{key}.')}: {text}"
            for part, text in paper.sources.items()
            if part == key or part.startswith(f"{key}.")
        ]
        is_default = value == field.get_default(call_default_factory=True)
        if key not in ("sources", "notes") and (sources or is_changed or not is_default):
            rows.append((key, value, is_changed, published.get(key), "; ".join(sources)))
    return {"name": name, "data": here.data.label, "rows": rows, "notes": paper.notes}


def values_in_rows(artifacts: Iterable[Artifact]) -> dict[str, dict[str, dict[str, None]]]:
    """Values that hyper-parameters have in rows of artifacts: algorithm -> hyper-parameter -> values."""
    used: dict[str, dict[str, dict[str, None]]] = {}
    for row in (row for artifact in artifacts for row in artifact.rows):
        for name, value in row.hyperparameters.items():
            used.setdefault(row.algorithm, {}).setdefault(name, {})[str(value)] = None
    return used
