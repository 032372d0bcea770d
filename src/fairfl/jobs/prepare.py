"""Bring a data set into its prepared form: ``python -m fairfl.jobs.prepare --spec ... --out ...``."""

from __future__ import annotations

import argparse
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairfl.data.interface import Prepared
from fairfl.data.options import json_object, merge
from fairfl.data.registry import load
from fairfl.runtime import atomic, cli, job
from fairfl.runtime.errors import OptionError

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload

_DTYPES = {
    np.dtype(np.int64): "I64",
    np.dtype(np.float32): "F32",
    np.dtype(np.uint8): "U8",
}


def spec(workload: Workload, key: str) -> dict[str, Any]:
    """The data set with its options, and the seed where each one draws data of its own."""
    data, seed = workload.prepared_by(key)
    return {"name": data.name, "options": data.options, "seed": seed if load(data.name).PER_SEED else 0}


def plugins(spec: dict[str, Any]) -> list[str]:
    """The module that the spec names, looked up at run time."""
    return [f"data.{spec['name']}"]


def main(argv: list[str] | None = None) -> None:
    """Prepare the data of ``--spec`` from the files in ``--folder`` and write ``--out``.

    The spec is a JSON object {"name": ..., "options": {...}, "seed": int}; options default to {}
    and the seed to 0. A key "code", by which a workflow knows when to run again, has no influence
    on the result. The form of the file is in :mod:`fairfl.data.interface`; the same spec and files
    give the same bytes.

    Raises:
        OptionError: a spec that is not allowed.
        SourceError, DataError: a raw file that is missing, damaged or not as expected.
        OSError: the output cannot be written.
    """
    parser = argparse.ArgumentParser(prog="fairfl.jobs.prepare", description="Prepare a data set.")
    job.arguments(parser)
    parser.add_argument("--folder", type=Path, default=Path("data"), help="local data folder")
    parser.add_argument("--out", type=Path, required=True, help="safetensors file to write")
    args = parser.parse_args(argv)

    name, options, seed = _checked(json_object("--spec", args.spec))
    with job.run_context(args, args.out):
        prepared = load(name).prepare(args.folder, options, seed)
        write(args.out, replace(prepared, metadata=prepared.metadata | {"spec": args.spec}))


def write(path: Path, prepared: Prepared) -> None:
    """Write prepared data as a safetensors file in one step; equal data give equal bytes.

    Not by the safetensors library: it writes metadata in the order of a randomly seeded hash map
    and copies every tensor twice.

    Raises:
        OSError: the file cannot be written.
    """
    # Largest items first keeps each tensor aligned, as the library does.
    names = sorted(prepared.tensors, key=lambda n: (-prepared.tensors[n].itemsize, n))
    header: dict[str, Any] = {"__metadata__": dict(sorted(prepared.metadata.items()))}
    end = 0
    for name in names:
        array = prepared.tensors[name]
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _DTYPES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    with atomic.replacing(path) as temp, temp.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            array = np.ascontiguousarray(prepared.tensors[name])
            out.write(memoryview(array.reshape(-1)).cast("B"))


def _checked(spec: dict[str, Any]) -> tuple[str, dict[str, Any], int]:
    spec = merge("--spec", spec, {"name": None, "options": {}, "seed": 0, "code": {}})
    name, options, seed = spec["name"], spec["options"], spec["seed"]
    if not isinstance(name, str):
        raise OptionError(f"--spec: name is {name!r}; expected the name of a data set")
    if not isinstance(options, dict):
        raise OptionError(f"--spec: options is {options!r}; expected a JSON object")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise OptionError(f"--spec: seed is {seed!r}; expected a whole number >= 0")
    return name, options, seed


if __name__ == "__main__":
    cli.run(main)
