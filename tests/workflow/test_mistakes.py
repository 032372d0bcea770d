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


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("eagle_tabel1", "no target 'eagle_tabel1'; did you mean 'eagle_table1'?"),
        ("results/tiny/eagle/tabel1.csv", "did you mean 'results/tiny/eagle/table1.csv'?"),
        (
            "results/tiny/optima/eagle_synthetic_gausian/seed0/client0.json",
            "eagle_synthetic_gaussian/seed0/client0.json'?",
        ),
        ("README.md", "no target 'README.md'"),
        ("eagle_table2", "no target 'eagle_table2': `artifacts` leaves it out"),
    ],
)
def test_a_target_that_nothing_makes(fresh, target, words):
    done = fresh.snakemake("--dry-run", target, check=False)
    assert done.returncode and words in done.stdout
    assert "--list-target-rules" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("words", [("plan", "eagle_table1"), ("plan", "--dry-run"), ("eagle_figure2", "plan")])
def test_a_plan_runs_nothing(fresh, words):
    """Not even the other targets of its command, of which it says nothing; and its dry run would be empty."""
    done = fresh.snakemake(*words, check=False)
    part = "eagle_figure2" if "eagle_figure2" in words else "eagle_table1"
    assert done.returncode and f"`snakemake plan --config artifacts={part}` plans a part" in done.stdout
    assert not (fresh.folder / "results").exists()


def test_values_are_blamed_on_where_they_were_given(fresh):
    said = fresh.snakemake("--dry-run", config=("threads=0",), check=False).stdout
    assert "--config threads: 0: expected more than 0" in said and "config.yaml: threads" not in said
    fresh.edit("config.yaml", "checkpoint_seconds: 60", "checkpoint_seconds: -1")
    said = fresh.snakemake("--dry-run", check=False).stdout
    fresh.undo()
    assert "config.yaml: checkpoint_seconds: -1" in said


@pytest.mark.parametrize(
    "module", ["algorithms/fedavg", "simulation/simulation", "metrics/fairness", "planning/restriction"]
)
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
