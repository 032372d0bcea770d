"""The data sets, one module each; ``load(name)`` imports the one that is asked for."""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from typing import cast

from fairfl.data.interface import Dataset
from fairfl.runtime.errors import OptionError
from fairfl.runtime.plain import shown

_HELPERS = {
    "__init__", "checks", "classes", "download", "interface", "options", "prepared", "pretrained", "registry", "reviews",
    "words",
}  # fmt: skip

DATASETS: tuple[str, ...] = tuple(sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in _HELPERS))
"""Names of all data sets: a new module in this folder is a new data set."""


def load(name: str) -> Dataset:
    """The module of one data set.

    Raises:
        OptionError: (a ValueError) no data set has this name; the message has the nearest one.
    """
    if name not in DATASETS:
        near = difflib.get_close_matches(name[:200], DATASETS, n=1, cutoff=0.0)
        raise OptionError(f"dataset: {shown(name)} is unknown; nearest: {near[0]!r} (valid: {', '.join(DATASETS)})")
    return cast(Dataset, importlib.import_module(f"fairfl.data.{name}"))
