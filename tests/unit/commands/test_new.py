"""fairfl new: skeletons work as they are, their tests pass, nothing is overwritten."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairfl.commands import new
from fairfl.runtime.errors import FairflError
from tests.defaults import copy_config, copy_papers, without

KINDS = ("algorithm", "dataset", "paper")


@pytest.fixture()
def clone(root, tmp_path) -> Path:
    """What the command reads of the repository, in a folder of its own."""
    copy_papers(tmp_path)
    copy_config(tmp_path)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_what_is_written(clone, capsys):
    before = files(clone)
    for kind in KINDS:
        new.main(clone, [kind, "mine"])
    assert files(clone) - before == {
        "src/fairfl/algorithms/mine.py",
        "tests/unit/algorithms/test_mine.py",
        "src/fairfl/data/mine.py",
        "tests/unit/data/test_mine.py",
        "data/mine/mine.csv",
        "papers/mine.yaml",
        "tests/unit/experiments/test_mine_paper.py",
    }
    said = capsys.readouterr().out
    assert "wrote papers/mine.yaml" in said and "pytest tests/unit/data/test_mine.py" in said
    assert "fairfl run --config papers=mine" in said


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_overwritten(clone, kind):
    new.main(clone, [kind, "mine"])
    test = next(path for path in files(clone) if "test_mine" in path)
    (clone / test).write_text("changed")
    others = {path for path in files(clone) if "mine" in path and path != test}
    for path in others:
        (clone / path).unlink()
    with pytest.raises(FairflError, match=f"{test} is there already; choose another name"):
        new.main(clone, [kind, "mine"])
    assert (clone / test).read_text() == "changed" and not others & files(clone)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name)
     for kind, names in (
         ("algorithm", ("Mine", "my-own", "class", "shared")), ("dataset", ("my data", "formats")),
         ("paper", ("my_paper", "runs", "template")),
     )
     for name in names],
)  # fmt: skip
def test_bad_names_are_refused(clone, kind, name):
    before = files(clone)
    with pytest.raises(FairflError, match=f"cannot name an? {kind}|papers/template.yaml is there already"):
        new.main(clone, [kind, name])
    assert files(clone) == before


@pytest.mark.slow
def test_skeletons_pass_their_tests_and_the_generic_ones(root, tmp_path):
    ignore = shutil.ignore_patterns("*.pyc.*")
    copy_papers(tmp_path)
    for name in ("src", "scales", "schemas", "tests"):
        shutil.copytree(root / name, tmp_path / name, ignore=ignore)
    copy_config(tmp_path)
    without(tmp_path, "mine")
    for name in ("Snakefile", "pyproject.toml"):
        shutil.copy(root / name, tmp_path / name)
    environment = {"PYTHONPATH": str(tmp_path / "src"), "OMP_NUM_THREADS": "1"}
    for kind in KINDS:
        new.main(tmp_path, [kind, "mine"])
    tests = ["algorithms/test_mine.py", "algorithms/test_every.py", "data/test_mine.py", "data/test_interface.py"]
    tests += ["experiments/test_mine_paper.py", "experiments/test_workload.py"]
    chosen = "mine or schemas or names or has_all_its_artifacts"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-k", chosen, *(f"tests/unit/{name}" for name in tests)],
        cwd=tmp_path,
        env=environment,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
