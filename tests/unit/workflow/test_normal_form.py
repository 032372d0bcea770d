"""What of a program counts for the hash of a module, and what does not; edits by hand and edits by chance."""

import ast

import pytest

from fairfl.workflow.normal_form import normal_form

SOURCE = '''
"""Docstring."""
import math
from functools import cache
from pydantic import BaseModel, Field, validate_call
from dataclasses import dataclass

LIMIT = 3  # a comment
RATE: float = 0.1
__all__ = ["f"]


class Config(BaseModel):
    """Of the method."""
    rate: float = Field(0.1, ge=0, description="step size")


@dataclass
class Pair:
    left: int = 1


@cache
def f(x: int, *rest: int, y: "int" = 1, **more: int) -> int:
    """Another."""
    total: int = x + LIMIT
    print(f"total {total}", flush=True)
    return total - y


@validate_call
def g(x: int) -> float:
    return math.sqrt(x)
'''
FORM = normal_form(SOURCE)


def edited(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, old
    return normal_form(SOURCE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Docstring."""', '"""Changed."""'),
        ('    """Of the method."""\n', ""),
        ('    """Another."""\n', ""),
        ("  # a comment", ""),
        ("x + LIMIT", "(x\n        + LIMIT)"),
        ("f(x: int,", "f(x,"),
        ("*rest: int", "*rest"),
        ('y: "int" = 1', "y: list[int] | None = 1"),
        ("**more: int", "**more"),
        (") -> int:", ') -> "Any":'),
    ],
)
def test_what_does_not_count(old, new):
    assert edited(old, new) == FORM


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("RATE: float = 0.1", "RATE: float = 0.2"),
        ('__all__ = ["f"]', '__all__ = ["g"]'),
        ("import math", "import cmath as math"),
        ('y: "int" = 1', 'y: "int" = 2'),
        ("f(x: int, *", "f(x: int, z, *"),
        ("@cache", "@cache\n@math.floor"),
        ("@cache\n", ""),
        ("x + LIMIT", "x - LIMIT"),
        ("Field(0.1,", "Field(0.2,"),
        ("ge=0", "gt=0"),
        ("rate: float = Field", "rate: int = Field"),
        ('description="step size"', 'description="rate"'),
        ("left: int = 1", "left: float = 1"),
        ("left: int = 1", 'left: "ClassVar[int]" = 1'),
        ("class Config(BaseModel)", "class Config(NamedTuple)"),
        ("g(x: int)", "g(x: float)"),  # validate_call converts
        ('print(f"total {total}", flush=True)', 'print(f"total {(total := 4)}", flush=True)'),
    ],
)
def test_what_counts(old, new):
    assert edited(old, new) != FORM


def test_what_only_planning_calls():
    source = "def spec(workload):\n    return {'a': 1}\n\ndef main():\n    spec = read()\n    return spec['a']\n"
    assert normal_form(source, job=True) == normal_form(source.replace("1}", "2}"), job=True)
    assert normal_form(source) != normal_form(source.replace("1}", "2}"))
    called = source.replace("spec = read()", "data = spec(3)")
    assert normal_form(called, job=True) != normal_form(called.replace("1}", "2}"), job=True)


def test_another_version_of_python_says_the_same(monkeypatch):
    fields = ast.FunctionDef._fields
    newer = fields if "type_params" in fields else (*fields, "type_params")  # empty here; Python 3.12 has it
    monkeypatch.setattr(ast.FunctionDef, "_fields", (*newer, "what_comes_next"))
    assert normal_form(SOURCE) == FORM
