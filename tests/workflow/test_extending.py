"""docs/extending.md is executed as it is printed: an algorithm, a paper and a data set of one's own."""

import csv
import re
import shlex
import shutil

import pytest
import yaml

from tests.workflow.small_project import Project, forks
from tests.workflow.test_docs_example import laid_over

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("extending")]

STEP = re.compile(r"<!-- (run|add to: (\S+)) -->\n```\w*\n(.*?)```", re.S)


@pytest.fixture()
def clone(root, tmp_path) -> Project:
    """With what the commands read beside the workflow."""
    project = Project(root, tmp_path)
    for name in ("tests", "schemas"):
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.copy(root / "pyproject.toml", tmp_path)
    shutil.copy(root / "config.yaml", tmp_path)
    return project


def run(project: Project, line: str) -> str:
    """A command of the page, as it is run from the folder."""
    command, *rest = shlex.split(line)
    words = {"fairfl": ["fairfl", *rest], "python": rest[1:]}[command]
    done = forks()(project.folder, words, path=[project.folder / "src"], FAIRFL_DISPLAY="plain")
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
