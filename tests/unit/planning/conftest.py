"""The project's configuration at full scale, with other keys; stored results say what jobs take, and restore none."""

import pytest
import yaml

from fairfl.experiments.workload import load_workload
from fairfl.planning import estimate


@pytest.fixture(autouse=True)
def nothing_known():
    """Each test reads the stored results of its own folder."""
    for cached in vars(estimate).values():
        if hasattr(cached, "cache_clear"):
            cached.cache_clear()


@pytest.fixture(scope="session")
def configuration(root):
    usual = yaml.safe_load((root / "config.yaml").read_text()) | {"scale": "full", "recorded": "ignore"}
    return lambda **more: usual | more


@pytest.fixture(scope="session")
def load(root, configuration):
    """A function: the workload of that."""
    return lambda **more: load_workload(root, configuration(**more))


@pytest.fixture
def folder(root, tmp_path, monkeypatch):
    """Where results go: papers, config.yaml and stored results are the project's."""
    (tmp_path / "results").mkdir()
    for name in ("papers", "config.yaml", "results/recorded"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
