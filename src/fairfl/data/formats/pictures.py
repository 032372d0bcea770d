"""JPEG and PNG files as arrays. Checksums vouch for them in all data sets, so their contents are not checked again."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairfl.data.formats import archives


def list_parts(part: str, every: tuple[str, ...] = ("train", "test")) -> tuple[str, ...]:
    """The published parts that an option `part` means, in the order of the rows."""
    return every if part == "all" else (part,)


class Picture(NamedTuple):
    """A file of an archive. Rows are in the order of this."""

    part: int
    label: str
    number: int | str
    name: str


class Decoded(NamedTuple):
    """Colours uint8 [N, 3, side, side], labels int64 [N], the number of each row's part [N], whether it is RGB itself.

    Labels are numbered by the alphabet. Grey or palette images are converted; an alpha channel is dropped.
    """

    inputs: np.ndarray
    labels: np.ndarray
    part: np.ndarray
    rgb: np.ndarray

    def official_test(self, option: str) -> np.ndarray | None:
        """Rows of the second part of two, bool [N]; None if the option `part` asks for one of them."""
        return self.part > 0 if option == "all" else None


def decode(pictures: Iterable[Picture], read: Callable[[str], bytes], side: int) -> Decoded:
    """Rows in order; `read` returns the content of a file by its name."""
    from PIL import Image  # only data sets of pictures need it

    rows = sorted(pictures)
    inputs, rgb = np.empty((len(rows), 3, side, side), np.uint8), np.empty(len(rows), bool)
    for row, picture in enumerate(rows):
        with Image.open(io.BytesIO(read(picture.name))) as image:
            rgb[row] = image.mode == "RGB"
            inputs[row] = np.asarray(image.convert("RGB")).transpose(2, 0, 1)
    labels = np.unique([picture.label for picture in rows], return_inverse=True)[1]
    return Decoded(inputs, labels, np.array([picture.part for picture in rows]), rgb)


def read_folders(path: Path, parts: tuple[str, ...], ending: str, side: int) -> Decoded:
    """Files <part>/<class>/<name>.<ending> of a tar archive, in the order of part, class and name.

    Raises:
        DataError: a damaged archive.
    """
    pattern = re.compile(rf"(?:.*/)?({'|'.join(parts)})/(\w+)/[^/]+\.{ending}")
    contents = dict(archives.read_members(path, pattern.fullmatch))
    matches = filter(None, map(pattern.fullmatch, contents))
    pictures = (Picture(parts.index(match[1]), match[2], match[0], match[0]) for match in matches)
    return decode(pictures, contents.__getitem__, side)
