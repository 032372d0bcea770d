"""Modifiers: what can be put on top of any algorithm, one file each, named by its id. `create` imports lazily."""

from collections.abc import Mapping
from typing import Any

from fairfl.experiments import plugins
from fairfl.modifiers.interface import Modifier

# In which modifiers act, whatever the order in which a row names them: on the loss, on gradients, on updates before
# they are summed, on their sum.
ORDER = ("lsr", "dp", "fedvarp", "server_momentum")


def load(name: str) -> type[Modifier]:
    """The class that extends `Modifier` in the modifier's file. Raises PluginError if it cannot be imported."""
    return plugins.plugin_class("modifiers", name, Modifier)


def create(name: str, parameters: Mapping[str, Any]) -> Modifier:
    """The modifier with these parameters, under the names that YAML uses; others have their defaults.

    Raises pydantic.ValidationError for a value that its `Config` refuses.
    """
    return load(name)(plugins.module("modifiers", name).Config(**parameters))
