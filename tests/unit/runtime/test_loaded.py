"""What a process has loaded, against what its job was planned with."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairfl.runtime import loaded
from fairfl.runtime.errors import FairflError

MODULE = "fairfl.metrics.fairness"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Writes what jobs are planned with; the default is what is loaded here."""
    monkeypatch.setattr(loaded, "files", {})
    importlib.import_module(MODULE)

    def write(reads: dict | None = None, **modules: str) -> Path:
        path = tmp_path / f"sources{len(list(tmp_path.iterdir()))}.json"
        path.write_text(loaded.snapshot(loaded.modules | modules, reads or {}))
        return path

    return write


def test_code_is_what_was_loaded(sources):
    loaded.check({"code": {MODULE: "0"}}, sources())
    loaded.check({"code": {"fairfl.models.mlp": "0"}}, sources(**{MODULE: "0"}))  # not of this job
    with pytest.raises(FairflError, match=r"src/fairfl/metrics/fairness\.py changed while it ran"):
        loaded.check({"code": {MODULE: "0"}}, sources(**{MODULE: "0"}))


def test_files_of_the_project(sources, tmp_path):
    path = tmp_path / "paper.yaml"
    path.write_text("a: 1")
    assert loaded.read_bytes(path) == b"a: 1"
    planned = sources()
    path.write_text("a: 2")
    loaded.check({}, planned)  # what this process has read is what was planned
    loaded.read_bytes(path)
    path.write_text("a: 1")
    with pytest.raises(FairflError, match=r"paper\.yaml changed while it ran"):
        loaded.check({}, planned)


def test_files_beside_modules(sources, tmp_path, monkeypatch):
    """Also one that was edited while the job ran and put back."""
    path = tmp_path / "rules.json"
    path.write_text("1")
    loaded.read_bytes(path)
    planned, spec = sources({MODULE: [path]}), {"code": {MODULE: "0"}}
    monkeypatch.setattr(loaded, "_began", path.stat().st_ctime_ns + 1)
    loaded.check(spec, planned)
    loaded.check({"code": {}}, planned)
    monkeypatch.setattr(loaded, "_began", path.stat().st_ctime_ns)
    with pytest.raises(FairflError, match=r"rules\.json changed while it ran"):  # the same bytes
        loaded.check(spec, planned)
    path.write_text("2")
    monkeypatch.setattr(loaded, "_began", path.stat().st_ctime_ns + 1)
    with pytest.raises(FairflError, match=r"rules\.json changed while it ran"):
        loaded.check(spec, planned)


def test_reported_numbers(sources, tmp_path):
    path = tmp_path / "table1.csv"
    path.write_text("1")
    spec = {"reported": {str(path): loaded.hashed(b"1")}}
    loaded.check(spec, sources())
    path.write_text("2")
    with pytest.raises(FairflError, match=r"table1\.csv changed"):
        loaded.check(spec, sources())


def test_bytecode_never_stands_for_another_source(tmp_path):
    """An edit of the same size within a second, which Python's own check by time and size does not see."""
    package = tmp_path / "fairfl"
    (package / "runtime").mkdir(parents=True)
    for name in ("__init__", "runtime/__init__", "runtime/errors", "runtime/loaded"):
        (package / f"{name}.py").write_bytes(loaded.SOURCE.joinpath("fairfl", f"{name}.py").read_bytes())
    module = package / "value.py"
    code = "from fairfl import value; from fairfl.runtime import loaded; print(value.X, loaded.modules['fairfl.value'])"
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    for number in (1, 2):
        module.write_text(f"X = {number}")
        os.utime(module, (10**9, 10**9))
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True
        )
        assert done.stdout.decode().split() == [str(number), loaded.hashed(module.read_bytes())]
    assert list((package / "__pycache__").glob("value.*.pyc"))


def test_without_a_plan_nothing_is_held_against_it():
    loaded.check({"code": {MODULE: "0"}}, None)
    assert json.loads(loaded.snapshot({}, {}))["modules"] == {}
