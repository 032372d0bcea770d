"""The forms of CIFAR-10 and CIFAR-100: pickled batches as published, and JPEG files, both in a tar archive.

A batch is a pickle of Python 2: a dict with ``data``, a uint8 array [rows, 3072] (32 x 32 red, then
green, then blue values), and a list of labels (Krizhevsky 2009,
https://www.cs.toronto.edu/~kriz/cifar.html). Checksums vouch for the archives, so their contents are not
checked again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.checks import Forms
from fairfl.data.formats import archives, pictures

# What the pickles refer to; numpy has moved it since.
_CLASSES = {"ndarray": np.ndarray, "dtype": np.dtype, "_reconstruct": np.empty(0).__reduce__()[0]}


def read(
    forms: Forms, raw: Path | None, options: Any, batches: Mapping[str, Sequence[str]], key: str
) -> tuple[np.ndarray, np.ndarray, str]:
    """Images uint8 [N, 3, 32, 32] and labels int64 [N] of the option `part`, and what was read, in words.

    Rows of the published archive are in published order, rows of the JPEG archive in the order of part, class and file
    number.

    Args:
        forms: pickle and jpeg.
        batches: of each part, their names in the published archive.
        key: the entry of a batch with its labels.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    form, path = forms.find(raw, options.form)
    parts = pictures.parts_of(options.part)
    if form == "jpeg":
        images, labels, _ = pictures.folders(path, parts, "jpg", 32)
        return images, labels, "JPEG-compressed copy, lossy"
    names = [name for part in parts for name in batches[part]]
    contents = dict(archives.members(path, names.__contains__))
    loaded = [_Unpickler(io.BytesIO(contents[name]), encoding="bytes").load() for name in names]
    images, labels = (
        np.concatenate([batch[name] for batch in loaded]) for name in (b"data", key.encode())
    )
    return images.reshape(-1, 3, 32, 32), labels, "as published"


class _Unpickler(pickle.Unpickler):
    """A pickle is a program, which here can call nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        return _CLASSES[name]
