"""The documentation's example of adding an algorithm is executed as it is printed; profiles are understood."""

import re
import subprocess
import sys

import pytest
import yaml

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("workflow")]

BLOCK = re.compile(r"<!-- test: (\S+) -->\n```\w+\n(.*?)```", re.S)
CHECK = """
import torch
from fairfl import algorithms
from fairfl.algorithms.interface import Reports
reports = Reports(
    clients=torch.arange(3), samples=torch.tensor([100.0, 200.0, 100.0]).double(), learning_rate=0.1,
    loss_received=torch.tensor([0.5, 1.0, 2.0]).double(), delta=torch.zeros(3, 2),
)
for m, expected in {1: [0, 0, 1], 2: [0, 0.5, 0.5], 9: [1 / 3, 1 / 3, 1 / 3]}.items():
    w = algorithms.create("power_of_choice", {"m": m}).aggregate({}, reports)[0].weights
    torch.testing.assert_close(w, torch.tensor(expected, dtype=torch.float64))
"""


def laid_over(base, patch):
    """Keys are merged, lists get the new entries at their end."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return base | {key: laid_over(base.get(key), value) for key, value in patch.items()}
    return base + patch if isinstance(base, list) else patch


def test_adding_an_algorithm(project, root):
    blocks = dict(BLOCK.findall((root / "docs/add-algorithm.md").read_text()))
    file = "src/fairfl/algorithms/power_of_choice.py"
    assert set(blocks) == {file, "papers/template.yaml"}
    assert not (root / file).exists(), "the example shows how to add a file: it must be a new one"
    selection = ("papers=template", "artifacts=template_table1")
    before = project.planned(*selection)
    (project.folder / file).write_text(blocks[file])
    paper = project.folder / "papers/template.yaml"
    merged = laid_over(yaml.safe_load(paper.read_text()), yaml.safe_load(blocks["papers/template.yaml"]))
    paper.write_text(yaml.safe_dump(merged, sort_keys=False))

    more = project.planned(*selection) - before
    assert more == {"tiny/logs/train/template_digits/power_of_choice/default/seed0.log"}
    project.snakemake("template_table1", config=selection)
    table = (project.folder / "results/tiny/template/table1.md").read_text()
    assert "| Power-of-choice |" in table

    # Weights computed by hand, on the file as it is printed.
    environment = {"PYTHONPATH": str(project.folder / "src")}
    subprocess.run([sys.executable, "-c", CHECK], check=True, env=environment)


@pytest.mark.parametrize("profile", ["gpu", "multi-gpu", "ci"])
def test_profiles_are_understood(finished, profile):
    done = finished.snakemake("--dry-run", "--workflow-profile", f"profiles/{profile}")
    assert "Nothing to be done" in done.stdout


def test_slurm_profile_is_understood(finished):
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="the Slurm plugin is not installed")
    finished.snakemake("--dry-run", "--workflow-profile", "profiles/slurm")
