"""Algorithms: one file each, named by its id. `load` imports lazily, so none depends on another."""

import importlib
from types import ModuleType

from fairfl.algorithms.interface import (
    deploy_received,
    one_model,
    one_phase,
    plain_init,
    plain_needs,
    plain_plan,
    plain_traffic,
    same_architecture,
)


def load(name: str) -> ModuleType:
    """Return the algorithm's module with the optional functions filled in where it leaves them out."""
    module = importlib.import_module(f"fairfl.algorithms.{name}")
    defaults = {
        "needs": plain_needs(module.NEEDS),
        "init": plain_init,
        "plan": plain_plan,
        "models": one_model,
        "deploy": deploy_received,
        "phases": one_phase,
        "architecture": same_architecture,
        "traffic": plain_traffic,
    }
    for part, default in defaults.items():
        if not hasattr(module, part):
            setattr(module, part, default)
    return module
