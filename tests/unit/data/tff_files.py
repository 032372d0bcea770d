"""Small databases as TensorFlow Federated publishes them."""

import lzma
import sqlite3

import numpy as np


def field(number, content):
    """A length-delimited field of a protocol buffer message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value):
    head = b""
    while value >= 128:
        head += bytes([value & 0x7F | 0x80])
        value >>= 7
    return head + bytes([value])


def example(**features):
    """A serialized tf.train.Example; a feature is a text, a whole number or an array of float32."""
    kinds = {str: (1, str.encode), int: (3, varint), np.ndarray: (2, lambda array: array.astype("<f4").tobytes())}
    entries = []
    for name, value in features.items():
        number, encoded = kinds[type(value)]
        entries.append(field(1, field(1, name.encode()) + field(2, field(number, field(1, encoded(value))))))
    return field(1, b"".join(entries))


def pack(packed, users, statements=()):
    """Write a database, packed. `users` has examples, serialized, by (user, split); they take turns in the table."""
    packed.parent.mkdir(exist_ok=True)
    path = packed.with_suffix(".plain")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE examples (split_name TEXT, client_id TEXT, serialized_example_proto BLOB)")
        database.execute("CREATE TABLE client_metadata (client_id TEXT, split_name TEXT, num_examples INTEGER)")
        for turn in range(max(map(len, users.values()))):
            for (user, split), own in users.items():
                if turn < len(own):
                    database.execute("INSERT INTO examples VALUES (?, ?, ?)", (split, user, own[turn]))
        for (user, split), own in users.items():
            database.execute("INSERT INTO client_metadata VALUES (?, ?, ?)", (user, split, len(own)))
        for statement in statements:
            database.execute(statement)
    database.close()
    packed.write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
