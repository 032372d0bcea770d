"""EMNIST's archive, generated: the same members in the same format, of any size.

`python -m tests.workflow.emnist_files FILE 697932 116323` writes one as large as the published split ByClass, which
nobody may ship, and prints its sha256: put into src/fairfl/data/emnist.py, it lets everything run on it.
"""

import gzip
import hashlib
import struct
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

CLASSES, CHUNK = 62, 10_000


def pieces(count: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Images, rows and columns swapped as published, and labels: strokes of its own for each class, and noise."""
    shapes = np.random.default_rng(0).random((CLASSES, 28, 28)) < 0.2
    rng = np.random.default_rng([1, seed])
    for start in range(0, count, CHUNK):
        labels = np.arange(start, min(start + CHUNK, count)) % CLASSES
        kept = rng.random((len(labels), 28, 28), dtype=np.float32) < 0.6
        yield (shapes[labels] & kept).transpose(0, 2, 1).astype(np.uint8) * 255, labels.astype(np.uint8)


def archive(path: Path, train: int, test: int) -> str:
    """Write gzip.zip with so many images of split ByClass; returns its sha256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as packed:
        for number, (part, count) in enumerate({"train": train, "test": test}.items()):
            for kind, header in (("images-idx3", (0x803, count, 28, 28)), ("labels-idx1", (0x801, count))):
                member = zipfile.ZipInfo(f"gzip/emnist-byclass-{part}-{kind}-ubyte.gz")
                with packed.open(member, "w", force_zip64=True) as inner, gzip.open(inner, "wb", 1) as stream:
                    stream.write(struct.pack(f">{len(header)}I", *header))
                    for images, labels in pieces(count, number):
                        stream.write((images if kind.startswith("images") else labels).tobytes())
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    print(archive(Path(sys.argv[1]), *map(int, sys.argv[2:])))
