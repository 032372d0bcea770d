"""JPEG and PNG files as arrays."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Literal

import numpy as np

from fairfl.data.formats import archives
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import format_place


def decode(data: bytes, kind: Literal["JPEG", "PNG"], name: str, side: int) -> tuple[np.ndarray, bool]:
    """Colours uint8 [3, side, side], and whether the file itself is RGB; ``name`` is for messages.

    Grey or palette images are converted; an alpha channel is dropped.

    Raises:
        DataError: not a file of this kind, damaged or of another size, or Pillow is not installed.
    """
    name = format_place((name,))
    try:
        from PIL import Image
    except ImportError as error:
        raise DataError(f"{name}: reading it needs Pillow (pip install pillow)") from error
    try:
        with Image.open(io.BytesIO(data), formats=(kind,)) as image:
            # The header is checked before memory is set aside for what it promises.
            if image.size != (side, side):
                width, height = image.size
                raise DataError(f"{name}: the image is {width}x{height}; expected {side}x{side}")
            pixels = np.asarray(image.convert("RGB"))
            return pixels.transpose(2, 0, 1), image.mode == "RGB"
    except DataError:
        raise
    except Exception as error:  # a damaged picture may raise nearly anything
        raise DataError(f"{name}: damaged, or not a {kind} file") from error


def jpeg_folders(path: Path, parts: tuple[str, ...], side: int) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [N, 3, side, side] and labels int64 [N] of the files <part>/<class>/<number>.jpg in a tar archive.

    Rows are in the order of part, class and number; classes are numbered by the alphabet.

    Raises:
        DataError: a damaged archive or picture, or Pillow is not installed.
    """
    wanted = re.compile(rf"({'|'.join(parts)})/\w+/\d+\.jpg")
    contents = dict(archives.members(path, lambda name: wanted.fullmatch(name) is not None))
    names = sorted(contents, key=lambda name: (parts.index(name.split("/")[0]), name))
    images = np.array([decode(contents[name], "JPEG", name, side)[0] for name in names])
    return images, np.unique([name.split("/")[1] for name in names], return_inverse=True)[1]
