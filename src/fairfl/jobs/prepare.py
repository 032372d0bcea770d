"""Bring a data set into its prepared form: ``python -m fairfl.jobs.prepare --spec ... --out ...``."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from fairfl.data.interface import Prepared
from fairfl.data.registry import load
from fairfl.experiments.base import JobSpec
from fairfl.experiments.parts import Seed
from fairfl.experiments.plugins import known
from fairfl.jobs import job
from fairfl.runtime import atomic, cli
from fairfl.runtime.validation import checked
from fairfl.values.json_text import from_text

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload

_DTYPES = {
    np.dtype(np.int64): "I64",
    np.dtype(np.float32): "F32",
    np.dtype(np.uint8): "U8",
}


class PrepareSpec(JobSpec):
    """A data set as it is prepared."""

    name: Annotated[str, AfterValidator(known("data"))]
    options: dict[str, Any] = Field(default_factory=dict, description="of its Config")
    seed: Seed = Field(0, description="of data that are generated for each run seed")


def spec(workload: Workload, key: str) -> dict[str, Any]:
    """The data set with its options, and the seed where each one samples its data."""
    from fairfl.experiments.declaration import declaration

    data, seed = workload.prepared_by(key)
    return {
        "name": data.name,
        "options": data.options,
        "seed": seed if declaration("data", data.name).PER_SEED else 0,
    }


def plugins(spec: dict[str, Any]) -> list[str]:
    """The module that the spec names, looked up at run time."""
    return [f"data.{spec['name']}"]


def main(argv: list[str] | None = None) -> None:
    """Prepare the data of ``--spec`` from the files in ``--folder`` and write ``--out``.

    The form of the file is in :mod:`fairfl.data.interface`; the same spec and files
    give the same bytes.

    Raises:
        FairflError: a spec or an option that is not allowed.
        SourceError, DataError: a raw file that is missing, damaged or not as expected.
        OSError: the output cannot be written.
    """
    parser = job.parser("prepare", out="safetensors file to write")
    parser.add_argument("--folder", type=Path, default=Path("data"), help="local data folder")
    args = parser.parse_args(argv)

    spec = from_text(args.spec, PrepareSpec, "--spec")
    module = load(spec.name)
    options = checked(spec.options, module.Config, "--spec", "options")
    with job.run_context(args, args.out):
        prepared = module.prepare(args.folder, options, spec.seed)
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
            out.write(array.reshape(-1).data.cast("B"))


if __name__ == "__main__":
    cli.run(main)
