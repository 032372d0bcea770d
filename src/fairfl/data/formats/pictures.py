"""JPEG and PNG files as arrays. Checksums vouch for them in all data sets, so their contents are not checked again."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fairfl.data.formats import archives


def parts_of(part: str, every: tuple[str, ...] = ("train", "test")) -> tuple[str, ...]:
    """The published parts that an option `part` means, in the order of the rows."""
    return every if part == "all" else (part,)


def decode(
    names: Sequence[str], read: Callable[[str], bytes], side: int
) -> tuple[np.ndarray, np.ndarray]:
    """Colours uint8 [N, 3, side, side] of the files, and whether each is RGB itself, bool [N].

    Grey or palette images are converted; an alpha channel is dropped.

    Args:
        read: content of a file by its name.
    """
    from PIL import Image  # only data sets of pictures need it

    images, rgb = np.empty((len(names), 3, side, side), np.uint8), np.empty(len(names), bool)
    for row, name in enumerate(names):
        with Image.open(io.BytesIO(read(name))) as image:
            images[row], rgb[row] = (
                np.asarray(image.convert("RGB")).transpose(2, 0, 1),
                image.mode == "RGB",
            )
    return images, rgb


def folders(
    path: Path, parts: tuple[str, ...], ending: str, side: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, labels int64 [N] and whether they are RGB of the files <part>/<class>/<name>.<ending> in a tar archive.

    Rows are in the order of part, class and name; classes are numbered by the alphabet.

    Raises:
        DataError: a damaged archive.
    """
    wanted = re.compile(rf"(?:.*/)?({'|'.join(parts)})/(\w+)/[^/]+\.{ending}")
    contents = dict(archives.members(path, wanted.fullmatch))
    names = sorted(contents, key=lambda name: (parts.index(name.split("/")[-3]), name))
    images, rgb = decode(names, contents.__getitem__, side)
    return images, np.unique([name.split("/")[-2] for name in names], return_inverse=True)[1], rgb
