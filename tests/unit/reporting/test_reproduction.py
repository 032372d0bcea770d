"""docs/papers/*.md, derived sentences, results/recorded/*.csv: never stale, refused when of a part of the record."""

import json
import shutil
from pathlib import Path

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.jobs import reproduction as job
from fairfl.judgement.recorded import CLAIMS, DIFFERENCES, recorded_numbers
from fairfl.judgement.rows import ClaimLine, ComparisonLine, csv_text
from fairfl.reporting.derived import filled, vocabulary
from fairfl.reporting.reproduction import OWN, StoredResults
from fairfl.runtime.errors import FairflError

LONGEST = 90  # lines of a page


@pytest.fixture(scope="module")
def papers(root):
    return load_workload(root, {"scale": "full", "papers": ["*"]}).papers


@pytest.fixture(scope="module")
def texts(root, papers):
    return job.texts(root, papers)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"scale": "small"}, "scale: 'small': .* must be 'full'"),
        ({"recorded": "use"}, "recorded: 'use': .* must be 'only'"),
        ({"seeds": [0]}, r"seeds: \[0\]: .* must be None"),
        ({"settings": ["fedfv_fmnist"]}, "settings: "),
        ({"verdict": {"significance_level": 0.1}}, "verdict: "),
        ({"tuned": True}, "tuned: True: .* must be False"),
    ],
)
def test_a_part_of_the_record_is_refused(root, tmp_path, config, words):
    given = {"scale": "full", "recorded": "only", "papers": ["*"]} | config
    with pytest.raises(FairflError, match=f"config.yaml: {words}"):
        job.main(["--config", json.dumps(given), "--root", str(root), "--results", str(tmp_path)])


def test_what_a_removed_artifact_has_left_is_not_taken(root, tmp_path, monkeypatch):
    results, own = tmp_path / "results/full", OWN / "fairbench"
    shutil.copytree(root / own, results / "fairbench", ignore=shutil.ignore_patterns("claims.csv"))
    shutil.copy(results / "fairbench/table1.csv", results / "fairbench/gone.csv")
    for name, kind in (("comparison", ComparisonLine), ("claims", ClaimLine)):
        (results / f"{name}.csv").write_text(csv_text([], kind))
    for name in ("papers", "scales", "src"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.setattr(job, "texts", lambda *_: {DIFFERENCES: ""})
    given = json.dumps({"scale": "full", "recorded": "only", "papers": ["*"]})
    job.main(["--config", given, "--root", str(tmp_path), "--results", str(results)])
    assert {path.name for path in (tmp_path / own).iterdir()} == {path.name for path in (root / own).iterdir()}


def test_the_committed_pages_say_what_the_committed_numbers_say(root, texts):
    """That these are what the record gives: tests/workflow/test_reproduction.py."""
    assert (root / CLAIMS).is_file()
    assert {Path("README.md"), Path("docs/papers/fedeba.md"), Path("docs/getting-started.md")} <= texts.keys()
    for path, text in texts.items():
        assert (root / path).read_text(encoding="utf-8") == text, f"{path} is stale: `make report`"
    assert all(len(text.splitlines()) <= LONGEST for path, text in texts.items() if path.parent == job.PAGES)


def test_tables_as_text_have_every_published_number_once_for_each_place(root, papers, texts):
    for name, paper in StoredResults(root, papers).papers.items():
        printed = [
            line
            for line in recorded_numbers(root)
            if line.artifact.partition("_")[0] == name and line.reported is not None
            if paper.artifacts[line.artifact.partition("_")[2]].in_paper
        ]
        lines = [line for line in texts[job.TABLES / f"{name}.md"].splitlines() if line.startswith("| ")]
        cells = [cell.split() for line in lines for cell in line.split("|") if " / " in cell]
        signs = "".join(cell[-1] for cell in cells)  # two behind each other, where a number has another in brackets
        assert len(signs) == len(printed), name
        assert signs.count("✓") == sum(line.verdict == "agrees" for line in printed)


def test_counts_of_a_papers_tables_add_up(texts):
    """A number that several tables print counts once."""
    for path, text in texts.items():
        if path.parent == job.PAGES:
            table = text.partition("## Tables and figures")[2].partition("\n## ")[0]
            rows = [line.split("|")[2:9] for line in table.splitlines() if line[:2] == "| "]
            *parts, total = ([int(cell.replace(",", "")) for cell in row] for row in rows[2:])
            assert [sum(column) for column in zip(*parts, strict=True)] == total, path


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        (
            "<!-- derived\n{{ counted('nope').checked }}\n-->\n<!-- end -->",
            "line 1: .*: no paper or artifact 'nope'",
        ),
        ("\n<!-- derived\n{{ wrong }}\n-->\n<!-- end -->", "a.md: line 2: .*'wrong' is undefined"),
        ("<!-- derived\n{{ 1 }}\n-->\n", "a.md: each '<!-- derived' needs a line '-->'"),
    ],
)
def test_a_derived_text_that_cannot_be_made_is_refused(root, papers, block, complaint):
    stored = StoredResults(root, papers)
    with pytest.raises(FairflError, match=complaint):
        filled(block, vocabulary(root, stored), "a.md")
