"""What is committed about the record is what the record gives: built from nothing but a clone."""

import shutil

import pytest

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.xdist_group("reproduction")]
COMMITTED = ("docs/reproduction.md", "README.md", "results/recorded/comparison.csv", "results/recorded/claims.csv")


def test_the_committed_texts_are_what_the_record_gives(root, tmp_path):
    project = Project(root, tmp_path, selection=("scale=paper", "recorded=only"))
    shutil.copytree(root / "results/recorded", tmp_path / "results/recorded", ignore=shutil.ignore_patterns("*.csv"))
    shutil.copy(root / "README.md", tmp_path)
    said = project.snakemake("reproduction").stdout
    assert "rule train" not in said and "rule fetch" not in said
    for name in COMMITTED:
        assert (tmp_path / name).read_text() == (root / name).read_text(), f"{name} is stale: `make reproduction`"
