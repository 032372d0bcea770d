"""Algorithms: one file each, named by its id. `create` imports lazily, so none depends on another."""

from collections.abc import Mapping
from typing import Any

from fairfl.algorithms.interface import Algorithm
from fairfl.experiments import plugins


def load(name: str) -> type[Algorithm]:
    """The class that extends `Algorithm` in the algorithm's file. Raises PluginError if it cannot be imported."""
    return plugins.plugin_class("algorithms", name, Algorithm)


def create(name: str, hyperparameters: Mapping[str, Any]) -> Algorithm:
    """The algorithm with these hyper-parameters, under the names that YAML uses; others have their defaults.

    Raises pydantic.ValidationError for a value that its `Config` refuses.
    """
    return load(name)(plugins.module("algorithms", name).Config(**hyperparameters))
