"""The real Snakefile on a small selection: outputs, no-op, equal bytes, bad input. What an edit runs: test_rerun.py."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from fairfl.runtime import kept, locks
from tests.workflow.graphs import printed_plan
from tests.workflow.small_project import LINES, Project, plan_in

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]


def test_everything_is_there(finished):
    results = finished.folder / "results" / "tiny"
    expected = ["comparison.csv", "claims.csv", "index.html"]
    expected += [f"eagle/{name}" for name in ("table1.csv", "table1.md", "table1.tex", "table3.md")]
    expected += [f"eagle/figure{n}.{suffix}" for n in (2, 3) for suffix in ("csv", "pdf", "png")]
    for name in expected:
        assert (results / name).stat().st_size > 0, name
    assert "stand-in for emnist" in (results / "eagle" / "table1.csv").read_text()


def test_a_summary_traces_a_number_to_code_and_spec(finished):
    path = finished.folder / "results/tiny/runs/eagle_emnist_linear_a0.1/eagle/lambda=1.0/seed0/summary.json"
    summary = json.loads(path.read_text())
    assert summary["spec"]["hyperparameters"]["lambda"] == 1.0
    assert "fairfl.algorithms.eagle" in summary["spec"]["code"]
    assert summary["versions"]["torch"] and summary["device"] == "cpu" and summary["peak_memory_mib"] > 0


def test_same_command_again_and_targets_of_the_documentation_run_nothing(finished):
    assert "Nothing to be done" in finished.snakemake("--dry-run", "all", "eagle", "eagle_table1", "report").stdout


def test_plan_is_a_target_and_says_why_in_words(project, capsys):
    """What it says in each case: test_rerun.py. It only reads: another workflow may run in the folder meanwhile."""
    project.write(waiting := "results/tiny/.jobs/train/other.json", "{}")
    with mock.patch.dict(os.environ), locks.workflow_lock(project.folder / "results/tiny/.lock") as lock:
        said = project.snakemake("plan", "--quiet", "all", config=("threads=2",)).stdout.splitlines()
        assert json.loads(Path(lock.name).read_text())["pid"] == os.getpid()
    assert (project.folder / waiting).exists()
    assert [line for line in said if "tiny" in line or line.startswith("note: ")] == [
        "note: results with threads 1, here it is 2, are kept (config.yaml: numerics_mismatch: keep)",
        "nothing to do at scale tiny: every result is as today's code makes it; results/tiny/index.html",
    ]
    project.edit("papers/eagle.yaml", "defaults: {eta_lambda: 0.1", "defaults: {eta_lambda: 0.2")
    text = printed_plan(project.folder, capsys, scale="tiny")
    said = plan_in((project.folder / "results/tiny/plan.txt").read_text())
    runs = {name: why for name, why in said.items() if name.startswith("train/")}
    assert len(runs) == 14 and runs["train/eagle_emnist_linear_a0.1/fedavg/default/seed0"] == ""
    assert runs["train/eagle_emnist_linear_a0.1/afl/default/seed0"] == "hyperparameters.eta_lambda: 0.1 -> 0.2"
    assert " 2 trainings  hyperparameters.eta_lambda changed\n" in text and "12 of 14 trainings here" in text
    assert "results/tiny/plan.txt" in text and "then see:  results/tiny/index.html" in text


def test_results_that_come_back_are_not_among_the_jobs_that_would_run(project, capsys):
    name = "train/eagle_emnist_linear_a0.1/afl/default/seed0"
    (project.folder / "results/tiny/index.html").unlink()
    with contextlib.chdir(project.folder):
        assert kept.keep("results/tiny/", name, Path(f"results/tiny/records/{name}.json"), damaged=False)
    text = printed_plan(project.folder, capsys, scale="tiny")
    head = ["1 job would run at scale tiny:", "  1 page  a file is missing or damaged"]
    head += ["kept results that come back without a run: 1"]
    assert text.splitlines()[:3] == head == project.snakemake("--dry-run").stdout.splitlines()[-4:-1]
    assert "14 of 14 trainings here" in text and "\nto run it: fairfl run " in text
    detailed = (project.folder / "results/tiny/plan.txt").read_text()
    assert f"keep  {name}  was computed before and kept\n" in detailed and "\n0 of 14 train and " in detailed
    said = project.fairfl("run")
    assert "kept results that are back without a run: 1\n" in said and "\nto do: 1 page\n" in said
    assert "Nothing to be done" in project.snakemake("--dry-run").stdout


def test_a_selection_leaves_the_page_and_the_numbers_of_the_whole(project):
    summaries = ("index.html", "comparison.csv", "claims.csv", "ranking.csv", "eagle/table1.side_by_side.md")
    whole = project.folder / "results/tiny"
    before = {name: (whole / name).read_bytes() for name in summaries}
    project.snakemake(config=("artifacts=eagle_table1", "algorithms=fedavg"))
    (part,) = (whole / "selections").iterdir()
    assert part.name == "artifacts=eagle_table1_algorithms=fedavg"
    assert {name: (whole / name).read_bytes() for name in summaries} == before
    rows = (part / "comparison.csv").read_text().splitlines()
    assert len(rows) > 1 and all(row.startswith("eagle_table1,") for row in rows[1:])
    assert 'href="../../eagle/table1.csv"' in (part / "index.html").read_text()
    assert 'href="eagle/table1.side_by_side.md"' in (part / "index.html").read_text()
    assert (part / "eagle/table1.side_by_side.md").read_bytes() != before["eagle/table1.side_by_side.md"]
    # What the part has built anew is made whole again, and nothing is trained.
    assert not any(name.startswith("train/") for name in project.jobs())
    assert "is damaged" not in project.snakemake().stdout
    assert {name: (whole / name).read_bytes() for name in summaries} == before


# -- The timing stage in the real Snakefile has the machine to itself and needs no runs.


def test_no_other_job_runs_beside_it_and_it_needs_no_runs(finished):
    config = ("papers=focus", "artifacts=null")
    plan = finished.snakemake("focus_table9", "focus_table12", "--dry-run", config=config, **LINES)
    jobs = re.findall(r"^rule timing:.*?(?=^\[|\Z)", plan.stdout, re.M | re.S)
    assert len(jobs) == 2 and all("threads: 2" in job for job in jobs)  # all cores of --cores 2
    assert "rule train:" not in plan.stdout


# -- what a user gets wrong on the command line is said in a line that tells what to type ---------------
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
