"""The frame of a job: its record, what it may read, who owns it."""

import contextlib
import hashlib
import json
import linecache
import os
import tempfile
from pathlib import Path

import pytest
import torch

from fairfl.jobs import job
from fairfl.runtime import arithmetic, atomic, cli, locks, opened, records, sealed
from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.fingerprint import fingerprint
from fairfl.values import tables

SPEC = {"setting": "toy", "rounds": 3}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sealed.work_from(None)
    opened.end()


def options(name="b", inputs=None, spec=SPEC, record=True):
    parser = job.parser("demo")
    command = ["--spec", json.dumps(spec), "--inputs", json.dumps(inputs or {})]
    return parser.parse_args([*command, *(["--record", f"results/records/{name}.json"] if record else [])])


def run(name="b", inputs=None, spec=SPEC, text="result", **more):
    """A job that writes one file."""
    args = options(name, inputs, spec)
    with job.run_context(args, Path(f"{name}.csv"), **more) as key:
        atomic.write_text(f"{name}.csv", text)
    return key


def test_a_record_says_what_was_made_from_what():
    run("a", spec={"who": "a"})
    a = fingerprint({"who": "a"})
    run("b", {"results/records/a.json": a})
    record = records.read("results/records/b.json")
    assert record["spec"] == SPEC and record["fingerprint"] == fingerprint(SPEC)
    assert record["inputs"] == {
        "results/records/a.json": [a, records.results_hash(records.read("results/records/a.json"))]
    }
    sums = [records.content(Path("b.csv")), records.checksum("b.csv")]
    assert record["outputs"] == {"b.csv": [6, *sums]} and "arithmetic" not in record
    assert record["drawn_with"].keys() == {"numpy", "scikit-learn"} and "drawn_with" not in str(record["spec"])
    run("c", torch=True)
    assert records.read("results/records/c.json")["arithmetic"] == arithmetic.of("auto", 1)
    assert sorted(os.listdir("results/records")) == ["a.json", "b.json", "c.json"]  # no lock is left


@pytest.fixture
def copy(folder):
    """A copy of the project, in which a file has other content than the project's of today."""
    copy = folder / "results/.code/0a"
    for place, text in ((copy, "value\n0.9\n"), (folder, "value\n0.8\n")):
        (place / "papers").mkdir(parents=True)
        (place / "papers/table1.csv").write_text(text)
    (copy / sealed.LOCK).touch()
    return copy


def test_files_of_the_project_are_read_in_the_copy_that_was_planned_with(copy, capsys):
    path = Path("papers/table1.csv")
    order = {"spec": {"reported": {str(path): hashlib.sha256(b"value\n0.9\n").hexdigest()[:16]}}, "code": str(copy)}
    Path("order.json").write_text(json.dumps(order | {"record": "results/records/b.json"}))
    assert torch.initial_seed() >= 0  # imported, so that it is seeded
    linecache.clearcache()  # as in the first test of a process: torch reads the lines of this file then
    args = job.parser("demo").parse_args(["--job", "order.json"])
    with job.run_context(args):
        assert [row for _, row in tables.rows(path, {"value": float})] == [{"value": "0.9"}]
        with opened.by_fairfl():
            assert locks.in_use(copy / sealed.LOCK)
    assert not locks.in_use(copy / sealed.LOCK)
    assert records.read("results/records/b.json")["snapshot"] == "0a"
    (copy / path).write_text("value\n0.7\n")
    message = r"^papers/table1\.csv: is not the file that this job was planned with"
    with pytest.raises(FairflError, match=message), job.run_context(args):
        pass
    with pytest.raises(SystemExit):
        cli.run(lambda _: list(tables.rows(copy / path, {"spread": float})))
    assert capsys.readouterr().err.startswith("error: papers/table1.csv: no column 'spread'")


def test_a_folder_that_the_job_has_made_is_its_own():
    Path("here").mkdir()
    opened.begin(None)
    with tempfile.TemporaryDirectory() as own:
        Path(own, "part").mkdir()
    Path("here").mkdir(exist_ok=True)
    opened.check([], None)
    os.listdir("here")
    with pytest.raises(PluginError, match="/here: this job reads it, and no change there would be noticed"):
        opened.check([], None)


def test_without_a_record_nothing_is_left():
    with job.run_context(options(record=False), Path("b.csv")):
        atomic.write_text("b.csv", "x")
    assert os.listdir() == ["b.csv"]


def test_results_of_another_spec_are_refused_by_name():
    Path("runs/x/eagle").mkdir(parents=True)
    run("runs/x/eagle/seed0", spec={"rounds": 9})
    inputs = {"results/records/runs/x/eagle/seed0.json": fingerprint({"rounds": 10})}
    words = r"^runs/x/eagle/seed0: its results were made from another spec \(\w+\) than today's \(\w+\); mixing them is"
    with pytest.raises(FairflError, match=words):
        run("tidy", inputs)
    assert not Path("tidy.csv").exists() and not Path("results/records/tidy.json").exists()


def test_what_is_read_is_what_was_planned_with():
    """An input that is edited after the job has begun, also one that is put back before it ends."""
    run("a", text="value\n1\n")
    wanted = {"results/records/a.json": fingerprint(SPEC)}
    args = options(inputs=wanted)
    refused = pytest.raises(FairflError, match=r"^a\.csv: is not the file that this job was planned with")
    with refused, job.run_context(args):
        Path("a.csv").write_text("value\n2\n")
        try:
            list(tables.rows(Path("a.csv"), {"value": int}))
        finally:
            Path("a.csv").write_text("value\n1\n")
    with refused, job.run_context(args):
        before = os.stat("a.csv").st_ctime_ns
        while os.stat("a.csv").st_ctime_ns == before:  # two changes within one tick of its clock look like one
            Path("a.csv").write_text("value\n2\n")
    assert not Path("results/records/b.json").exists()
    Path("a.csv").write_text("value\n1\n")
    with job.run_context(args):
        os.utime("a.csv")
    assert records.read("results/records/b.json")


def test_raw_files_are_those_that_were_fetched():
    Path("raw").mkdir()
    Path("raw/own.csv").write_text("fetched")
    digest = hashlib.sha256(b"fetched").hexdigest()
    marker = Path("own.fetched.json")
    args = options("fetch")
    with job.run_context(args, marker):
        atomic.write_text(marker, json.dumps({"files": [{"path": "own.csv", "sha256": digest}]}))
    args = options(inputs={"results/records/fetch.json": fingerprint(SPEC)})
    args.folder = Path("raw")
    with job.run_context(args):
        pass
    Path("raw/own.csv").write_text("swapped")
    with pytest.raises(FairflError, match=r"^raw/own\.csv: is not the file"), job.run_context(args):
        pass


@pytest.mark.parametrize("text", ["resulT", "", "result and more"])
def test_inputs_that_are_damaged_are_refused_and_set_aside(text):
    run("a")
    before = os.stat("a.csv")
    Path("a.csv").write_text(text)
    os.utime("a.csv", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FairflError, match=r"a\.csv is damaged .*; set aside as a\.csv\.damaged; a must run again"):
        run("b", {"results/records/a.json": fingerprint(SPEC)})
    assert Path("a.csv.damaged").read_text() == text and not Path("a.csv").exists() and not Path("b.csv").exists()
    with pytest.raises(FairflError, match=r"a\.csv is missing; a must run again"):
        run("b", {"results/records/a.json": fingerprint(SPEC)})


@pytest.mark.parametrize("damage", [None, "{", '{"spec": {}}'])
def test_results_without_a_record_are_refused_by_name(damage):
    if damage:
        Path("results/records").mkdir(parents=True)
        Path("results/records/a.json").write_text(damage)
    with pytest.raises(FairflError, match="a: has no record"):
        run("b", {"results/records/a.json": "0"})


def test_the_key_for_checkpoints_follows_spec_inputs_and_arithmetic(monkeypatch):
    keys = [run("b"), run("b"), run("b", spec=SPEC | {"rounds": 4}), run("b", torch=True)]
    run("a", text="one")
    read = {"results/records/a.json": fingerprint(SPEC)}
    keys.append(run("b", read))
    run("a", text="two")
    keys.append(run("b", read))
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    keys.append(run("b", torch=True))
    monkeypatch.setattr(arithmetic, "version", lambda name: "9.8.7")
    keys.append(run("b", torch=True))
    assert keys[0] == keys[1] and keys[3] == keys[6] and len(set(keys)) == 6  # on any kind of node


# -- contents -------------------------------------------------------------------------------------
def test_content_of_json_leaves_out_how_and_where_it_was_made():
    def content(**result):
        Path("a.json").write_text(json.dumps(result))
        return records.content(Path("a.json"))

    file = {"name": "x", "sha256": "1"}
    one = {"loss": 1.0, "files": [file]}
    cpu = {"seconds": 3, "host": "a", "device": "cpu", "processor": "A", "threads": 1}
    gpu = {"device": "NVIDIA X", "cuda_graphs": "on", "files": [file | {"source": "upstream", "path": "y"}]}
    assert content(**one) == content(**one | cpu) == content(**one | gpu)
    others = {"loss": 2.0}, {"files": [file | {"sha256": "2"}]}
    assert content(**one) not in [content(**one | other) for other in others]


def test_a_file_says_what_a_job_is_to_do(tmp_path):
    order = {"spec": SPEC, "record": "results/records/b.json", "inputs": {"results/records/a.json": "f"}}
    path = tmp_path / "order.json"
    path.write_text(json.dumps(order))
    args = job.parser("demo", "threads").parse_args(["--job", str(path), "--threads", "2"])
    assert (json.loads(args.spec), json.loads(args.inputs)) == (SPEC, order["inputs"])
    assert (args.record, args.threads) == (Path("results/records/b.json"), 2)
    path.write_text('{"spec":')
    with pytest.raises(FairflError, match=f"{path}: not valid JSON"):
        job.parser("demo").parse_args(["--job", str(path)])
    with pytest.raises(FileNotFoundError):
        job.parser("demo").parse_args(["--job", str(tmp_path / "none.json")])


def test_what_stopped_on_another_kind_of_node_goes_on_and_the_record_names_both(monkeypatch, capsys):
    checkpoint = Path("checkpoint.pt")

    def part(instructions, spec=SPEC, ends=True):
        monkeypatch.setattr(arithmetic.machine, "instructions", lambda: instructions)
        args = options(spec=spec)
        args.checkpoint = checkpoint
        with contextlib.suppress(KeyboardInterrupt), job.run_context(args, Path("b.csv"), torch=True) as key:
            checkpoint.touch()
            if not ends:
                raise KeyboardInterrupt
            atomic.write_text("b.csv", "result")
            checkpoint.unlink()
        return key

    assert part("AVX2", ends=False) == part("AVX-512", ends=False)
    assert "goes on with AVX-512 where AVX2 stopped" in capsys.readouterr().out
    part("AVX2")
    assert records.read("results/records/b.json")["arithmetic"]["instructions"] == "AVX2 and AVX-512"
    part("AVX-512")  # from its beginning
    assert records.read("results/records/b.json")["arithmetic"]["instructions"] == "AVX-512"
    part("AVX2", spec=SPEC | {"rounds": 4}, ends=False)
    Path("..checkpoint.pt.instructions.28172-6fe8bfa7.tmp").touch()  # of a kill while the note was written
    part("AVX-512")  # not from the checkpoint of another spec
    assert records.read("results/records/b.json")["arithmetic"]["instructions"] == "AVX-512"
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == ["b.csv"]
