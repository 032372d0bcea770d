"""Warm starts in the real workflow: they are used, change no number, and leave nothing behind."""

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest

from tests.workflow.faults import gone, servers_in, start
from tests.workflow.small_project import Project

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


def test_warm_and_plain_runs_give_the_same_bytes(root, tmp_path, temporary):
    """A job of each kind, after all were started by a server, is started plainly."""
    project = talking(root, tmp_path / "project")

    def left() -> dict[str, bytes]:
        assert gone(project.folder) and list(temporary.glob("fairfl-*")) == []
        return project.results(".csv", ".parquet", ".safetensors")

    def run(*config: str) -> None:  # as a user does: forks of the tests' own server have another command line
        with start(project, TARGET, config=config) as snakemake:
            assert snakemake.ended() and snakemake.process.returncode == 0, snakemake.said()

    run()
    warm, used = left(), starters(project)
    assert len(used) == 10 and all(used.values()) and TARGET in warm and len(warm) == 13
    lost = ("partitions/*/*.parquet", "optima/*/*/client0.json", "runs/*/eagle/*/*/metrics.parquet", "tidy/*.csv")
    for pattern in ("data/*.safetensors", *(f"tiny/{path}" for path in lost)):
        (path,) = project.folder.glob(f"results/{pattern}")
        path.unlink()
    run("warm_start=false")
    plain, used = left(), starters(project)
    assert sorted(name.split("/")[3] for name, served in used.items() if not served) == [
        "collect", "local_optimum", "partition", "prepare", "train"
    ]  # fmt: skip
    assert warm.keys() == plain.keys() and [name for name in warm if warm[name] != plain[name]] == []


def test_nothing_is_left_if_snakemake_is_interrupted(root, tmp_path, temporary):
    """SIGTERM and SIGKILL: tests/unit/runtime/test_warm_start.py."""
    project = talking(root, tmp_path / "project")
    project.edit("scales/tiny.yaml", "rounds: 3", "rounds: 1000000")
    logs = f"results/tiny/logs/train/{SETTING}/**/*.log"
    with start(project, TARGET) as snakemake:
        assert snakemake.wait_for(lambda: any("started by" in log.read_text() for log in project.folder.glob(logs)))
        assert servers_in(project.folder)
        os.killpg(snakemake.pid, signal.SIGINT)  # Ctrl-C at a terminal reaches Snakemake, the shells and the clients
        assert gone(project.folder), snakemake.said()
    assert list(temporary.glob("fairfl-*")) == []
    assert not list(project.folder.glob("results/**/.*.tmp"))
