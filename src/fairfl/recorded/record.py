"""Reading and writing the record of one setting. Whatever is read has been compared with its hashes."""

import base64
import io
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from fairfl.recorded import FOLDER, curves, sums
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical, digest, fingerprint
from fairfl.runtime.validation import checked
from fairfl.values import tables
from fairfl.values.result_files import ResultFile

if TYPE_CHECKING:
    import pyarrow as pa

# The scale that is recorded; at others all jobs run, so that `quick` runs all of the code.
SCALE = "full"
METRICS = "metrics.parquet"  # the result of a training that goes to curves.parquet
INLINE, LARGEST = (
    2**12,
    2**20,
)  # bytes of files that jobs.json holds, and that the record takes at all


class Origin(ResultFile):
    """Origin of a result: code, machine, date and duration."""

    commit: str = Field(description='of the code that computed it; "" if no commit has that code')
    versions: dict[str, str]
    processor: str = Field(description="name of the CPU or GPU")
    device: str = Field(description="cpu or cuda; empty for jobs that have none")
    seconds: float = Field(ge=0)
    core_hours: float = Field(ge=0)
    gpu_hours: float = Field(ge=0)
    date: str = Field(pattern=r"\d{4}-\d\d-\d\d")


class Entry(ResultFile):
    """One job as it was computed once."""

    spec: dict[str, Any] = Field(description="what it computed from, without code")
    code: str = Field(
        description="fingerprint of the hashes of its modules, which stand in `code` of the file"
    )
    inputs: dict[str, str] = Field(
        description="jobs that it read, with the fingerprint of what these computed from"
    )
    results: dict[str, dict[str, Any]] = Field(
        description="JSON files that it left, without spec and code"
    )
    inline: dict[str, str] = Field(description="other files of few bytes, in base64")
    outputs: dict[str, str] = Field(description="hash of each file that is not in here")
    origin: Origin
    hash: str = Field(description="of all above but the origin")

    @property
    def content(self) -> str:
        """Return the right value of `hash`."""
        return fingerprint(self.model_dump(mode="json", exclude={"hash", "origin"}))

    @property
    def arithmetic(self) -> dict[str, str]:
        """Arithmetic of the job (fairfl.runtime.arithmetic); of older entries torch alone is known."""
        noted = next(
            (result["arithmetic"] for result in self.results.values() if "arithmetic" in result),
            None,
        )
        return noted or {
            part: value for part, value in self.origin.versions.items() if part == "torch"
        }

    def key(self, job: str) -> str:
        """Name of its lines in curves.parquet and of its files."""
        return f"{job}@{self.hash}"


class _File(ResultFile):
    setting: str
    code: dict[str, dict[str, str]]
    jobs: dict[str, list[Entry]]


def without_code(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec without code: two jobs with equal ones ought to have equal results."""
    return {key: value for key, value in spec.items() if key != "code"}


class Record:
    """The record of a setting. `jobs`: name of a job -> its entries, the oldest first."""

    def __init__(self, setting: str, folder: Path = FOLDER) -> None:
        """Raises FairflError naming file and job if anything is damaged."""
        self.setting, self.folder = setting, folder / setting
        self.jobs: dict[str, list[Entry]] = {}
        self.code: dict[str, dict[str, str]] = {}
        self.changed = False
        self._new: dict[str, pa.Table] = {}
        self._files: dict[Path, bytes] = {}
        if self.path.exists():
            self._read()
        sums.check(folder, f"{setting}/{self.path.name}")

    @property
    def path(self) -> Path:
        return self.folder / "jobs.json"

    @property
    def table_path(self) -> Path:
        return self.folder / "curves.parquet"

    def _read(self) -> None:
        try:
            file = checked(json.loads(self.path.read_bytes()), _File, "damaged")
        except (FairflError, ValueError) as error:
            raise self._damaged(self.path, str(error)) from None
        if file.setting != self.setting:
            raise self._damaged(self.path, f"is of setting {file.setting!r}")
        self.jobs, self.code = file.jobs, file.code
        for key, modules in file.code.items():
            if fingerprint(modules) != key:
                raise self._damaged(self.path, f"code {key}: its modules are others")
        for name, entry in self.entries():
            if entry.content != entry.hash:
                raise self._damaged(self.path, f"{name}: its numbers do not belong to its hash")
            if entry.code not in self.code:
                raise self._damaged(self.path, f"{name}: its code {entry.code} is missing")

    def _damaged(self, path: Path, why: str) -> FairflError:
        return FairflError(
            f"{path}: {why}; stored results are damaged: `git checkout -- {path}` brings it back"
        )

    def entries(self) -> Iterator[tuple[str, Entry]]:
        for name, entries in self.jobs.items():
            for entry in entries:
                yield name, entry

    # -- metrics and files ----------------------------------------------------------------------
    @cached_property
    def _curves(self) -> "dict[str, pa.Table]":
        return curves.separated(tables.arrow(self.table_path)) if self.table_path.exists() else {}

    def metrics(self, job: str, entry: Entry) -> "pa.Table":
        """Lines of curves.parquet of one training. Raises FairflError if they are not as recorded."""
        try:
            key = entry.key(job)
            table = self._new[key] if key in self._new else self._curves[key]
        except KeyError:
            raise self._damaged(self.table_path, f"{job}: its lines are missing") from None
        except FairflError as error:
            raise self._damaged(self.table_path, str(error)) from None
        table = curves.ordered(table, entry.spec.get("evaluated_parts", []))
        expected = next(value for path, value in entry.outputs.items() if path.endswith(METRICS))
        if curves.digest(table) != expected:
            raise self._damaged(self.table_path, f"{job}: its numbers do not belong to its hash")
        return table

    def file(self, job: str, entry: Entry, path: str) -> bytes:
        """A recorded file. Raises FairflError if it is missing or another one."""
        if path in entry.inline:
            return base64.b64decode(entry.inline[path])
        if path not in entry.outputs:
            raise FairflError(f"{self.path}: {job}: has no {path}")
        place = self._place(entry, path)
        try:
            data = place.read_bytes()
        except OSError:
            raise self._damaged(place, f"{job}: is missing") from None
        if digest(data) != entry.outputs[path]:
            raise self._damaged(place, f"{job}: does not belong to its hash")
        return data

    def _place(self, entry: Entry, path: str) -> Path:
        return self.folder / "files" / entry.hash / Path(path).name

    # -- writing ------------------------------------------------------------------------------
    def add(
        self,
        job: str,
        entry: Entry,
        code: dict[str, str],
        files: dict[str, bytes],
        table: Any = None,
    ) -> None:
        """Take a job in; `save` writes it."""
        self.code[entry.code], self.changed = code, True
        self.jobs.setdefault(job, []).append(entry)
        if table is not None:
            self._new[entry.key(job)] = table
        self._files |= {self._place(entry, path): data for path, data in files.items()}

    def save(self) -> None:
        """Write all, jobs.json last: what it names is there at any time."""
        files = dict(self._files)
        if self._new:
            keys = {entry.key(name) for name, entry in self.entries()}
            remaining = {key: table for key, table in self._curves.items() if key in keys}
            files[self.table_path] = _parquet(curves.joined(remaining | self._new))
        file = {
            "setting": self.setting,
            "code": self.code,
            "jobs": {
                name: [entry.model_dump(mode="json") for entry in entries]
                for name, entries in sorted(self.jobs.items())
            },
        }
        files[self.path] = _lines(file).encode()
        stay = {self.table_path} | {
            self._place(entry, path)
            for _, entry in self.entries()
            for path in entry.outputs
            if not path.endswith(METRICS)
        }
        listed = self.folder.parent
        below = {path: str(path.relative_to(listed)) for path in {*files, *stay}}
        written = {below[path]: data for path, data in files.items()}
        sums.write(listed, written, (f"{self.setting}/",), {below[path] for path in stay})


def setting_of(job: str) -> str:
    """train/fedfv_fmnist/fedavg/default/seed0 -> fedfv_fmnist"""
    return job.split("/")[1]


def settings(folder: Path = FOLDER) -> list[str]:
    """Settings that have a record, or should have one by the list of its files."""
    listed = (Path(path) for path in sums.listed(folder))
    return sorted(
        {
            path.parent.name
            for path in [*folder.glob("*/jobs.json"), *listed]
            if path.name == "jobs.json"
        }
    )


def _parquet(table: "pa.Table") -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Losses differ in every bit, accuracies are few fractions.
    losses = [
        field.name
        for field in table.schema
        if field.name.startswith("loss") and pa.types.is_floating(field.type)
    ]
    others = [name for name in table.column_names if name not in losses]
    buffer = io.BytesIO()
    pq.write_table(
        table, buffer, compression="zstd", compression_level=19, use_dictionary=others,
        use_byte_stream_split=losses,
    )  # fmt: skip
    return buffer.getvalue()


def _lines(file: dict[str, Any]) -> str:
    """JSON with a line for each entry, so that git shows what came and went."""
    code = (f"{canonical(key)}:{canonical(value)}" for key, value in sorted(file["code"].items()))
    entries = {name: ",\n ".join(map(canonical, all_of)) for name, all_of in file["jobs"].items()}
    jobs = (f"{canonical(name)}:[\n {lines}]" for name, lines in entries.items())
    join = ",\n".join
    parts = f'"code":{{\n{join(code)}\n}}', f'"jobs":{{\n{join(jobs)}\n}}'
    return f'{{"setting":{canonical(file["setting"])},\n{join(parts)}}}\n'
