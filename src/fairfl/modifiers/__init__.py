"""Modifiers: what can be put on top of any algorithm, one file each, named by its id. `create` imports lazily."""

import importlib
from collections.abc import Mapping
from typing import Any

from fairfl.modifiers.interface import Modifier

# In which modifiers act, whatever the order in which a row names them: on the loss, on gradients, on updates before
# they are summed, on their sum.
ORDER = ("lsr", "dp", "fedvarp", "server_momentum")


def load(name: str) -> type[Modifier]:
    """The class that extends `Modifier` in the modifier's file."""
    module = importlib.import_module(f"fairfl.modifiers.{name}")
    classes = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Modifier))
    return next(found for found in classes if found.__module__ == module.__name__)


def create(name: str, parameters: Mapping[str, Any]) -> Modifier:
    """The modifier with these parameters, under the names that YAML uses; others have their defaults.

    Raises pydantic.ValidationError for a value that its `Config` refuses.
    """
    modifier = load(name)
    config = importlib.import_module(modifier.__module__).Config
    return modifier(config(**parameters))
