"""The frame of every job: it alone may write its outputs, reads only results of today's specs, and leaves a record."""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from fairfl.runtime import (
    arithmetic,
    atomic,
    cli,
    inputs,
    locks,
    opened,
    processes,
    records,
    sealed,
)
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical, fingerprint
from fairfl.simulation import generators
from fairfl.values.json_text import from_text

Spec = TypeVar("Spec", bound=BaseModel)


def whole(text: str) -> int:
    """A number of threads."""
    number = int(text)
    if not 0 < number <= 4096:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 1 to 4096")
    return number


# Of jobs that train.
OPTIONS: dict[str, dict[str, Any]] = {
    "data": {"required": True, "type": Path, "help": "prepared data set (.safetensors)"},
    "partition": {"required": True, "type": Path, "help": "partition (.parquet)"},
    "device": {"default": "auto", "choices": ("auto", "cpu", "cuda")},
    "backend": {"default": "auto", "choices": ("auto", "stacked", "sequential")},
    "cuda-graphs": {"default": "auto", "choices": ("auto", "off")},
    "threads": {"type": whole, "default": 1},
    "checkpoint": {
        "required": True,
        "type": Path,
        "help": "where to keep what it has so far (.pt)",
    },
    "checkpoint-seconds": {"type": float, "default": 60.0},
}


class Parser(argparse.ArgumentParser):
    """Takes `--job FILE` in the place of the options that the file has by name: a spec is too long for a command."""

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Raises FairflError if the file is damaged, OSError if it is missing."""
        words = sys.argv[1:] if args is None else list(args)
        if words[:1] == ["--job"] and len(words) > 1:
            options = from_text(Path(words[1]).read_bytes(), dict[str, Any], words[1])
            words[:2] = [
                word
                for name, value in options.items()
                for word in (f"--{name}", value if isinstance(value, str) else canonical(value))
            ]
        parsed: Any = super().parse_args(words, namespace)
        parsed.whole_spec = from_text(parsed.spec, dict[str, Any], "--spec")
        inputs.stored = from_text(parsed.stored, dict[str, list[Any]], "--stored")
        sealed.work_from(parsed.code)
        if parsed.code:
            processes.end_together()
            opened.begin(parsed.whole_spec.get("code"))
        _seed(parsed)
        return parsed


def parse(
    argv: list[str] | None,
    rule: str,
    kind: type[Spec],
    *options: str,
    optional: Any = None,
    **files: str,
) -> tuple[argparse.Namespace, Spec]:
    """Parse what a job was called with (see `parser`), and its spec. `optional`: files that not all specs need.

    Raises FairflError if the spec is not JSON of `kind`.
    """
    command = parser(rule, *options, spec=True, **files)
    for option, text in (optional or {}).items():
        command.add_argument(f"--{option}", nargs="?", type=Path, help=text)
    args = command.parse_args(argv)
    return args, from_text(args.spec, kind, "--spec")


def parser(rule: str, *options: str, spec: bool = True, **files: str) -> argparse.ArgumentParser:
    """Parser of the options that all jobs have, of these OPTIONS, and of the paths of `files`, {option: help}.

    `spec`: the job reads its own, which must be given.
    """
    parser = Parser(prog=f"python -m fairfl.jobs.{rule}", description=cli.describe_program())
    parser.add_argument(
        "--spec", required=spec, default="{}", help="what the result depends on (JSON)"
    )
    parser.add_argument(
        "--record", type=Path, help="where to leave the job's record (.json); default: nowhere"
    )
    parser.add_argument(
        "--inputs",
        default="{}",
        help="records of the jobs whose results are read, with their fingerprints, of stored ones content, too (JSON)",
    )
    parser.add_argument(
        "--stored", default="{}", help="files of these that are stored, with their places (JSON)"
    )
    parser.add_argument(
        "--code", type=Path, help="copy of the project that was planned with (default: the project)"
    )
    for option in options:
        parser.add_argument(f"--{option}", **OPTIONS[option])
    for option, text in files.items():
        parser.add_argument(f"--{option}", required=True, type=Path, help=text)
    return parser


@contextlib.contextmanager
def run_context(
    args: argparse.Namespace, *outputs: Path, scratch: Sequence[Path] = (), torch: bool = False
) -> Iterator[str]:
    """Around the work of a job that leaves `outputs`; `scratch` are files that it removes at its end.

    `torch`: the numbers are torch's, and depend on its arithmetic. The value is a key under which the job may keep what
    it has so far: another spec, other inputs or another arithmetic have another key.

    Raises:
        FairflError: an input was made from another spec than the one that this job was planned with or is damaged,
            or a file of the project is not the one that it was planned with.
    """
    spec = args.whole_spec
    _seed(args)  # again: libraries may have been imported since
    described: dict[str, Any] = {"arithmetic": arithmetic.of_options(args)} if torch else {}
    if args.record is None:
        yield fingerprint([spec, described])
        return
    expected = from_text(args.inputs, dict[str, str | list[str]], "--inputs")
    inputs.forget()
    read = {  # of a stored one both are given
        path: check_input(path, fingerprints, getattr(args, "folder", None))
        if isinstance(fingerprints, str)
        else fingerprints
        for path, fingerprints in expected.items()
    }
    for path, fingerprints in spec.get("reported", {}).items():
        inputs.expect(path, fingerprints)
        clamp_mtime(Path(path))  # Snakemake counts it among the inputs
    own = described.get("arithmetic", {})
    # What stopped on one kind of node goes on on another.
    same = {"arithmetic": {k: v for k, v in own.items() if k != "instructions"}} if torch else {}
    key = fingerprint([spec, same, read])
    checkpoint = getattr(args, "checkpoint", None)
    note = _Note(checkpoint, key) if checkpoint and "instructions" in own else None
    if note:
        own["instructions"] = note.with_earlier(own["instructions"])
    with contextlib.ExitStack() as until_written:
        with opened.by_fairfl():
            if args.code:
                until_written.enter_context(locks.use(args.code / sealed.LOCK))
                described["snapshot"] = args.code.name
            atomic.sweep([*outputs, args.record, *scratch, *([note.path] if note else [])])
        until_written.callback(opened.end)
        if note:
            until_written.callback(note.remove_unused)
        yield key
        try:
            opened.check([*_given(args), *scratch, *expected, *inputs.files()], spec.get("code"))
        except FairflError:
            for output in outputs:
                records.set_aside(str(output))
            raise
        inputs.check()
        described["drawn_with"] = {
            name: arithmetic.version(name) for name in ("numpy", "scikit-learn")
        }  # a note, in no spec
        records.write(args.record, spec, read, outputs, **described)


class _Note:
    """A file beside a checkpoint: which instruction sets have computed what is in it."""

    def __init__(self, checkpoint: Path, key: str) -> None:
        self.checkpoint, self.key = checkpoint, key
        self.path = checkpoint.with_name(f".{checkpoint.name}.instructions")

    @opened.by_fairfl()
    def with_earlier(self, here: str) -> str:
        """'AVX2 and AVX-512': those, and the one of this machine."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        earlier = lines[1:] if self.checkpoint.exists() and lines[:1] == [self.key] else []
        if earlier and here not in earlier:
            print(
                f"goes on with {here} where {' and '.join(earlier)} stopped: last bits may differ from a run on "
                "one kind of processor; the record names both",
                flush=True,
            )
        used = list(dict.fromkeys([*earlier, here]))
        atomic.write_text(self.path, "\n".join([self.key, *used]))
        return " and ".join(used)

    def remove_unused(self) -> None:
        """Remove it where no checkpoint is left to go on from."""
        if not self.checkpoint.exists():
            self.path.unlink(missing_ok=True)


def _given(args: argparse.Namespace) -> Iterator[Path]:
    """Files and folders that the job was called with."""
    for value in vars(args).values():
        yield from filter(
            lambda part: isinstance(part, Path), value if isinstance(value, list) else [value]
        )


@opened.by_fairfl()  # torch keeps the lines of all callers for a message
def _seed(args: argparse.Namespace) -> None:
    """Seed the generators that are given no seed from the run's."""
    seed = args.whole_spec.get("seed", 0)
    number = seed if isinstance(seed, int) and seed >= 0 else 0
    generators.seed(number)
    if args.code:
        generators.replace_entropy(number)


def check_input(path: str, expected: str, raw: Path | None = None) -> list[str]:
    """Fingerprint and content of a job's results, each file of which has been read and found as the job left it.

    With `raw`, the folder of raw files, files that a marker names are compared with their hashes in it, too.
    Raises FairflError by name if the results were made from another spec than `expected`, the fingerprint of today's,
    or if a file is damaged; that is set aside, so that the next plan makes it again.
    """
    record = records.read(path)
    name = path.removesuffix(".json").partition("/records/")[2] or path
    if record is None:
        raise FairflError(
            f"{name}: has no record ({path}), so the origin of its results is unknown; run it again"
        )
    if record["fingerprint"] != expected:
        raise FairflError(
            f"{name}: its results were made from another spec ({record['fingerprint']}) than today's ({expected}); "
            f"mixing them is refused, run it again (`fairfl plan` says what differs)"
        )
    for output, left in record["outputs"].items():
        if why := records.damage(output, record):
            aside = f"; set aside as {records.set_aside(output)}" if os.path.exists(output) else ""
            raise FairflError(f"{os.path.dirname(output)}: {why}{aside}; {name} must run again")
        clamp_mtime(Path(output))
        inputs.expect(output, left[-1])
        if raw and output.endswith(".fetched.json"):
            for file in from_text(inputs.read_bytes(output), dict[str, Any], output)["files"]:
                inputs.expect(raw / file["path"], file["sha256"])
    return [expected, records.results_hash(record)]


def clamp_mtime(path: Path) -> None:
    """Snakemake fails a job whose outputs are older than its inputs, which a clock that was set back makes them."""
    with contextlib.suppress(OSError):
        if path.stat().st_mtime > time.time():
            os.utime(path)
