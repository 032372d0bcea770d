"""Targets of the Makefile that a slip would make dangerous."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_runs_the_package_of_its_clone_from_anywhere(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "src" / "fairfl").mkdir(parents=True)
    (tmp_path / "src/fairfl/__init__.py").touch()
    (tmp_path / "src/fairfl/__main__.py").write_text("import sys\nprint(__file__, sys.argv[1:])\n")
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs/requirements.lock").touch()
    (tmp_path / ".venv/ready").touch()  # later than the lock: nothing is installed
    subprocess.run(["make", ".venv/bin/fairfl"], cwd=tmp_path, check=True, capture_output=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for folder, command in ((tmp_path, ".venv/bin/fairfl"), (tmp_path / "src", "../.venv/bin/fairfl")):
        words = [command, "new", "two words"]
        said = subprocess.check_output(words, cwd=folder, env=environment, text=True)
        path, _, given = said.strip().partition(" ")
        assert Path(path).resolve() == tmp_path / "src/fairfl/__main__.py" and given == "['new', 'two words']"


def test_without_cuda_everything_else_is_as_locked():
    """make CPU=1: the lock less torch and what it needs for GPUs; torch in the version of the lock."""
    said = subprocess.check_output(["make", "-n", "CPU=1", "install"], cwd=ROOT, text=True)
    command = next(line.partition(" > ")[0] for line in said.splitlines() if line.startswith("awk "))
    kept = subprocess.check_output(command, shell=True, cwd=ROOT, text=True)
    whole = (ROOT / "envs/requirements.lock").read_text()
    pinned = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==([0-9.]+)", whole, re.M))
    left = set(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==", kept, re.M))
    gone = pinned.keys() - left
    assert {"torch", "torchvision", "triton"} < gone and "numpy" in left
    assert all(name.startswith(("cuda-", "nvidia-")) for name in gone - {"torch", "torchvision", "triton"})
    assert set(kept.splitlines()) <= set(whole.splitlines()) and kept.count("--hash=") > len(left)
    assert f"--no-deps torch=={pinned['torch']} torchvision=={pinned['torchvision']} --index-url" in said


@pytest.mark.parametrize(
    ("name", "text", "commit", "message"),
    [
        ("CHANGELOG.md", "## [1.2.0]\n", True, "tagged v1.2.0; publish it with: git push origin v1.2.0\n"),
        ("new.txt", "", False, "there are changes that are not committed"),
        ("CHANGELOG.md", "## [1.1.0]\n", True, "CHANGELOG.md has no section [1.2.0]"),
        ("CITATION.cff", "version: 1.1.0\n", True, "CITATION.cff has another version than 1.2.0"),
    ],
)
def test_tag_is_the_version_once_everything_is_ready(tmp_path, name, text, commit, message):
    def run(*words: str) -> str:
        # A make above this test, `make test`, would have that of the test say more.
        names = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        names |= {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return subprocess.run(words, cwd=tmp_path, env=names, text=True, capture_output=True).stdout

    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## [1.2.0] - 2026-01-01\n")
    (tmp_path / "CITATION.cff").write_text("version: 1.2.0\n")
    (tmp_path / name).write_text(text)
    for words in (["init", "-q"], ["add", "-A"] if commit else ["add", "Makefile"], ["commit", "-q", "-m", "release"]):
        run("git", *words)
    assert message in run("make", "tag", f"PYTHON={sys.executable}")
    assert run("git", "tag") == ("v1.2.0\n" if message.startswith("tagged") else "")
    assert "tagged" not in run("make", "tag", f"PYTHON={sys.executable}")


def test_clean_keeps_the_record(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    kept = ["results/recorded/fedfv/jobs.json", "data/mnist/x", ".venv/ready"]
    gone = ["results/quick/index.html", "results/.hidden/x", "results/recorded2/x", ".snakemake/x"]
    for name in [*kept, *gone]:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    for _ in range(2):
        subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
        assert all((tmp_path / name).is_file() for name in kept)
        assert not any((tmp_path / name).parent.exists() for name in gone)
