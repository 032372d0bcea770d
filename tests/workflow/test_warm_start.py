"""Warm starts in the real workflow: they are used, change no number, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.workflow.small_project import SELECTION, Project

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.xdist_group("workflow"),
    pytest.mark.skipif(sys.platform != "linux", reason="the server needs Linux"),
]

SETTING = "eagle_synthetic_gaussian"
TARGET = f"results/tiny/tidy/{SETTING}.csv"
SAY_PARENT = (
    "    import os\n    print('started by', open(f'/proc/{os.getppid()}/cmdline').read(), flush=True)\n"
    "    try:\n        main(None)"
)


@pytest.fixture
def temporary(monkeypatch):
    """The folder for temporary files; its name is short, since a socket's may have 107 letters."""
    with tempfile.TemporaryDirectory() as name:
        monkeypatch.setenv("TMPDIR", name)
        yield Path(name)


def talking(root: Path, folder: Path) -> Project:
    """A project from nothing whose jobs say in their log who has started them."""
    project = Project(root, folder)
    project.edit("src/fairfl/runtime/cli.py", "    try:\n        main(None)", SAY_PARENT)
    return project


def starters(project: Project) -> dict[str, bool]:
    """Log of each job -> whether a server has started it."""
    logs = list(project.folder.glob("results/**/*.log"))
    texts = {str(log.relative_to(project.folder)): log.read_text() for log in logs}
    assert all("started by" in text for text in texts.values())
    return {name: "fairfl.runtime.warm_start.server" in text for name, text in texts.items()}


def processes_in(folder: Path) -> list[str]:
    """Command lines of what runs in a folder: shells, clients, server, jobs."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def test_warm_and_plain_runs_give_the_same_bytes(root, tmp_path, temporary):
    """A job of each kind, after all were started by a server, is started plainly."""
    project = talking(root, tmp_path / "project")

    def kept() -> dict[str, bytes]:
        assert processes_in(project.folder) == [] and list(temporary.glob("fairfl-*")) == []
        found = [path for path in project.folder.glob("results/**/*") if ".code" not in path.parts]
        suffixes = (".csv", ".parquet", ".safetensors")
        return {str(path.relative_to(project.folder)): path.read_bytes() for path in found if path.suffix in suffixes}

    project.snakemake(TARGET)
    warm, used = kept(), starters(project)
    assert len(used) == 10 and all(used.values()) and TARGET in warm and len(warm) == 13
    lost = ("partitions/*/*.parquet", "optima/*/*/client0.json", "runs/*/eagle/*/*/metrics.parquet", "tidy/*.csv")
    for pattern in ("data/*.safetensors", *(f"tiny/{path}" for path in lost)):
        (path,) = project.folder.glob(f"results/{pattern}")
        path.unlink()
    project.snakemake(TARGET, config=("warm_start=false",))
    plain, used = kept(), starters(project)
    assert sorted(name.split("/")[3] for name, served in used.items() if not served) == [
        "collect", "local_optimum", "partition", "prepare", "train"
    ]  # fmt: skip
    assert warm.keys() == plain.keys() and [name for name in warm if warm[name] != plain[name]] == []


def test_nothing_is_left_if_snakemake_is_interrupted(root, tmp_path, temporary):
    """SIGTERM and SIGKILL: tests/unit/runtime/test_warm_start.py."""
    project = talking(root, tmp_path / "project")
    project.edit("scales/tiny.yaml", "rounds: 3", "rounds: 1000000")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", TARGET, "--config", *SELECTION]
    with subprocess.Popen(
        command, cwd=project.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as snakemake:
        log = f"results/tiny/logs/train/{SETTING}"
        limit = time.monotonic() + 60
        while not any("started by" in path.read_text() for path in project.folder.glob(f"{log}/**/*.log")):
            assert snakemake.poll() is None and time.monotonic() < limit
            time.sleep(0.02)
        assert any("fairfl.runtime.warm_start.server" in line for line in processes_in(project.folder))
        # Ctrl-C at a terminal reaches Snakemake, the shells and the clients.
        os.killpg(snakemake.pid, signal.SIGINT)
    limit = time.monotonic() + 90
    while (left := processes_in(project.folder)) and time.monotonic() < limit:
        time.sleep(0.05)
    assert left == [] and list(temporary.glob("fairfl-*")) == []
    assert not list(project.folder.glob("results/**/.*.tmp"))
