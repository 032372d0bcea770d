"""Targets of the Makefile that a slip would make dangerous."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

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
        said = subprocess.run(words, cwd=folder, env=environment, check=True, text=True, capture_output=True).stdout
        path, _, given = said.strip().partition(" ")
        assert Path(path).resolve() == tmp_path / "src/fairfl/__main__.py" and given == "['new', 'two words']"


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
