"""The header of an algorithm's file says where the papers' tables run it with other values than its defaults."""

import importlib
import re

from fairfl.experiments.workload import load_workload


def module(name):
    return importlib.import_module(f"fairfl.algorithms.{name}")


def replaced(name, given):
    """'key = value' of each default that these values replace."""
    usual = {
        field.alias or key: field.default
        for key, field in module(name).Config.model_fields.items()
        if not field.is_required()
    }
    changed = {key: value for key, value in given.items() if key in usual and usual[key] != value}
    return {f"{key} = {str(value).lower() if isinstance(value, bool) else value}" for key, value in changed.items()}


def said(name):
    """What the header's 'Tables run' says: titles of papers, each with its values."""
    text = " ".join(module(name).__doc__.split())
    parts = text.partition("Tables run: ")[2].partition(". ")[0].rstrip(".").split("; ")
    pairs = (re.fullmatch(r"(\S+) with (.*)", part) for part in parts if part)
    return {match[1]: set(match[2].split(", ")) for match in pairs}


def test_headers_say_what_tables_run(root):
    found = {
        path.stem: {} for path in (root / "src/fairfl/algorithms").glob("*.py") if "Tables run: " in path.read_text()
    }
    for paper in load_workload(
        root, {"scale": "full", "papers": ["eagle", "fedeba", "focus", "fedfv", "vred"]}
    ).papers.values():
        for name, described in paper.algorithms.items():
            if changed := replaced(name, described.defaults):
                found.setdefault(name, {})[paper.called] = changed
    assert len(found) > 5 and {name: said(name) for name in found} == found
