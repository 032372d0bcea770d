"""fairfl plan and run hand over to Snakemake in the repository's root; mistakes end in one line with what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairfl.commands import main as command


@pytest.fixture()
def became(monkeypatch):
    """What Snakemake would have been told, and where."""
    told = []
    monkeypatch.setattr(command, "run", lambda words: told.append((words, os.getcwd())))

    def call(*words: str) -> tuple[list[str], str]:
        before = os.getcwd()
        try:
            command._command(list(words))
        finally:
            os.chdir(before)
        return told[-1]

    return call


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["plan"], ["plan", "--cores", "all"]),
        (["store", "--config", "scale=full"], ["record", "--config", "scale=full", "--cores", "all"]),
        (["tune", "-n"], ["tuned", "-n", "--cores", "all"]),
        (["run", "mine", "--config", "papers=mine"], ["mine", "--config", "papers=mine", "--cores", "all"]),
        (["run", "-c2", "-n"], ["-c2", "-n"]),
        (["run", "--cores=2"], ["--cores=2"]),
        (["run", "--workflow-profile", "profiles/slurm"], ["--workflow-profile", "profiles/slurm"]),
    ],
)
def test_plan_and_run_are_snakemake(became, root, words, line):
    assert became(*words) == (line, str(root))


def test_from_a_folder_of_the_repository(became, root, monkeypatch):
    monkeypatch.chdir(root / "docs")
    assert became("plan")[1] == str(root)


def test_a_clone_that_one_stands_in_counts_before_the_one_that_is_installed(tmp_path, root):
    (tmp_path / "src/fairfl").mkdir(parents=True)
    (tmp_path / "Snakefile").touch()
    assert command.repository(tmp_path / "src") == tmp_path
    assert command.repository(Path("/")) == root


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "fairfl", *words], text=True, capture_output=True)


def test_help_and_unknown_commands():
    assert "fairfl new algorithm|paper|dataset NAME" in run().stdout
    done = run("plans")
    assert done.returncode == 1
    assert done.stderr.strip() == "error: fairfl has no command 'plans'; did you mean 'plan'?"
