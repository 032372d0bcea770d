"""What a user gets wrong on the command line is said in a line that tells what to type."""

import os
import subprocess
import sys

import pytest

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("mistakes")]


@pytest.fixture(scope="module")
def fresh(root, tmp_path_factory) -> Project:
    return Project(root, tmp_path_factory.mktemp("mistakes"))


def test_a_target_that_nothing_makes_is_one_line(fresh):
    """With the nearest name: test_snakemake.py."""
    done = fresh.snakemake("--dry-run", "eagle_tabel1", check=False)
    assert done.returncode and "no target 'eagle_tabel1'; did you mean 'eagle_table1'?" in done.stdout
    assert "--list-target-rules" in done.stdout and "Traceback" not in done.stdout


def test_values_are_blamed_on_where_they_were_given(fresh):
    said = fresh.snakemake("--dry-run", config=("threads=0",), check=False).stdout
    assert "--config threads: 0: expected more than 0" in said and "config.yaml: threads" not in said
    fresh.edit("config.yaml", "checkpoint_seconds: 60", "checkpoint_seconds: -1")
    said = fresh.snakemake("--dry-run", check=False).stdout
    fresh.undo()
    assert "config.yaml: checkpoint_seconds: -1" in said


@pytest.mark.parametrize("module", ["algorithms/fedavg", "planning/restriction"])
def test_a_syntax_error_is_one_line(fresh, module):
    path = f"src/fairfl/{module}.py"
    text = (fresh.folder / path).read_text()
    fresh.write(path, f"{text}def (\n")
    said = fresh.snakemake("--dry-run", check=False).stdout
    fresh.undo()
    assert said.count("SyntaxError") == 1 and f"{path}, line {len(text.splitlines()) + 1}: SyntaxError" in said
    assert "Traceback" not in said and "papers/" not in said


@pytest.mark.parametrize("package", ["torch", "lark"])  # looked for; imported
def test_a_package_that_is_missing(fresh, tmp_path, package):
    hidden = 'raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)'
    lines = [
        "import sys",
        "class Hides:",
        "    def find_spec(self, fullname, path=None, target=None):",
        f"        if fullname == {package!r}: {hidden}",
        "sys.meta_path.insert(0, Hides())",
    ]
    (tmp_path / "sitecustomize.py").write_text("\n".join(lines))
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, cwd=fresh.folder, env=environment, text=True, capture_output=True)
    said = done.stdout + done.stderr
    assert done.returncode and f"No module named '{package}'" in said and "`make setup`" in said
