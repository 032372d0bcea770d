"""Algorithms: one file each, named by its id. `load` imports lazily, so none depends on another."""

import importlib
from types import ModuleType

from fairfl.algorithms.interface import plain_init, plain_plan


def load(name: str) -> ModuleType:
    """Return the algorithm's module with `init` and `plan` filled in where it leaves them out."""
    module = importlib.import_module(f"fairfl.algorithms.{name}")
    for part, default in (("init", plain_init), ("plan", plain_plan)):
        if not hasattr(module, part):
            setattr(module, part, default)
    return module
