"""Shared fixtures: small settings and clients made in memory."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Folder with real data sets (<data set>/<file>); tests that need it skip where it is absent."""
    path = Path(os.environ.get("FAIRFL_MIRROR", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no mirror of real data at {path} (set FAIRFL_MIRROR)")
    return path
