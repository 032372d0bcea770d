"""Model families: one file each. A file has `class Config` and `build(config, shape, outputs) -> nn.Module`."""

import importlib
from typing import Any

from torch import nn


def build(choice: dict[str, Any], shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build `{name: ..., **parameters}` for inputs of one sample's `shape` and `outputs` outputs."""
    options = {key: value for key, value in choice.items() if key != "name"}
    module = importlib.import_module(f"fairfl.models.{choice['name']}")
    return module.build(module.Config(**options), shape, outputs)
