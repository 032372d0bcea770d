"""The project's configuration at full scale, with other keys."""

import pytest
import yaml

from fairfl.experiments.workload import load_workload


@pytest.fixture(scope="session")
def configuration(root):
    usual = yaml.safe_load((root / "config.yaml").read_text()) | {"scale": "full"}
    return lambda **more: usual | more


@pytest.fixture(scope="session")
def load(root, configuration):
    """A function: the workload of that."""
    return lambda **more: load_workload(root, configuration(**more))


@pytest.fixture
def folder(root, tmp_path, monkeypatch):
    """Where results go: papers/ and config.yaml are the project's."""
    for name in ("papers", "config.yaml"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path
