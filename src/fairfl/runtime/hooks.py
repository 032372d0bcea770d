"""Classes whose methods are hooks: what is not a hook is refused, what goes wrong in one is a line that names it.

A method that only looks like a hook would never be called, and the numbers would be the hook's default's.
"""

import difflib
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import cache, wraps
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from fairfl.runtime.errors import FairflError, PluginError
from fairfl.runtime.plain_data import one_line
from fairfl.runtime.validation import problems

PACKAGE = Path(__file__).absolute().parents[1]


class WithHooks:
    """Base of an interface: the public methods of a class right below are hooks, methods of those below it may only be
    these. Raises PluginError where a class is made that has another one."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        interface = next(base for base in reversed(cls.__mro__) if WithHooks in base.__bases__)
        for name, value in list(vars(cls).items()) if cls is not interface else ():
            function = getattr(value, "__func__", getattr(value, "fget", value))
            if not isinstance(function, FunctionType):
                continue
            if name in vars(interface):
                if value is function:
                    setattr(cls, name, _guarded(function))
            elif not name.startswith("_"):
                what = no_hook(cls.__name__, name, interface.__name__, vars(interface))
                raise PluginError(f"{place(function.__code__)}: {what}")


def no_hook(owner: str, name: str, interface: str, names: Iterable[str]) -> str:
    """Say why a method is refused. `names`: hooks of the interface."""
    hooks = [hook for hook in names if not hook.startswith("_")]
    meant = difflib.get_close_matches(name.lower(), hooks, n=1, cutoff=0.68)
    hint = f"did you mean {meant[0]!r}?" if meant else f"hooks: {', '.join(hooks)}"
    what = f"{owner}.{name} is not a hook of {interface}, it would never be called"
    return f"{what}; {hint} (helpers begin with an underscore)"


def place(code: CodeType, line: int | None = None) -> str:
    """'src/fairfl/algorithms/qffl.py, line 40'"""
    return place_of(Path(code.co_filename), line or code.co_firstlineno)


def place_of(file: Path, line: int | None = None) -> str:
    """Place in a file, as users know it: 'src/fairfl/models/cnn.py, line 3'."""
    name = file.relative_to(PACKAGE.parents[1]) if file.is_relative_to(PACKAGE) else file
    return f"{name}, line {line}" if line else str(name)


def wrong(hook: Callable[..., Any], what: str) -> PluginError:
    """The error of a hook whose answer cannot be used."""
    return PluginError(f"{place(code_of(hook))}: {code_of(hook).co_qualname}: {what}")


def code_of(hook: Callable[..., Any]) -> CodeType:
    """The code object of the method itself."""
    code: CodeType = unwrap(hook).__code__
    return code


@cache
def answer_type(hook: Callable[..., Any]) -> TypeAdapter:
    """The type that a hook of an interface declares. It is read here, where a check changes no number: of a module that
    counts in hashes of code all docstrings and annotations would count, too.
    """
    declared = get_type_hints(hook, include_extras=True)["return"]
    strict = ConfigDict(strict=True, arbitrary_types_allowed=True)
    return TypeAdapter(declared, config=None if is_dataclass(declared) else strict)


def _guarded(hook: Callable[..., Any]) -> Callable[..., Any]:
    """The hook; it ends with PluginError where it ended with another error."""
    code = hook.__code__

    @wraps(hook)
    def called(*arguments: Any, **options: Any) -> Any:
        with blaming(code):
            return hook(*arguments, **options)

    return called


@contextmanager
def blaming(code: CodeType, called: bool = True) -> Iterator[None]:
    """Errors become PluginErrors that name the innermost line of the plug-in's folder that they came from.

    `called`: the code is called here; if not, errors without such a line stay as they are.
    """
    try:
        yield
    except FairflError:
        raise
    except Exception as error:
        frames = [
            (frame, line)
            for frame, line in traceback.walk_tb(error.__traceback__)
            if _of_plugin(frame, code)
        ]
        if not frames and not called:
            raise
        where = place(frames[-1][0].f_code, frames[-1][1]) if frames else place(code)
        what = f"{type(error).__name__}: {one_line(str(error))}"
        if isinstance(error, ValidationError):
            (what, *_) = problems(error, None, error.title)
        raise PluginError(f"{where}: {code.co_qualname}: {what}") from error


def _of_plugin(frame: FrameType, code: CodeType) -> bool:
    """In the folder of the hook's file."""
    return Path(frame.f_code.co_filename).is_relative_to(Path(code.co_filename).parent)
