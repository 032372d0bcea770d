"""The first contact with a GPU, on a CPU: the checks pass where they should, and fail where they should."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from benchmarks.gpu_check import __main__ as command
from benchmarks.gpu_check import cases, correct
from benchmarks.gpu_check.findings import Check, table

from fairfl import modifiers
from fairfl.experiments import plugins

ROOT = Path(__file__).resolve().parents[2]
# What a bare machine with torch lacks.
MISSING = (
    "snakemake", "pandas", "pyarrow", "safetensors", "yaml", "scipy", "sklearn", "matplotlib", "seaborn", "jinja2",
    "lark", "grimp",
)  # fmt: skip
BARE = f"""
import sys
sys.modules |= dict.fromkeys({MISSING!r})
from benchmarks.gpu_check.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_it_passes_with_torch_numpy_and_pydantic_alone(tmp_path):
    out = tmp_path / "check.json"
    checks = ["kinds", "algorithms", "precision", "sizes", "gram"]
    arguments = ["--device", "cpu", "--quick", "--minutes", "60", "--out", str(out), *checks]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", BARE, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(out.read_text())
    assert document["machine"]["device"] == "cpu" and set(document["seconds"]) == set(checks)
    assert all(found["passed"] is not False for found in document["findings"])
    assert {found["name"] for found in document["findings"] if found["check"] == "kinds"} == set(cases.KINDS)
    assert "all numbers" in done.stdout and str(ROOT) not in out.read_text()


def test_every_model_algorithm_and_modifier_has_its_case():
    documented = (ROOT / "docs/reference.md").read_text()  # a user's own are not
    models = {name for name in plugins.names("models") if f"\n### {name}\n" in documented}
    assert {kind.model["name"] for kind in cases.KINDS.values()} == models
    found = cases.cases()
    assert {case.algorithm for case in found} == set(plugins.names("algorithms")) - {"local_only"}
    assert {name for case in found for name in case.modifiers} == set(modifiers.ORDER)


def test_numbers_that_do_not_repeat_are_found(monkeypatch):
    check = Check(torch.device("cpu"), large=False, quick=True, deadline=time.monotonic() + 600, say=print)
    monkeypatch.setattr(cases, "KINDS", {})
    monkeypatch.setattr(correct, "KINDS", {"mlp, batches": cases.Kind({"name": "mlp", "hidden": [2]}, (1, 2, 2), 2, 2)})
    monkeypatch.setattr(correct, "trained", lambda made, kind, clients, rounds: [torch.rand(3) for _ in rounds])
    correct.kinds(check)
    (found,) = check.findings
    assert found["passed"] is False and found["repeats"] is found["resumes"] is False
    assert "two runs are not equal to the bit; a round after a resume is another one" in found["problem"]
    assert table(check.findings).splitlines()[-1].startswith("FAIL kinds: mlp, batches: two runs are not equal")


@pytest.mark.parametrize("broken", [False, True])
def test_the_exit_status_says_if_something_is_wrong(tmp_path, monkeypatch, capsys, broken):
    def precision(check):
        with check.finding("precision", "linear"):
            check.expect(not broken, "no float32")

    monkeypatch.setattr(correct, "precision", precision)
    out = tmp_path / "check.json"
    assert command.main(["--device", "cpu", "--out", str(out), "precision"]) == broken
    assert ("FAIL precision: linear: no float32" in capsys.readouterr().out) == broken
    assert json.loads(out.read_text())["findings"][-1]["passed"] is not broken
