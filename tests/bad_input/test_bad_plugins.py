"""Algorithms, modifiers and models that cannot be what was meant: refused when they are read, by file and line."""

import pytest

from fairfl.experiments import declaration, plugins
from fairfl.runtime.errors import PluginError
from fairfl.runtime.validation import SpecError
from tests.bad_input.refusals import check_lines

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


# What users of this project, of Flower, FedML, pfl-research and FLGo may type -> what they are told.
MISSPELT = {
    "configure_client": "'configure_clients'",
    "agregate": "'aggregate'",
    "on_round_end": "exchanges_per_round",
    "fit": "hooks: init_state, configure_clients, aggregate",
    "_configure_clients": "'configure_clients'",  # private, and nobody calls it
    "__call__": "hooks: ",
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_method_that_is_no_hook(read, name):
    text = f"{HEAD}\n    def {name}(self, state, received):\n        return None\n"
    refused(read, text, f"{FILE}, line 16: Mine.{name} is not a hook of Algorithm", MISSPELT[name])


def test_every_fault_has_a_line(read):
    text = f"{HEAD}\n    def init_states(self):\n        return 0\n\n    def agregate(self):\n        return 1\n"
    assert len(refused(read, text, "line 16", "line 19").splitlines()) == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("self, state, reports", "self, reports", "takes (self, reports), it is given (self, state, reports)"),
        ("self, state, reports", "self, state, reports, x", "takes (self, state, reports, x)"),
        ("measurements =", "measurment =", "attribute of Algorithm; did you mean 'measurements'"),
        ('("loss_received",)', "tuple(NAMES)", "Mine.measurements must be a literal, not tuple(NAMES)"),
        ("    def aggregate", "    if True:\n      def aggregate", "expected attributes and methods, not if True:"),
        ("    def aggregate", "    async def aggregate", "expected attributes and methods, not async def aggregate"),
        ("(Algorithm[Config]", "(Mixed, Algorithm[Config]", "extends more than Algorithm"),
        ("state\n", "state\n\n\ndef configure_clients(self, state, received):\n    pass\n", "is in no class"),
        ("Field(0.1, ge", "Field(-1, ge", "default of mu: -1: Input should be greater than or equal to 0"),
        ("class Config", "LIMIT = 1 / 0\n\n\nclass Config", "line 6: ZeroDivisionError: division by zero"),
        ("def aggregate(", "def aggregate((", "line 13: SyntaxError: Function parameters cannot be parenthesized"),
        ("(Algorithm[Config])", "", "0 classes extend Algorithm"),
        ("class Config(Strict)", "class Config", "TypeError: no class Config(Strict)"),
        ("mu: float", "mu: Unknown", "NameError"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(read, old, new, words):
    assert HEAD.count(old) == 1
    refused(read, HEAD.replace(old, new), words, begins=FILE)


def test_a_plugin_that_is_wrong_is_not_blamed_on_the_yaml(read):
    with pytest.raises(PluginError, match=f"^{FILE}, line 7"):
        (declaration.PACKAGE / "algorithms/mine.py").write_text(HEAD.replace("ge=0", "ge=0, gt=)"))
        declaration.declaration.cache_clear()
        declaration.parameters("algorithms", "mine", {}, "papers/mine.yaml", "settings")
    assert not issubclass(PluginError, SpecError)
