"""python -m fairfl.experiments.schemas: JSON schemas of config.yaml, papers/*.yaml, papers/explanations/*.yaml and
scales/*.yaml from the typed specs.

Editors use them for completion. They are generated, never edited; a test fails if they lag behind.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fairfl.experiments.config import Config
from fairfl.experiments.explanations import Explanations
from fairfl.experiments.paper import Paper
from fairfl.experiments.scale import Scale
from fairfl.runtime import atomic


def schemas() -> dict[str, str]:
    """File name -> JSON text."""
    models: list[type[BaseModel]] = [Config, Paper, Scale, Explanations]
    texts = {model.__name__.lower(): model.model_json_schema() for model in models}
    _allow_templates(texts["paper"])
    return {
        f"{name}.schema.json": json.dumps(text, indent=1, sort_keys=True) + "\n"
        for name, text in texts.items()
    }


def _allow_templates(paper: dict[str, Any]) -> None:
    """Parts of settings may stand in `templates`, and a setting has what it `extends`: no key of it is a must."""
    setting = paper["$defs"]["Setting"]
    del setting["required"]
    setting["properties"]["extends"] = {
        "type": "string",
        "description": "a template, or a setting above this one",
    }
    parts = {"type": "object", "additionalProperties": {"$ref": "#/$defs/Setting"}}
    paper["properties"]["templates"] = parts | {
        "description": "parts that settings share, by `extends`"
    }


def write(folder: Path) -> None:
    for name, text in schemas().items():
        atomic.write_text(folder / name, text)


if __name__ == "__main__":
    write(Path(__file__).resolve().parents[3] / "schemas")
