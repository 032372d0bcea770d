"""Algorithms, modifiers and models that cannot be what was meant: refused when they are read, by file and line."""

import pytest

from fairfl.experiments import declaration, plugins
from fairfl.runtime.errors import PluginError
from fairfl.runtime.validation import SpecError
from tests.bad_input.refusals import MISTAKES, check_lines

HEAD = """from pydantic import Field
from fairfl.algorithms.interface import Aggregate, Algorithm
from fairfl.experiments.base import Strict


class Config(Strict):
    mu: float = Field(0.1, ge=0)


class Mine(Algorithm[Config]):
    measurements = ("loss_received",)

    def aggregate(self, state, reports):
        return Aggregate(reports.shares()), state
"""
FILE = "src/fairfl/algorithms/mine.py"


@pytest.fixture
def read(tmp_path, root, monkeypatch):
    """A function: the declaration of an algorithm with this text."""
    package = tmp_path / "src" / "fairfl"
    for kind in ("algorithms", "modifiers"):
        (package / kind).mkdir(parents=True)
        (package / kind / "interface.py").write_bytes((root / f"src/fairfl/{kind}/interface.py").read_bytes())
    for module in (declaration, plugins):
        monkeypatch.setattr(module, "PACKAGE", package)
    monkeypatch.setattr(declaration, "known", lambda kind: lambda name: name)

    def read(text, kind="algorithms"):
        (package / kind / "mine.py").write_text(text)
        return declaration.declaration.__wrapped__(kind, "mine")

    return read


def refused(read, text, *words, begins=f"{FILE}, line ", **options):
    with pytest.raises(PluginError) as error:
        read(text, **options)
    check_lines(str(error.value), words, begins)
    return str(error.value)


def test_the_head_itself_is_fine(read):
    assert read(HEAD).measurements == ("loss_received",) and read(HEAD).Config().mu == 0.1


@pytest.mark.parametrize(("name", "words"), MISTAKES["method"])
def test_a_method_that_is_no_hook(read, name, words):
    text = f"{HEAD}\n    def {name}(self, state, received):\n        return None\n"
    refused(read, text, f"{FILE}, line 16: Mine.{name} is not a hook of Algorithm", words)


def test_every_fault_has_a_line(read):
    text = f"{HEAD}\n    def init_states(self):\n        return 0\n\n    def agregate(self):\n        return 1\n"
    assert len(refused(read, text, "line 16", "line 19").splitlines()) == 2


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES["plugin"])
def test_what_cannot_be_meant(read, old, new, words):
    assert HEAD.count(old) == 1
    refused(read, HEAD.replace(old, new), words, begins=FILE)


def test_a_plugin_that_is_wrong_is_not_blamed_on_the_yaml(read):
    with pytest.raises(PluginError, match=f"^{FILE}, line 7"):
        (declaration.PACKAGE / "algorithms/mine.py").write_text(HEAD.replace("ge=0", "ge=0, gt=)"))
        declaration.declaration.cache_clear()
        declaration.parameters("algorithms", "mine", {}, "papers/mine.yaml", "settings")
    assert not issubclass(PluginError, SpecError)
