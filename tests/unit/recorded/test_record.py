"""What is put into the record comes out equal to the bit, or is refused by name."""

import numpy as np
import pyarrow as pa
import pytest

from fairfl.recorded import curves, sums
from fairfl.recorded.record import Entry, Origin, Record, settings
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
    again.check()
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
    again.check()
    assert again.metrics(*only(again, "b")).column_names == both.column_names


def test_a_changed_metric_is_refused_by_name(tmp_path):
    record = stored(tmp_path, a=table(2, 1))
    key = only(record, "a")[1].key("train/s/a")
    changed = table(2, 1).set_column(3, "accuracy_test", pa.array(np.zeros(6)))
    from fairfl.recorded import record as module

    module._write(tmp_path / "s/curves.parquet", curves.joined({key: changed}))
    with pytest.raises(FairflError, match=r"curves\.parquet: train/s/a: its numbers do not belong to its hash"):
        Record("s", tmp_path).check()


@pytest.mark.parametrize("data", [None, b"y"])
def test_a_lost_or_changed_file_is_refused_by_name(tmp_path, data):
    record = Record("s", tmp_path)
    files = {MODEL: b"x" * 9000}
    record.add("train/s/a", entry(table(2, 1), files), CODE, files, table(2, 1))
    record.save()
    (path,) = tmp_path.glob("s/files/*/model.safetensors")
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(FairflError, match=r"model\.safetensors: train/s/a: "):
        Record("s", tmp_path).check()


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
    again.check()


# -- the list of all files --------------------------------------------------------------------------
def found(folder) -> list[tuple[str, str]]:
    return [(kind, path) for kind, path, _ in sums.faults(folder)]


def test_every_file_of_the_record_stands_in_one_list(tmp_path):
    """What no hash inside of the files covers: who computed it, tables, a setting that is gone, a file too much."""
    stored(tmp_path, a=table(2, 1))
    (tmp_path / "claims.csv").write_text("holds\n")
    sums.note(tmp_path, [tmp_path / "claims.csv"], ["claims.csv"])
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
    (tmp_path / "own/x").mkdir(parents=True)
    (tmp_path / "own/x/table1.csv").touch()
    sums.note(tmp_path, [tmp_path / "own/x/table1.csv"], ["own/"])
    record = Record("s", tmp_path)
    record.add("train/s/b", entry(table(3, 2), {MODEL: b"12"}), CODE, {MODEL: b"12"}, table(3, 2))
    record.save()
    assert found(tmp_path) == [] and {path.partition("/")[0] for path in sums.listed(tmp_path)} == {"s", "own"}


def test_the_committed_record_is_as_its_list_says(root):
    assert found(root / "results/recorded") == []
