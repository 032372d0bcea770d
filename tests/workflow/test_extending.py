"""Documentation executed as printed: docs/extending.md, examples of algorithms, profiles."""

import csv
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.defaults import copy_config, without
from tests.workflow.forks import forks
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("extending")]

STEP = re.compile(r"<!-- (run|add to: (\S+)) -->\n```\w*\n(.*?)```", re.S)


def laid_over(base, patch):
    """Keys are merged, lists get the new entries at their end."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return base | {key: laid_over(base.get(key), value) for key, value in patch.items()}
    return base + patch if isinstance(base, list) else patch


@pytest.fixture()
def clone(root, tmp_path) -> Project:
    """With what the commands read beside the workflow."""
    project = Project(root, tmp_path)
    for name in ("tests", "schemas"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(root / "pyproject.toml", tmp_path)
    copy_config(tmp_path)
    without(tmp_path, "mine", "tilted", "points")
    return project


def run(project: Project, line: str) -> str:
    """A command of the page, as it is run from the folder."""
    command, *rest = shlex.split(line)
    words = {"fairfl": ["fairfl", *rest], "python": rest[1:]}[command]
    done = forks()(project.folder, words, path=[project.folder / "src"])
    assert done.returncode == 0, f"{line}\n{done.stdout[-4000:]}"
    return done.stdout


def algorithms(project: Project, table: str) -> list[str]:
    """The algorithms with numbers in a table, in print order."""
    with (project.folder / f"results/quick/mine/{table}.csv").open() as file:
        return list(dict.fromkeys(line["algorithm"] for line in csv.DictReader(file)))


def test_the_page_works_as_it_is_printed(clone, root):
    said: list[tuple[str, str]] = []
    for what, path, text in STEP.findall((root / "docs/extending.md").read_text()):
        if what == "run":
            said += [(line, run(clone, line)) for line in text.strip().splitlines()]
        else:
            paper = clone.folder / path
            merged = laid_over(yaml.safe_load(paper.read_text()), yaml.safe_load(text))
            paper.write_text(yaml.safe_dump(merged, sort_keys=False))

    plans = [text for line, text in said if line.startswith("fairfl plan")]
    assert len(plans) == 1 and re.search(r"\b2 trainings\b", plans[0]), plans
    assert len([line for line, _ in said if line.startswith("fairfl run")]) == 3
    assert algorithms(clone, "table1") == ["fedavg", "qffl", "tilted"]
    assert algorithms(clone, "table2") == ["fedavg", "tilted"]
    drawn = clone.folder / "results/quick/mine"
    assert all((drawn / f"{name}.{end}").is_file() for name in ("figure1", "figure2") for end in ("pdf", "png", "csv"))
    assert "<title>" in (clone.folder / "results/quick/selections/papers=mine/index.html").read_text()


# -- examples of algorithms; profiles --------------------------------------------------------------
BLOCK = re.compile(r"<!-- test: (\S+) -->\n```\w+\n(.*?)```", re.S)
CHECK = """
import torch
from fairfl import algorithms
from fairfl.algorithms.interface import Reports
reports = Reports(
    clients=torch.arange(3), samples=torch.tensor([100.0, 200.0, 100.0]).double(), learning_rate=0.1,
    loss_received=torch.tensor([0.5, 1.0, 2.0]).double(), delta=torch.zeros(3, 2),
)
for theta, expected in {0.3: [0, 0, 1], 0.6: [0, 0.5, 0.5], 1.0: [1 / 3, 1 / 3, 1 / 3]}.items():
    w = algorithms.create("superquantile", {"theta": theta}).aggregate({}, reports)[0].weights
    torch.testing.assert_close(w, torch.tensor(expected, dtype=torch.float64))
"""


def test_adding_an_algorithm(project, root):
    blocks = dict(BLOCK.findall((root / "docs/add-algorithm.md").read_text()))
    file = "src/fairfl/algorithms/superquantile.py"
    assert set(blocks) == {file, "papers/template.yaml"}
    without(project.folder, "superquantile")
    selection = ("papers=template", "artifacts=template_table1")
    before = set(project.jobs(config=selection))
    (project.folder / file).write_text(blocks[file])
    paper = project.folder / "papers/template.yaml"
    merged = laid_over(yaml.safe_load(paper.read_text()), yaml.safe_load(blocks["papers/template.yaml"]))
    paper.write_text(yaml.safe_dump(merged, sort_keys=False))

    assert set(project.jobs(config=selection)) - before == {"train/template_digits/superquantile/default/seed0"}
    project.snakemake("template_table1", config=selection)
    assert "| Superquantile |" in (project.folder / "results/tiny/template/table1.md").read_text()

    # Computed by hand, on the file as it is printed.
    environment = {"PYTHONPATH": str(project.folder / "src")}
    subprocess.run([sys.executable, "-c", CHECK], check=True, env=environment)


@pytest.mark.parametrize("profile", ["gpu", "multi-gpu", "ci"])
def test_profiles_are_understood(finished, profile):
    done = finished.snakemake("--dry-run", "--workflow-profile", f"profiles/{profile}")
    assert "Nothing to be done" in done.stdout


def test_slurm_profile_is_understood(finished):
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="the Slurm plugin is not installed")
    finished.snakemake("--dry-run", "--workflow-profile", "profiles/slurm")
