"""Small files in the formats of the real ones; every one is deterministic."""

import gzip
import io
import lzma
import sqlite3
import struct
import tarfile
import zipfile

import numpy as np
import pytest


def put(path, content):
    """The path of a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def member(name, content=b"x", kind=tarfile.REGTYPE, link=""):
    """An entry of a tar archive."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def tar(members, mode="w:gz"):
    """A tar archive of (name, content) or of what `member` returns."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members:
            info = member(name, content)[0] if isinstance(name, str) else name
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def zipped(members, packing=zipfile.ZIP_DEFLATED):
    """A zip archive of (name, content); of the same bytes at any time of day, so that tests can damage one of them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, packing)
    return out.getvalue()


def picture(pixels, kind):
    """A PNG or JPEG file of uint8 [H, W] (grey) or [H, W, 3]."""
    image_module = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    image_module.fromarray(np.asarray(pixels, np.uint8)).save(out, kind)
    return out.getvalue()


def images(count, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


def idx(array):
    """A packed IDX file of a uint8 array."""
    array = np.asarray(array, np.uint8)
    head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(head + array.tobytes(), mtime=0)


def mnist_part(folder, prefix, images, labels):
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        put(folder / f"{prefix}-{name}-ubyte.gz", idx(array))


def mnist(folder, train=40, test=20):
    """Write MNIST's four files; returns the images of the two parts, whose labels count from 0 to 9."""
    drawn = images(train, 0), images(test, 1)
    for prefix, own in zip(("train", "t10k"), drawn, strict=True):
        mnist_part(folder, prefix, own, np.arange(len(own)) % 10)
    return drawn


# -- databases as TensorFlow Federated publishes them
def varint(value):
    head = b""
    while value >= 128:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def field(number, content):
    """A length-delimited field of a protocol buffer message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def example(**features):
    """A serialized tf.train.Example; a feature is a text, a whole number or an array of float32."""
    kinds = {str: (1, str.encode), int: (3, varint), np.ndarray: (2, lambda array: array.astype("<f4").tobytes())}
    entries = []
    for name, value in features.items():
        number, encoded = kinds[type(value)]
        entries.append(field(1, field(1, name.encode()) + field(2, field(number, field(1, encoded(value))))))
    return field(1, b"".join(entries))


def database(users, statements=()):
    """A packed database. `users` has examples by (user, split); they take turns in the table."""
    tables = (
        "examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)",
        "client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)",
    )
    with sqlite3.connect(":memory:") as found:
        for table in tables:
            found.execute(f"CREATE TABLE {table}")
        for turn in range(max(map(len, users.values()))):
            rows = [(split, user, own[turn]) for (user, split), own in users.items() if turn < len(own)]
            found.executemany("INSERT INTO examples VALUES (?, ?, ?)", rows)
        rows = [(*place, len(own)) for place, own in users.items()]
        found.executemany("INSERT INTO client_metadata VALUES (?, ?, ?)", rows)
        for statement in statements:
            found.execute(statement)
        found.commit()
        return lzma.compress(found.serialize())
