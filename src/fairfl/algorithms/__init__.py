"""Algorithms: one file each, named by its id. `create` imports lazily, so none depends on another."""

import importlib
from collections.abc import Mapping
from typing import Any

from fairfl.algorithms.interface import Algorithm


def load(name: str) -> type[Algorithm]:
    """The class that extends `Algorithm` in the algorithm's file."""
    module = importlib.import_module(f"fairfl.algorithms.{name}")
    classes = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Algorithm))
    return next(found for found in classes if found.__module__ == module.__name__)


def create(name: str, hyperparameters: Mapping[str, Any]) -> Algorithm:
    """The algorithm with these hyper-parameters, under the names that YAML uses; others have their defaults.

    Raises pydantic.ValidationError for a value that its `Config` refuses.
    """
    algorithm = load(name)
    config = importlib.import_module(algorithm.__module__).Config
    return algorithm(config(**hyperparameters))
