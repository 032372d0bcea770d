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
    values, published = (setting.model_dump(mode="json", exclude={"sources", "notes"}) for setting in (here, paper))
    rows = []
    for key, value in values.items():
        sources = [
            text if part == key else f"{part.removeprefix(f'{key}.')}: {text}"
            for part, text in paper.sources.items()
            if part == key or part.startswith(f"{key}.")
        ]
        changed = value != published[key]
        if sources or changed or value != Setting.model_fields[key].get_default(call_default_factory=True):
            row = {"key": key, "here": _text(value), "paper": _text(published[key]) if changed else ""}
            rows.append({**row, "changed": changed, "sources": sources})
    return {"name": name, "data": here.data.label, "rows": rows, "notes": paper.notes}


def algorithm_view(key: str, algorithm: Algorithm, artifacts: Iterable[Artifact]) -> dict[str, Any]:
    """Hyper-parameters of an algorithm: fixed values, values of the rows, the paper's grid, source."""
    used: dict[str, dict[str, None]] = {}
    for row in (row for artifact in artifacts for row in artifact.rows if row.algorithm == key):
        for name, value in row.hyperparameters.items():
            used.setdefault(name, {})[str(value)] = None
    rows = []
    for name in dict.fromkeys([*algorithm.defaults, *algorithm.grid, *used]):
        fixed = _text(algorithm.defaults[name]) if name in algorithm.defaults else ""
        grid, values = ", ".join(map(str, algorithm.grid.get(name, []))), ", ".join(used.get(name, ()))
        source = algorithm.sources.get(name, "")
        rows.append({"key": name, "fixed": fixed, "rows": values, "grid": grid, "source": source})
    return {"key": key, "title": algorithm.title, "rows": rows}
