"""The small project, run once per session from nothing, and copies of it for edits."""

import pytest

from tests.workflow.small_project import Project


@pytest.fixture(scope="session")
def finished(root, tmp_path_factory) -> Project:
    """The small selection, run from nothing. Tests must leave it as it is."""
    project = Project(root, tmp_path_factory.mktemp("finished"))
    project.snakemake()
    return project


@pytest.fixture()
def project(finished, tmp_path) -> Project:
    """A copy of the finished project, with its results and Snakemake's records, for edits."""
    return finished.copy(tmp_path / "project")
