"""Papers of the project with other keys, in a folder of a test."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fairfl.experiments.workload import Workload, load_workload

ROOT = Path(__file__).resolve().parents[2]
GONE = "GONE"


@cache
def read(name: str) -> dict[str, Any]:
    """A YAML file of the project."""
    found: dict[str, Any] = yaml.load((ROOT / name).read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def changed(tree: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy in which keys ("a/b/0") have other values, or are gone (GONE)."""
    tree = copy.deepcopy(tree)
    for keys, value in changes.items():
        *parents, last = [int(key) if key.isdigit() else key for key in keys.split("/")]
        node: Any = tree
        for key in parents:
            node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
        if value == GONE:
            del node[last]
        else:
            node[last] = value
    return tree


def written(path: Path, tree: Any) -> Path:
    """The path of a YAML file with this content, or these bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tree if isinstance(tree, bytes) else yaml.safe_dump(tree, sort_keys=False).encode())
    return path


def planned(folder: Path, name: str, changes: dict[str, Any], scale: str = "full", **config: Any) -> Workload:
    """The workload of one paper with other keys, at a scale that changes nothing."""
    written(folder / f"papers/{name}.yaml", changed(read(f"papers/{name}.yaml"), changes))
    written(folder / f"scales/{scale}.yaml", {"scale": scale, "description": "d"})
    return load_workload(folder, {"scale": scale, "papers": [name]} | config)


def template(folder: Path, keys: dict[str, Any], **config: Any) -> Workload:
    """The workload of the template with other keys of its setting."""
    return planned(
        folder, "template", {f"settings/template_digits/{key}": value for key, value in keys.items()}, **config
    )
