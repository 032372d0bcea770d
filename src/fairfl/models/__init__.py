"""Model families: one file each. A file has `class Config` and `build(config, shape, outputs) -> nn.Module`."""

from typing import Any

from torch import nn

from fairfl.experiments import plugins


def build(choice: dict[str, Any], shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build `{name: ..., **parameters}` for inputs of one sample's `shape` and `outputs` outputs."""
    options = {key: value for key, value in choice.items() if key != "name"}
    module = plugins.module("models", choice["name"])
    return module.build(module.Config(**options), shape, outputs)
