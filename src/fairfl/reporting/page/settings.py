"""Settings and algorithms on the page: each value here, the paper's, and its source."""

from collections.abc import Iterable
from typing import Any

from fairfl.experiments.described import Algorithm
from fairfl.experiments.paper import Artifact
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.judgement.changes import original


def _text(value: Any) -> str:
    """A value in the words of YAML: 'cnn, channels: [32, 64]'."""
    if isinstance(value, dict):
        head = [str(value["name"])] if "name" in value else []
        rest = [f"{key}: {_text(item)}" for key, item in value.items() if key != "name" and item is not None]
        return ", ".join(head + rest)
    if isinstance(value, list):
        return f"[{', '.join(_text(item) for item in value)}]"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def setting_view(workload: Workload, name: str) -> dict[str, Any]:
    """Every hyper-parameter that a setting names: value here, the paper's value, source."""
    here, paper = workload.settings[name], original(workload, name)
    defaults = {key: field.get_default(call_default_factory=True) for key, field in Setting.model_fields.items()}
    rows = []
    for key in Setting.model_fields:
        if key in ("sources", "notes"):
            continue
        values = [setting.model_dump(mode="json")[key] for setting in (here, paper)]
        sources = [
            (part.removeprefix(f"{key}."), text)
            for part, text in paper.sources.items()
            if part == key or part.startswith(f"{key}.")
        ]
        if not sources and values[0] == values[1] == defaults[key]:
            continue
        rows.append({
            "key": key,
            "here": _text(values[0]),
            "paper": _text(values[1]) if values[0] != values[1] else "",
            "changed": values[0] != values[1],
            "sources": [f"{part}: {text}" if part != key else text for part, text in sources],
        })  # fmt: skip
    return {"name": name, "data": here.data.label, "rows": rows, "notes": paper.notes}


def algorithm_view(key: str, algorithm: Algorithm, artifacts: Iterable[Artifact]) -> dict[str, Any]:
    """Hyper-parameters of an algorithm: fixed values, values of the rows, the paper's grid, source."""
    rows = [row.hyperparameters for artifact in artifacts for row in artifact.rows if row.algorithm == key]
    used = dict.fromkeys((name, value) for row in rows for name, value in row.items())
    names = dict.fromkeys([*algorithm.defaults, *algorithm.grid, *(name for name, _ in used)])
    return {
        "key": key,
        "title": algorithm.title,
        "rows": [
            {
                "key": name,
                "fixed": _text(algorithm.defaults[name]) if name in algorithm.defaults else "",
                "rows": ", ".join(str(value) for other, value in used if other == name),
                "grid": ", ".join(str(value) for value in algorithm.grid.get(name, [])),
                "source": algorithm.sources.get(name, ""),
            }
            for name in names
        ],
    }
