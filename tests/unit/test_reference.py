"""Generated pages are what the code says, formulas are what the functions compute, the own metric works."""

import re
from inspect import getsource
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.experiments.setting import Setting
from fairfl.metrics import accuracy, registry
from fairfl.metrics.registry import METRICS, UNITS
from tests import reference

NUMPY = {
    name: getattr(np, name) for name in ("mean", "sort", "sqrt", "degrees", "arccos", "log", "percentile", "std", "sum")
}


@pytest.mark.parametrize("name", reference.FORMULAS)
def test_a_formula_is_what_the_function_computes(name):
    a, b = np.random.default_rng(0).uniform(0.1, 1, (2, 43))
    numbers = NUMPY | {"v": a, "a": a, "b": b, "K": len(a)}
    numbers |= {"max": _largest, "floor": lambda number: int(np.floor(number))}
    told = eval(reference.FORMULAS[name], {}, numbers)
    _, of, function = METRICS[name]
    assert told == pytest.approx(function(a, b) if of == "baseline" else function(a), rel=1e-9)


def _largest(*values):
    return max(values) if len(values) > 1 else np.max(values[0])


def test_every_metric_over_clients_has_a_formula_and_every_other_is_described():
    assert {name for name, (_, of, _) in METRICS.items() if of != "curve"} == set(reference.FORMULAS)
    told = {name for name, *_ in reference.metrics()}
    kinds = ("_late", "_late_std", *registry.ROUND_SELECTORS)
    plain = {name for name in UNITS if not name.endswith(kinds) and name not in told}
    assert plain == {f"{name}_validation" for name, (_, of, _) in METRICS.items() if of == "optimum"}
    assert registry.ROUND_SELECTORS.keys() == reference.SELECTED.keys()


def on_the_page(kind: str, text: str) -> list[str]:
    """The plug-ins of a kind that have a section."""
    return [name for name in names(kind) if f"\n### {name}\n" in text]


@pytest.mark.parametrize("page", reference.PAGES)
def test_the_pages_are_up_to_date(root, page, monkeypatch):
    """Of a user's own parts nobody demands it: `.ci/run` sees that the project's are on them."""
    text = (root / "docs" / page).read_text()
    monkeypatch.setattr(reference, "names", lambda kind: on_the_page(kind, text))
    assert text == reference.PAGES[page](), "run `make reference`"


def test_the_metric_of_ones_own_works_as_it_is_printed(root, monkeypatch):
    """Its function, its line in METRICS and its test."""
    text = (root / "docs/reference.md").read_text()
    blocks = SimpleNamespace(**dict(re.findall(r"<!-- (function|entry|test) -->\n```python\n(.*?)```", text, re.S)))
    names = vars(accuracy) | {"pytest": pytest}
    exec(blocks.function, names)
    monkeypatch.setattr(registry, "METRICS", METRICS | eval(f"{{{blocks.entry}}}", names))
    exec(blocks.test, names)
    names["test_gini"]()
    values = pd.Series([0.3, 0.7])
    found = registry.evaluate({"loss": values, "accuracy": values}, 2)
    assert found["accuracy_gini"] == pytest.approx(0.2)
    for module, word in (("accuracy", "ArrayLike"), ("accuracy", "np"), ("registry", "METRICS")):
        assert word in getsource({"accuracy": accuracy, "registry": registry}[module])  # what the blocks lean on


def test_every_key_of_a_setting_and_option_of_a_plug_in_stands_on_the_page(root):
    text = (root / "docs/reference.md").read_text()
    for kind in ("data", "partition", "models"):
        for name in on_the_page(kind, text):
            section = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
            options = declaration(kind, name).Config.model_json_schema()["properties"]
            assert all(f"| `{key}` |" in section for key in options)
    assert all(f"| `{key}` |" in text for key in Setting.model_fields)
