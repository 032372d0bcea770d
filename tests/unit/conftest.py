"""Papers of the project are read once by each process of tests."""

from functools import cache

import pytest

from fairfl.experiments import reading, workload
from tests.defaults import ROOT


@pytest.fixture(scope="session", autouse=True)
def papers_read_once():
    @cache
    def read(path, text):
        return reading.load_paper(path)

    def load(path):
        return read(path, path.read_bytes()) if path.parent == ROOT / "papers" else reading.load_paper(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workload, "load_paper", load)
        yield
