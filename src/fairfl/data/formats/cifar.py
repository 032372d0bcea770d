"""The forms of CIFAR-10 and CIFAR-100: pickled batches as published, and JPEG files, both in a tar archive.

A batch is a pickle of Python 2: a dict with ``data``, a uint8 array [rows, 3072] (32 x 32 red, then
green, then blue values), and a list of labels (Krizhevsky 2009,
https://www.cs.toronto.edu/~kriz/cifar.html). Checksums vouch for the archives, so their contents are not
checked again.
"""

from __future__ import annotations

import io
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.checks import Forms
from fairfl.data.formats import archives
from fairfl.data.formats.pictures import Decoded, list_parts, read_folders
from fairfl.data.interface import RemoteFile

_BATCH = re.compile(r"cifar-[^/]+/(data_batch_\d|train|test|test_batch)")
# What the pickles refer to; numpy has moved it since.
_CLASSES = {"ndarray": np.ndarray, "dtype": np.dtype, "_reconstruct": np.empty(0).__reduce__()[0]}


def forms(classes: int, pickled: str, jpeg: str) -> Forms:
    """The two archives of CIFAR with this number of classes, whose sha256 are given."""
    name = f"cifar-{classes}-python.tar.gz"
    url = f"https://www.cs.toronto.edu/~kriz/{name}"
    return Forms(
        f"cifar{classes}",
        pickle=RemoteFile(name, (url,), (pickled,), magic="gzip"),
        jpeg=RemoteFile(f"cifar{classes}_jpeg.tar.xz", sha256=(jpeg,)),
    )


def read(forms: Forms, raw: Path | None, options: Any) -> tuple[Decoded, str]:
    """Images of the options `part` and `form`, and what they are in words.

    Rows of the published archive are in published order, rows of the JPEG archive in the order of part, class and file
    number.

    Raises:
        SourceError: the archive is missing or damaged.
    """
    form, path = forms.find(raw, options.form)
    parts = list_parts(options.part)
    if form == "jpeg":
        return read_folders(path, parts, "jpg", 32), "JPEG-compressed copy, lossy"
    contents = dict(archives.read_members(path, _BATCH.fullmatch))
    numbers, batches = zip(
        *(
            (number, _Unpickler(io.BytesIO(contents[name]), encoding="bytes").load())
            for number, part in enumerate(parts)
            for name in sorted(contents)
            if ("test" in name) == (part == "test")
        ),
        strict=True,
    )
    labels = [batch.get(b"fine_labels") or batch[b"labels"] for batch in batches]
    images = np.concatenate([batch[b"data"] for batch in batches]).reshape(-1, 3, 32, 32)
    part = np.repeat(numbers, list(map(len, labels)))
    return Decoded(images, np.concatenate(labels), part, np.ones(len(part), bool)), "as published"


class _Unpickler(pickle.Unpickler):
    """A pickle is a program, which here can call nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        return _CLASSES[name]
