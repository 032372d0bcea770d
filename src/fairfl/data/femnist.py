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
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field

from fairfl.data.checks import present, usable
from fairfl.data.formats import archives, tff
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import DataError
from fairfl.runtime.json_text import from_json
from fairfl.runtime.plain_data import format_place, shown

CLASSES = 62
PER_SEED = False

_NAME = "femnist"
_PIXELS = 28 * 28
_LEAF_WRITERS = 3597
_SPLITS = ("all_train", "all_test")
_MAX_DATABASE_BYTES = 16 * 2**30
_LEAF = RemoteFile(
    "femnist_leaf.tar.gz",
    (),
    magic="gzip",
    why_no_sha256="everybody makes it anew, with LEAF's scripts",
    max_bytes=8 * 2**30,
)
_TFF = RemoteFile(
    "emnist_all.sqlite.lzma",
    ("https://storage.googleapis.com/tff-datasets-public/emnist_all.sqlite.lzma",),
    sha256=("c3aaf91b4cf4e69d53d81627ad119eccdc878ff906f68e66063ff10f67faad48",),
    max_bytes=512 * 2**20,
)
_FORMS = {"auto": replace(_LEAF, instead=_TFF), "leaf": _LEAF, "tff": _TFF}
_ORIGINS = {_LEAF.name: "made by LEAF's scripts", _TFF.name: "TensorFlow Federated's copy"}

# Of one writer: images uint8 [n, 784] in which ink is 255, labels int64 [n].
_Characters = tuple[np.ndarray, np.ndarray]


class Config(Strict):
    """Options of the data set."""

    form: Literal["auto", "leaf", "tff"] = Field(
        "auto", description="made by LEAF's scripts, or TensorFlow Federated's copy; auto: the first that there is"
    )
    paper: Literal["black", "white"] = Field("black", description="colour around the ink; black: ink is 255")


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The archive of LEAF's files, or the database instead."""
    return (_FORMS[options.form],)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28]; labels 0-9 digits, 10-35 A-Z, 36-61 a-z; client: number of the writer, from 0.

    Rows are in the order of the writers' ids as text, and of one writer as they are stored. LEAF's scripts enter the
    first character of nearly every writer twice: rows of a writer with equal pixels are one group. The database (170
    MB) is unpacked into a temporary folder beside the packed file (5 GB).

    Raises:
        SourceError, DataError: the file is missing, damaged or not as expected.
        OSError: the database cannot be unpacked.
    """
    file = present(raw, _FORMS[options.form], _NAME)
    path = usable(raw, file, _NAME)
    writers = _in_order(_read_leaf(path) if file.name == _LEAF.name else _read_tff(path), path.name)
    part = file.name == _LEAF.name and len(writers) < _LEAF_WRITERS
    count = f"{len(writers)} of LEAF's {_LEAF_WRITERS} writers" if part else f"{len(writers)} writers"
    source = f"FEMNIST, {_ORIGINS[file.name]}: {count}, {options.paper} paper"
    images, labels, client, groups = _together(writers)
    if options.paper == "white":
        np.subtract(255, images, out=images)
    return assemble(_NAME, CLASSES, source, images, labels, client=client, groups=groups)


def _in_order(writers: Iterator[tuple[str, _Characters]], name: str) -> list[_Characters]:
    """What each writer wrote, by id; those who wrote nothing are left out."""
    by_id: dict[str, _Characters] = {}
    for writer, characters in writers:
        if writer in by_id:
            raise DataError(
                f"{name}: writer {format_place((writer,))} comes twice; an archive holds one folder of LEAF's files"
            )
        if len(characters[1]):
            by_id[writer] = characters
    if not by_id:
        raise DataError(f"{name}: holds no characters (an archive of LEAF has files all_data*.json)")
    return [by_id[writer] for writer in sorted(by_id)]


def _together(writers: list[_Characters]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images [N, 1, 28, 28], labels, client and groups [N], from each writer's images and labels.

    There may be 630 MB of images, so the list is emptied on the way.
    """
    sizes = [len(labels) for _, labels in writers]
    labels = np.concatenate([labels for _, labels in writers])
    images, groups = np.empty((len(labels), _PIXELS), np.uint8), np.empty(len(labels), np.int64)
    stop = len(labels)
    while writers:
        pictures, _ = writers.pop()
        start = stop - len(pictures)
        images[start:stop] = pictures
        first: dict[bytes, int] = {}
        groups[start:stop] = [first.setdefault(image.tobytes(), row) for row, image in enumerate(pictures, start)]
        stop = start
    client = np.repeat(np.arange(len(sizes)), sizes)
    return images.reshape(-1, 1, 28, 28), labels, client, groups


def _ink(values: Any, place: str) -> np.ndarray:
    """uint8 [n, 784], ink is 255, from [n, 784] numbers of 0 (ink) to 1 (paper)."""
    try:
        stored = np.asarray(values)
        if len(stored) and stored.dtype.kind not in "iuf":
            raise TypeError(stored.dtype)
        paper = stored.astype(float).reshape(len(values), _PIXELS)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{place}: an image has not {_PIXELS} numbers") from error
    if not ((paper >= 0) & (paper <= 1)).all():
        raise DataError(f"{place}: a pixel is not within 0..1")
    return 255 - np.rint(255 * paper).astype(np.uint8)


def _read_leaf(path: Path) -> Iterator[tuple[str, _Characters]]:
    for name, data in archives.members(path, _is_leaf):
        file = f"{path.name}: {format_place((name,))}"
        for writer, size, x, y in _writers(data, file):
            place = f"{file}, writer {format_place((writer,))}"
            if not len(x) == len(y) == size:
                raise DataError(f"{place}: {len(x)} images and {len(y)} labels; num_samples is {size}")
            yield writer, (_ink(x, place), _labels(y, place))


def _writers(data: bytes, place: str) -> list[tuple[str, int, list[Any], list[Any]]]:
    """Id, number of samples, images and labels of each writer in a file of LEAF."""
    try:
        # Ten million numbers, but 256 different ones: each is kept once.
        content = from_json(data, parse_float=functools.cache(float))
        users, sizes, pairs = (content[key] for key in ("users", "num_samples", "user_data"))
        pairs = [pairs[user] for user in users]
        return [(u, n, list(xy["x"]), list(xy["y"])) for u, n, xy in zip(users, sizes, pairs, strict=True)]
    except KeyError as error:
        raise DataError(f"{place}: not a file of LEAF (no {error})") from error
    except (ValueError, TypeError) as error:
        raise DataError(f"{place}: not a file of LEAF ({error})") from error


def _is_leaf(name: str) -> bool:
    file = Path(name).name
    return file.startswith("all_data") and file.endswith(".json")


def _labels(y: list[Any], place: str) -> np.ndarray:
    """int64 [n]."""
    wrong = [label for label in y if type(label) is not int or not 0 <= label < CLASSES]
    if wrong:
        raise DataError(f"{place}: a label is {shown(wrong[0])}; expected a whole number within 0..{CLASSES - 1}")
    return np.array(y, dtype=np.int64)


def _read_tff(path: Path) -> Iterator[tuple[str, _Characters]]:
    with tff.database(path, _MAX_DATABASE_BYTES) as database:
        for writer in dict.fromkeys(user for split in _SPLITS for user, _ in tff.users(database, split)):
            stored = [example for split in _SPLITS for example in tff.examples(database, split, writer)]
            place = f"{path.name}: writer {format_place((writer,))}"
            images = _ink([tff.floats(example, "pixels") for example in stored], place)
            yield writer, (images, _labels([tff.whole(example, "label") for example in stored], place))
