"""Shared fixtures: small settings and clients made in memory."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
# On a busy machine threads that wait for each other make small products ten times as slow.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Commands that tests start find the package as jobs do; it is not installed.
os.environ["PYTHONPATH"] = str(ROOT / "src")
# What users see; tests that read Snakemake's own lines ask for them (tests/workflow/small_project.py: LINES).
os.environ.pop("FAIRFL_DISPLAY", None)
# A shell's `&` and nohup let what they start ignore these, and so would the jobs that tests interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)
# No timing is asserted, and the same examples are tried in every run.
settings.register_profile("fairfl", deadline=None, derandomize=True)
settings.load_profile("fairfl")


def pytest_collection_modifyitems(items):
    """Tests that run workflows begin first, the longest of all, which reads the whole record: no process of several
    waits in the end for the one that has it.
    """
    first = "test_reproduction.py"
    items.sort(key=lambda item: (ROOT / "tests/workflow" not in item.path.parents, item.path.name != first))


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Folder with real data sets (<data set>/<file>); tests that need it skip where it is absent."""
    path = Path(os.environ.get("FAIRFL_MIRROR", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no mirror of real data at {path} (set FAIRFL_MIRROR)")
    return path


@pytest.fixture
def no_models(tmp_path, monkeypatch):
    """No pre-trained model and no weights of this machine are found; the data folder is tmp_path / "data"."""
    for name, folder in (("HF_HUB_CACHE", "hub"), ("TORCH_HOME", "torch"), ("FAIRFL_DATA_FOLDER", "data")):
        monkeypatch.setenv(name, str(tmp_path / folder))


@pytest.fixture
def any_checksum(monkeypatch):
    """Raw files are taken without their published checksum; all other checks stay."""
    from fairfl.data import checks

    real = checks._find_problem

    def without(path, file, *rest):
        return real(path, replace(file, sha256=(), md5=None), *rest)

    monkeypatch.setattr(checks, "_find_problem", without)
