"""Records: what a job leaves beside its results, so that anybody can tell later whether they are what they claim.

A record has the job's spec and its fingerprint, the arithmetic of trainings (fairfl.runtime.arithmetic), for each job
that it read that one's fingerprint and content, and for each file that it left size (bytes), content and a checksum.
Contents are hashes of what later jobs may depend on: of JSON files not what differs each time (seconds, memory,
machine), nor where a file was found. The checksum is of all its bytes: a file with another one is damaged.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fairfl.runtime import atomic, hashes
from fairfl.runtime.fingerprint import canonical, digest, fingerprint

# Keys of a JSON result that say how it was made (fairfl.simulation.device), not what came out.
HOW = {
    "seconds", "training_seconds", "peak_memory_mib", "host", "machine", "processor", "threads", "versions",
    "arithmetic", "device", "cuda_graphs",
}  # fmt: skip
_WHERE = {"source", "path"}  # of a fetched file
DAMAGED = ".damaged"  # follows the name of a file that was set aside


def content(path: Path) -> str:
    """First 16 hex digits of the sha256 of what a result says. Raises OSError, ValueError if JSON is damaged."""
    if path.suffix == ".json":
        result = json.loads(path.read_bytes())
        facts = {key: value for key, value in result.items() if key not in HOW}
        facts["files"] = [
            {k: v for k, v in file.items() if k not in _WHERE} for file in result.get("files", [])
        ]
        return digest(json.dumps(facts, sort_keys=True).encode())
    return hashes.read(path)[:16]


def checksum(path: Path | str) -> str:
    """Checksum of all bytes of a file: XXH3, 128 bits, many times as fast as sha256. Raises OSError."""
    import xxhash

    return hashes.read(path, xxhash.xxh3_128)


def damage(path: str, record: dict[str, Any], checksum: Callable[[str], str] = checksum) -> str:
    """Say what is wrong with a file that a job has left, "" if nothing is: 'table1.csv is missing'.

    `checksum` of a file may be one that is known since it was last read.
    """
    name = os.path.basename(path)
    try:
        state = os.stat(path)
        size, _, expected = record["outputs"][path]
    except OSError:
        return f"{name} is missing"
    except (KeyError, TypeError, ValueError):
        return f"its record says nothing of {name}"
    if state.st_size != size:
        return f"{name} is damaged ({state.st_size} bytes, not {size})"
    try:
        whole = checksum(path) == expected
    except OSError:
        whole = False
    return "" if whole else f"{name} is damaged (not the bytes that its job left)"


def set_aside(path: str) -> str:
    """Give a damaged file another name, which is returned; its job will leave a new one."""
    with contextlib.suppress(FileNotFoundError):  # another reader did
        os.replace(path, path + DAMAGED)
    return path + DAMAGED


def read(path: Path | str) -> dict[str, Any] | None:
    """The record at `path`; None without one that can be used."""
    try:
        record = json.loads(text := Path(path).read_bytes())
        # As `write` leaves it the spec comes last, in its canonical form, which need not be made again; then "}\n".
        last = digest(text.partition(b',"spec":')[2][:-2])
        whole = record["fingerprint"] == last or record["fingerprint"] == fingerprint(
            record["spec"]
        )
        return (
            record
            if whole and isinstance(record["inputs"], dict) and isinstance(record["outputs"], dict)
            else None
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def results_hash(record: dict[str, Any]) -> str:
    """One hash of the contents of all results of a job."""
    return fingerprint({path: left[1] for path, left in record["outputs"].items()})


def write(
    path: Path, spec: Any, inputs: dict[str, list[str]], outputs: Iterable[Path], **more: Any
) -> None:
    """Leave the record of a job whose `outputs` are complete; `inputs` are fingerprint and content by record."""
    files = {
        str(output): [output.stat().st_size, content(output), checksum(output)]
        for output in outputs
    }
    record = {
        "fingerprint": fingerprint(spec),
        "inputs": inputs,
        "outputs": files,
        **more,
        "spec": spec,
    }
    atomic.write_text(path, canonical(record) + "\n")
