"""What is committed about the record is what the record gives: built from nothing but a clone."""

import re
import shlex
import shutil

import pytest

from fairfl.experiments.config import Config, with_papers
from fairfl.experiments.workload import load_workload
from fairfl.reporting.page.page import render
from fairfl.workflow.terminal.summary import checked_lines
from tests.workflow.graphs import printed_plan
from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("reproduction")]
COMMITTED = tuple(f"results/recorded/{name}.csv" for name in ("comparison", "claims", "differences"))


@pytest.fixture(scope="module")
def clone(root, tmp_path_factory) -> Project:
    """What the record gives, but for tables, figures and the page."""
    folder = tmp_path_factory.mktemp("reproduction")
    derived = ("comparison.csv", "claims.csv", "own")
    project = Project(root, folder, selection=("scale=full", "recorded=only"))
    shutil.copytree(root / "results/recorded", folder / "results/recorded", ignore=shutil.ignore_patterns(*derived))
    shutil.copy(root / "README.md", folder)
    for folder_of in ("docs", "benchmarks/measured", "benchmarks/results"):
        shutil.copytree(root / folder_of, folder / folder_of, dirs_exist_ok=True)
    shutil.copy(root / "benchmarks/README.md", folder / "benchmarks")
    said = project.snakemake("reproduction", "results/full/ranking.csv").stdout
    assert "rule train" not in said and "rule fetch" not in said
    return project


@pytest.mark.long
def test_the_committed_texts_are_what_the_record_gives(root, clone):
    found = [root / "README.md", root / "benchmarks/README.md", *root.glob("docs/**/*.md")]
    pages = [str(path.relative_to(root)) for path in found]
    for name in (*COMMITTED, *pages):
        assert (clone.folder / name).read_text() == (root / name).read_text(), f"{name} is stale: `make report`"


@pytest.mark.long
def test_the_same_numbers_are_counted_in_five_places(clone, capsys):
    """README, docs/papers/, the last words of a run, the plan and the page: how many can be compared and are
    checked."""
    folder = clone.folder
    papers = sorted(path.stem for path in (folder / "papers").glob("*.yaml"))
    config = with_papers(Config(scale="full", recorded="only"), papers)
    workload = load_workload(folder, config.model_dump(mode="json"))
    results = folder / "results/full"
    page = re.sub(r"<[^>]*>", "", render(workload, folder, results, results / "index.html"))
    words = r"(?P<b>[\d,]+) of (?P<a>[\d,]+) published numbers have been run"
    counts = {"README": re.search(words, (folder / "README.md").read_text())}
    counts["log"] = re.search(
        r"checked: (?P<b>[\d,]+) of (?P<a>[\d,]+) published numbers", next(checked_lines(results, workload.papers))
    )
    counts["page"] = re.search(r"(?P<b>[\d,]+) of (?P<a>[\d,]+) published numbers checked", page)
    plan = printed_plan(folder, capsys, scale="full", recorded="only")
    counts["plan"] = re.search(r"of ([\d,]+) published numbers ([\d,]+) are checked", plan)
    found = {}
    for name, match in counts.items():
        assert match, name
        found[name] = tuple(int(match[key].replace(",", "")) for key in (("a", "b") if match.groupdict() else (1, 2)))
    pages = [re.search(words, page.read_text()) for page in (folder / "docs/papers").glob("*.md")]
    found["papers"] = tuple(sum(int(page[key].replace(",", "")) for page in pages) for key in ("a", "b"))
    assert len(set(found.values())) == 1 and min(found["README"]) > 100, found


def test_the_first_example_of_getting_started_works_as_printed(root, tmp_path):
    """In a clone, without data: the file that is shown is what the command leaves."""
    text = (root / "docs/getting-started.md").read_text().partition("## One table at full scale")[2]
    *_, command, shown = re.search(r"```\n(.*?)\n```", text, re.S)[1].splitlines()
    options = shlex.split(command.removeprefix("fairfl run --config "))
    project = Project(root, tmp_path, selection=())
    shutil.copytree(root / "results/recorded", tmp_path / "results/recorded")
    said = project.snakemake(config=tuple(options)).stdout
    assert "rule train" not in said and "rule fetch" not in said
    assert "FedFV" in (tmp_path / shown.removeprefix("cat ")).read_text()
