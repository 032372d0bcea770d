"""The project's configuration at full scale, with other keys; stored results say what jobs take, and restore none."""

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.planning import estimate
from tests.defaults import CONFIG, copy_config


@pytest.fixture(autouse=True)
def nothing_known():
    """Each test reads the stored results of its own folder."""
    for cached in vars(estimate).values():
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


@pytest.fixture(scope="session")
def configuration(root):
    return lambda **more: CONFIG | {"scale": "full", "recorded": "ignore"} | more


@pytest.fixture(scope="session")
def load(root, configuration):
    """A function: the workload of that."""
    return lambda **more: load_workload(root, configuration(**more))


@pytest.fixture
def folder(root, tmp_path, monkeypatch):
    """Where results go: papers, config.yaml and stored results are the project's."""
    (tmp_path / "results").mkdir()
    for name in ("papers", "results/recorded"):
        (tmp_path / name).symlink_to(root / name)
    copy_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
