"""FEMNIST: handwritten digits and letters by writer, 28x28, 62 classes (LEAF, Caldas et al. 2018).

LEAF takes them from NIST Special Database 19 and groups them by writer. Two forms are read:

* What LEAF's own scripts make (with Pillow before 10, whose ANTIALIAS they ask for). They leave files of
  a hundred writers each, which go into one archive::

      git clone https://github.com/TalwalkarLab/leaf && cd leaf/data/femnist
      ./preprocess.sh
      tar czf femnist_leaf.tar.gz -C data/all_data .

  Archives of ``data/sampled_data`` or ``data/rem_user_data``, and of fewer writers, are read as well; the ``source``
  says how many of all writers there are.
* The copy of TensorFlow Federated, a database (fairfl.data.formats.tff) with the same ids of writers. It leaves
  out writers with a single character and comes in a training and a test part, which are put together.

The first is used where there is one; the second is published and asked for otherwise. They are not the
same rows, and the ``source`` says which ones were read. In both a pixel is 1 where the paper is blank.
"""

import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import Forms
from fairfl.data.formats import archives, tff
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import DataError
from fairfl.runtime.plain_data import format_place, one_line
from fairfl.values.json_text import from_json

_NAME = "femnist"
_PIXELS = 28 * 28
_LEAF_WRITERS = 3597
_SPLITS = ("all_train", "all_test")
_LEAF_FILE = re.compile(r"(.*/)?all_data[^/]*\.json")
_ORIGINS = {"leaf": "made by LEAF's scripts", "tff": "TensorFlow Federated's copy"}
_FORMS = Forms(
    _NAME,
    leaf=RemoteFile(
        "femnist_leaf.tar.gz", magic="gzip"
    ),  # everybody makes it anew, so it has no checksum
    tff=RemoteFile(
        "emnist_all.sqlite.lzma",
        ("https://storage.googleapis.com/tff-datasets-public/emnist_all.sqlite.lzma",),
        sha256=("c3aaf91b4cf4e69d53d81627ad119eccdc878ff906f68e66063ff10f67faad48",),
    ),
)

# Of one writer: id, images uint8 [n, 784] in which ink is 255, labels [n].
_Writer = tuple[str, np.ndarray, np.ndarray]


class Config(Strict):
    """Options of the data set."""

    form: Literal["auto", "leaf", "tff"] = Field(
        "auto",
        description="made by LEAF's scripts, or TensorFlow Federated's copy; auto: the first that there is",
    )
    paper: Literal["black", "white"] = Field(
        "black", description="colour around the ink; black: ink is 255"
    )


files = _FORMS.files


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28]; labels 0-9 digits, 10-35 A-Z, 36-61 a-z; client: number of the writer, from 0.

    Rows are in the order of the writers' ids as text, and of one writer as they are stored. LEAF's scripts enter the
    first character of nearly every writer twice: rows of a writer with equal pixels are one group. The database (170
    MB) is unpacked into a temporary folder beside the packed file (5 GB).

    Raises:
        SourceError, DataError: the file is missing, damaged or not as expected.
        OSError: the database cannot be unpacked.
    """
    form, path = _FORMS.find(raw, options.form)
    writers = sorted(
        (_read_leaf if form == "leaf" else _read_tff)(path), key=lambda writer: writer[0]
    )
    ids = [writer for writer, *_ in writers]
    if twice := [later for earlier, later in itertools.pairwise(ids) if earlier == later]:
        raise DataError(
            f"{path.name}: writer {format_place((twice[0],))} comes twice; an archive holds one folder of LEAF's files"
        )
    if not ids:
        raise DataError(
            f"{path.name}: holds no characters (an archive of LEAF has files all_data*.json)"
        )
    count = f"{len(ids)} writers"
    if form == "leaf" and len(ids) < _LEAF_WRITERS:
        count = f"{len(ids)} of LEAF's {_LEAF_WRITERS} writers"
    source = f"FEMNIST, {_ORIGINS[form]}: {count}, {options.paper} paper"
    images, labels, client, groups = _together(writers)
    if options.paper == "white":
        np.subtract(255, images, out=images)
    return assemble(_NAME, 62, source, images, labels, client=client, groups=groups)


def _together(writers: list[_Writer]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images [N, 1, 28, 28], labels, client and groups [N], from each writer's images and labels.

    There may be 630 MB of images, so the list is emptied on the way.
    """
    sizes = [len(labels) for *_, labels in writers]
    labels = np.concatenate([labels for *_, labels in writers])
    images, groups = np.empty((len(labels), _PIXELS), np.uint8), np.empty(len(labels), np.int64)
    stop = len(labels)
    while writers:
        _, pictures, _ = writers.pop()
        start = stop - len(pictures)
        images[start:stop] = pictures
        first: dict[bytes, int] = {}
        groups[start:stop] = [
            first.setdefault(image.tobytes(), row) for row, image in enumerate(pictures, start)
        ]
        stop = start
    client = np.repeat(np.arange(len(sizes)), sizes)
    return images.reshape(-1, 1, 28, 28), labels, client, groups


def _ink(values: Any) -> np.ndarray:
    """uint8 [n, 784], ink is 255, from [n, 784] numbers of 0 (ink) to 1 (paper). Raises ValueError for others."""
    paper = np.asarray(values, dtype=float).reshape(len(values), _PIXELS)
    if not ((paper >= 0) & (paper <= 1)).all():
        raise ValueError("a pixel is not within 0..1")
    return 255 - np.rint(255 * paper).astype(np.uint8)


def _read_leaf(path: Path) -> Iterator[_Writer]:
    for name, data in archives.read_members(path, _LEAF_FILE.fullmatch):
        try:
            # Ten million numbers, but 256 different ones: each is kept once.
            content = from_json(data, parse_float=functools.cache(float))
            for writer in content["users"]:
                x, y = (content["user_data"][writer][key] for key in "xy")
                if len(x) != len(y):
                    raise ValueError(f"writer {writer} has {len(x)} images and {len(y)} labels")
                if y:
                    yield writer, _ink(x), np.array(y)
        except (LookupError, TypeError, ValueError, OverflowError) as error:
            place = f"{path.name}: {format_place((name,))}"
            raise DataError(f"{place}: not a file of LEAF ({one_line(str(error))})") from error


def _read_tff(path: Path) -> Iterator[_Writer]:
    with tff.open_database(path) as database:
        for writer in dict.fromkeys(
            user for split in _SPLITS for user, _ in tff.list_users(database, split)
        ):
            stored = [
                example
                for split in _SPLITS
                for example in tff.read_examples(database, split, writer)
            ]
            if stored:
                images = _ink([tff.read_floats(example, "pixels") for example in stored])
                yield (
                    writer,
                    images,
                    np.array([tff.read_whole(example, "label") for example in stored]),
                )
