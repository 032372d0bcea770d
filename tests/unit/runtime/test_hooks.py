"""Classes with hooks: names and errors."""

import pytest

from fairfl.runtime import hooks
from fairfl.runtime.errors import OptionError, PluginError


class Interface(hooks.WithHooks):
    def step(self, x: float) -> float:
        return x


class Half(Interface):
    def step(self, x):
        return _halved(x)


def _halved(x):
    if x == 7:
        raise OptionError("x: 7 is refused on purpose")
    return 2 / (2 * x - x - 1)


def test_a_hook_answers_as_it_did():
    assert Half().step(3) == 1.0 and Half.step.__name__ == "step" and Interface().step(3) == 3


def test_an_error_is_one_line_with_hook_file_and_line():
    with pytest.raises(PluginError) as error:
        Half().step(1)
    line = _halved.__code__.co_firstlineno + 3
    assert str(error.value) == f"{__file__}, line {line}: Half.step: ZeroDivisionError: division by zero"
    with pytest.raises(PluginError, match=r"Half.step: TypeError: .* missing 1 required positional argument"):
        Half().step()


def test_a_refusal_stays_as_it_is():
    with pytest.raises(OptionError, match="^x: 7 is refused on purpose$"):
        Half().step(7)


def test_a_class_with_another_public_method_is_not_made():
    with pytest.raises(
        PluginError, match=r"Typo.steps is not a hook of Interface, it would never be called; did you mean 'step'\?"
    ):

        class Typo(Interface):
            def steps(self, x):
                return x
