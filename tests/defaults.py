"""What this project gives, whatever a user has written into config.yaml and laid beside its own parts.

tests/config.yaml is config.yaml as it is committed: `.ci/run` compares them.
"""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from fairfl.experiments.config import TEMPLATE, Config, with_papers
from fairfl.experiments.strict import yaml_files

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests/config.yaml"
CONFIG: dict[str, Any] = yaml.safe_load(FILE.read_text())
PAPERS = [name for name in CONFIG["papers"] if name != "*"]  # those that are reproduced


def usual_config(root: Path, without: Collection[str] = ()) -> Config:
    """What config.yaml asks for as it is committed: in the place of fairfl.experiments.workload.usual_config."""
    return with_papers(Config(**CONFIG), yaml_files(root / "papers"), without)


def copy_config(to: Path) -> None:
    """config.yaml as it is committed."""
    shutil.copyfile(FILE, to / "config.yaml")


def without(folder: Path, *names: str) -> None:
    """Delete a user's own parts of these names in a copy of the project, in which a test makes its own."""
    for name in names:
        for path in [*folder.rglob(f"{name}.*"), *folder.rglob(f"test_{name}*")]:
            path.unlink()


def copy_papers(to: Path) -> None:
    """papers/ without a user's own."""
    own = [path.name for path in (ROOT / "papers").glob("*.yaml") if path.stem not in (*PAPERS, TEMPLATE)]
    shutil.copytree(ROOT / "papers", to / "papers", ignore=lambda *_: own)
