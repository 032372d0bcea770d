"""The header of an algorithm's file says where the papers' tables run it with other values than its defaults."""

import importlib
import re

import pytest

from fairfl.experiments.workload import load_workload

PAPERS = ("eagle", "fedeba", "focus", "fedfv", "vred")


@pytest.fixture(scope="module")
def differing(root):
    """Algorithm -> paper's title -> 'key = value' of each default that a paper's YAML replaces."""
    found: dict[str, dict[str, set[str]]] = {}
    for paper in load_workload(root, {"scale": "full", "papers": list(PAPERS)}).papers.values():
        for name, described in paper.algorithms.items():
            fields = importlib.import_module(f"fairfl.algorithms.{name}").Config.model_fields.values()
            usual = {field.alias or key: field.default for key, field in zip(_keys(name), fields, strict=True)}
            changed = {
                f"{key} = {str(value).lower() if isinstance(value, bool) else value}"
                for key, value in described.defaults.items()
                if key in usual and usual[key] != value and not _is_required(name, key)
            }
            if changed:
                found.setdefault(name, {})[paper.called] = changed
    return found


def _keys(name):
    return list(importlib.import_module(f"fairfl.algorithms.{name}").Config.model_fields)


def _is_required(name, key):
    fields = importlib.import_module(f"fairfl.algorithms.{name}").Config.model_fields
    return any(field.is_required() for other, field in fields.items() if (field.alias or other) == key)


def said(name: str) -> dict[str, set[str]]:
    """What the header's 'Tables run' says: titles of papers, each with its values."""
    text = " ".join(importlib.import_module(f"fairfl.algorithms.{name}").__doc__.split())
    parts = text.partition("Tables run: ")[2].partition(". ")[0].rstrip(".").split("; ")
    pairs = (re.fullmatch(r"(\S+) with (.*)", part) for part in parts if part)
    return {match[1]: set(match[2].split(", ")) for match in pairs}


def test_headers_say_what_tables_run(root, differing):
    names = [path.stem for path in (root / "src/fairfl/algorithms").glob("*.py") if "Tables run: " in path.read_text()]
    assert len(differing) > 5
    assert {name: said(name) for name in {*names, *differing}} == differing
