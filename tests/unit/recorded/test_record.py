"""What is put into the record comes out equal to the bit, or is refused by name."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fairfl.recorded import curves, sums
from fairfl.recorded import record as module
from fairfl.recorded.record import Entry, Origin, Record, settings
from fairfl.runtime import atomic
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import digest, fingerprint

CODE = {"fairfl.jobs.train": "0123456789abcdef"}
ORIGIN = Origin(
    commit="abc",
    versions={"torch": "2.15.0"},
    processor="a CPU",
    device="cpu",
    seconds=3.5,
    core_hours=0.001,
    gpu_hours=0.0,
    date="2026-01-02",
)
SUMMARY = "runs/s/fedavg/default/seed0/summary.json"
METRICS = SUMMARY.replace("summary.json", "metrics.parquet")
MODEL = SUMMARY.replace("summary.json", "model.safetensors")


def table(rounds: int, seed: int, part: str = "test") -> pa.Table:
    draw = np.random.default_rng(seed)
    losses = draw.random(3 * rounds)
    losses[1] = np.nan
    losses[2] = -0.0
    return pa.table(
        {
            "round": np.repeat(np.arange(rounds), 3),
            "client": np.tile(np.arange(3, dtype=np.int32), rounds),
            f"loss_{part}": losses,
            f"accuracy_{part}": draw.integers(0, 7, 3 * rounds) / 7,
        }
    )


def entry(metrics: pa.Table, files: dict[str, bytes] | None = None, **measures: float) -> Entry:
    made = Entry(
        spec={"setting": "s", "seed": 0},
        code=fingerprint(CODE),
        inputs={"prepare/digits": "00"},
        results={SUMMARY: {"measures": measures}},
        inline={},
        outputs={METRICS: curves.digest(metrics), **{path: digest(data) for path, data in (files or {}).items()}},
        origin=ORIGIN,
        hash="",
    )
    return made.model_copy(update={"hash": made.content})


def stored(folder, **tables: pa.Table) -> Record:
    record = Record("s", folder)
    for job, metrics in tables.items():
        record.add(f"train/s/{job}", entry(metrics, cost=1.5), CODE, {}, metrics)
    record.save()
    return record


def read_all(record: Record) -> None:
    """Everything that is stored, which is compared with its hashes."""
    for name, stored_job in record.entries():
        for path in stored_job.outputs:
            record.metrics(name, stored_job) if path.endswith(METRICS) else record.file(name, stored_job, path)


def only(record: Record, job: str) -> tuple[str, Entry]:
    (found,) = record.jobs[f"train/s/{job}"]
    return f"train/s/{job}", found


def test_metrics_come_back_equal_to_the_bit(tmp_path):
    tables = {"a": table(5, 1), "b": table(2, 2), "c": table(4, 3, "train")}
    stored(tmp_path, **tables)
    again = Record("s", tmp_path)
    for job, metrics in tables.items():
        back = again.metrics(*only(again, job))
        assert back.schema.equals(metrics.schema)
        assert curves.digest(back) == curves.digest(metrics)
    read_all(again)
    assert settings(tmp_path) == ["s"]


def test_parts_come_back_in_the_order_of_each_run(tmp_path):
    """The columns of the table are those of the first entry, then what the others add."""
    test, train = table(2, 1), table(2, 2, "train")
    both = pa.table({name: (train if name in train.column_names else test)[name] for name in train.column_names})
    both = both.append_column("loss_test", test["loss_test"]).append_column("accuracy_test", test["accuracy_test"])
    record = Record("s", tmp_path)
    for job, metrics, parts in (("a", test, ["test"]), ("b", both, ["train", "test"])):
        made = entry(metrics)
        made = made.model_copy(update={"spec": made.spec | {"evaluated_parts": parts}})
        record.add(f"train/s/{job}", made.model_copy(update={"hash": made.content}), CODE, {}, metrics)
    record.save()
    again = Record("s", tmp_path)
    read_all(again)
    assert again.metrics(*only(again, "b")).column_names == both.column_names


def test_a_changed_metric_is_refused_by_name(tmp_path):
    record = stored(tmp_path, a=table(2, 1))
    key = only(record, "a")[1].key("train/s/a")
    changed = table(2, 1).set_column(3, "accuracy_test", pa.array(np.zeros(6)))
    (tmp_path / "s/curves.parquet").write_bytes(module._parquet(curves.joined({key: changed})))
    with pytest.raises(FairflError, match=r"curves\.parquet: train/s/a: its numbers do not belong to its hash"):
        read_all(Record("s", tmp_path))


@pytest.mark.parametrize("data", [None, b"y"])
def test_a_lost_or_changed_file_is_refused_by_name(tmp_path, data):
    record = Record("s", tmp_path)
    files = {MODEL: b"x" * 9000}
    record.add("train/s/a", entry(table(2, 1), files), CODE, files, table(2, 1))
    record.save()
    (path,) = tmp_path.glob("s/files/*/model.safetensors")
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(FairflError, match=r"model\.safetensors: train/s/a: "):
        read_all(Record("s", tmp_path))


def test_nothing_is_half_written(tmp_path, monkeypatch):
    """jobs.json, which names what is there, comes last."""
    stored(tmp_path, a=table(2, 1))
    record = Record("s", tmp_path)
    record.add("train/s/b", entry(table(2, 2)), CODE, {}, table(2, 2))
    monkeypatch.setattr("fairfl.recorded.record._lines", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        record.save()
    again = Record("s", tmp_path)
    assert list(again.jobs) == ["train/s/a"]
    read_all(again)


# -- the list of all files --------------------------------------------------------------------------
def found(folder) -> list[tuple[str, str]]:
    return [(kind, path) for kind, path, _ in sums.faults(folder)]


def test_every_file_of_the_record_stands_in_one_list(tmp_path):
    """What no hash inside of the files covers: who computed it, tables, a setting that is gone, a file too much."""
    stored(tmp_path, a=table(2, 1))
    sums.write(tmp_path, {"claims.csv": b"holds\n"})
    assert found(tmp_path) == []
    for path, change in (
        ("s/jobs.json", lambda text: text.replace(b'"commit":"abc"', b'"commit":"xyz"')),
        ("claims.csv", lambda text: b"fails\n"),
        ("s/curves.parquet", lambda text: text + b"x"),
    ):
        before = (tmp_path / path).read_bytes()
        (tmp_path / path).write_bytes(change(before))
        assert found(tmp_path) == [("damaged", path)]
        with pytest.raises(FairflError, match="git checkout -- "):
            sums.check(tmp_path, path)
        if path.endswith("jobs.json"):
            with pytest.raises(FairflError, match="jobs.json: is not as it was recorded"):
                Record("s", tmp_path)
        (tmp_path / path).write_bytes(before)
    (tmp_path / "s/old.json").touch()
    assert found(tmp_path) == [("foreign", "s/old.json")]
    (tmp_path / "s/old.json").unlink()
    (tmp_path / "s/jobs.json").unlink()
    assert settings(tmp_path) == ["s"] and found(tmp_path) == [("damaged", "s/jobs.json")]
    with pytest.raises(FairflError, match="is missing"):
        Record("s", tmp_path)


def test_what_is_recorded_next_replaces_the_setting_s_lines_alone(tmp_path):
    stored(tmp_path, a=table(2, 1))
    sums.write(tmp_path, {"own/x/table1.csv": b""}, ("own/",))
    record = Record("s", tmp_path)
    record.add("train/s/b", entry(table(3, 2), {MODEL: b"12"}), CODE, {MODEL: b"12"}, table(3, 2))
    record.save()
    assert found(tmp_path) == [] and {path.partition("/")[0] for path in sums.listed(tmp_path)} == {"s", "own"}


@pytest.mark.parametrize("left", [None, ""])
def test_a_list_that_is_lost_or_empty_is_damage(tmp_path, left):
    """A record that is begun has neither files nor a list."""
    assert Record("s", tmp_path).jobs == {} and found(tmp_path) == []
    stored(tmp_path, a=table(2, 1))
    (tmp_path / sums.LIST).unlink() if left is None else (tmp_path / sums.LIST).write_text(left)
    for setting in ("s", "other"):
        with pytest.raises(FairflError, match="SHA256SUMS: is missing or empty; .* `git checkout -- "):
            Record(setting, tmp_path)
    assert found(tmp_path) == [("damaged", "SHA256SUMS")]


class Killed(BaseException):
    pass


def killed(monkeypatch, change: int, before: bool, command) -> bool:
    """True if a command was killed before, or behind, its n-th change of a name in a folder."""
    count = iter(range(change + 1))

    def counted(act):
        def changed(*paths, **options):
            last = next(count, None) == change
            if last and before:
                raise Killed
            act(*paths, **options)
            if last:
                raise Killed

        return changed

    with monkeypatch.context() as patched:
        patched.setattr(atomic.os, "replace", counted(os.replace))
        unlink = Path.unlink
        goes = counted(unlink)
        patched.setattr(Path, "unlink", lambda path, **_: None if path.suffix == ".tmp" else goes(path, **_))
        try:
            command()
        except Killed:
            return True
    return False


def numbered(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("begun", [True, False])
def test_what_was_killed_anywhere_while_it_stored_ends_well_by_the_same_call(tmp_path, monkeypatch, begun, before):
    """Whole and listed in between as well, as `verify` and all readers find it."""
    files = {MODEL: b"x" * 9000}
    jobs = {"b": (entry(table(2, 2), files), files, table(2, 2)), "c": (entry(table(2, 3)), {}, table(2, 3))}

    def store(folder) -> None:
        sums.settle(folder)
        record = Record("s", folder)
        for job, (made, data, metrics) in jobs.items():
            if f"train/s/{job}" not in record.jobs:
                record.add(f"train/s/{job}", made, CODE, data, metrics)
        if record.changed:
            record.save()

    def start(folder) -> None:
        folder.mkdir()
        if begun:
            record = Record("s", folder)
            record.add("train/s/a", entry(table(2, 1), files), CODE, files, table(2, 1))
            record.save()
            sums.write(folder, {"claims.csv": b"x"})

    start(tmp_path / "undisturbed")
    store(tmp_path / "undisturbed")
    expected = numbered(tmp_path / "undisturbed")
    change = 0
    while True:
        folder = tmp_path / str(change)
        start(folder)
        if not killed(monkeypatch, change, before, lambda: store(folder)):  # noqa: B023
            break
        assert found(folder) == []
        read_all(Record("s", folder))
        store(folder)
        assert numbered(folder) == expected and found(folder) == []
        for name in set(expected) - {"s/curves.parquet", sums.LIST}:
            assert (folder / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()
        again = Record("s", folder)
        read_all(again)
        assert {"train/s/b", "train/s/c"} <= set(again.jobs)
        change += 1
    assert change == 6  # next list, model, curves, jobs.json, list, and the next list goes


def test_the_committed_record_is_as_its_list_says(root):
    assert found(root / "results/recorded") == []
