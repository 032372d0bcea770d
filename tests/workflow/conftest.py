"""The small project, run from nothing once for all processes of pytest, and copies of it for edits."""

import fcntl
import os

import pytest

from tests.workflow.small_project import Project


@pytest.fixture(scope="session")
def finished(root, tmp_path_factory) -> Project:
    """The small selection, run from nothing. Tests must leave it as it is."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "finished"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            project = Project(root, tmp_path_factory.mktemp("built") / "project")
            project.snakemake()
            project.folder.rename(shared)
    return Project.at(shared).copy(tmp_path_factory.mktemp("finished") / "project")


@pytest.fixture()
def project(finished, tmp_path) -> Project:
    """A copy of the finished project, with its results and Snakemake's records, for edits."""
    return finished.copy(tmp_path / "project")
