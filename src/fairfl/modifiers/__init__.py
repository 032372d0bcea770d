"""Modifiers: what can be put on top of any algorithm, one file each, named by its id. `load` imports lazily."""

import importlib
from types import ModuleType
from typing import Any

from fairfl.modifiers.interface import as_received, as_reported, as_summed, no_privacy, no_state, same_objective

# In which modifiers act, whatever the order in which a row names them: on the loss, on gradients, on updates before
# they are summed, on their sum.
ORDER = ("lsr", "dp", "fedvarp", "server_momentum")


def load(name: str) -> ModuleType:
    """Return the modifier's module with the hooks filled in that it leaves out."""
    module = importlib.import_module(f"fairfl.modifiers.{name}")
    defaults = {
        "resolve": as_written,
        "init": no_state,
        "objective": same_objective,
        "privacy": no_privacy,
        "received": as_received,
        "reports": as_reported,
        "total": as_summed,
    }
    for hook, default in defaults.items():
        if not hasattr(module, hook):
            setattr(module, hook, default)
    return module


def as_written(config: Any, needs: tuple[str, ...], batch_size: int | None) -> Any:
    """The configuration leaves nothing open that the algorithm or the setting decides."""
    return config
