"""What of a program counts for the hash of a module, and what does not; edits by hand and edits by chance."""

import ast
import random

import pytest

from fairfl.workflow.normal_form import normal_form, reads_programs
from tests.edits import neutral, semantic

SOURCE = '''
"""Docstring."""
import argparse
import math
from functools import cache, singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple
from pydantic import BaseModel, Field, Field as F, validate_call
from dataclasses import dataclass

if TYPE_CHECKING:
    from torch import Tensor

LIMIT = 3  # a comment
RATE: float = 0.1
__all__ = ["f"]


class Config(BaseModel):
    """Of the method."""
    rate: float = Field(0.1, ge=0, description="step size")
    other: int = F(default=2, description="what it says")


@dataclass
class Pair:
    left: int = 1


@cache
def f(x: int, y: "int" = 1) -> int:
    """Another."""
    total: int = x + LIMIT
    print(f"total {total}", flush=True)
    try:
        print("trying")
    except OSError:
        total = 0
    return total - y


@validate_call
def g(x: int) -> float:
    return math.sqrt(x)


def main():
    parser = argparse.ArgumentParser(prog="job", description=__doc__)
    return parser
'''
FORM = normal_form(SOURCE)


def edited(*edits: tuple[str, str]) -> str:
    source = SOURCE
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    return normal_form(source)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Docstring."""', '"""Changed."""'),
        ('    """Another."""\n', ""),
        ("  # a comment", ""),
        ("x + LIMIT", "(x\n        + LIMIT)"),
        ("f(x: int,", "f(x,"),
        ('y: "int" = 1', "y: list[int] | None = 1"),
        ("= 1) -> int", '= 1) -> "Any"'),
        ("total: int = x", "total = x"),
        ("RATE: float =", "RATE ="),
        ('description="step size"', 'description="the step size"'),
        (', description="what it says"', ""),
        ("    from torch import Tensor", "    from torch import Tensor, nn\n    from numpy import ndarray"),
        ("Any, NamedTuple", "Callable, Literal, NamedTuple"),
        ('print(f"total {total}", flush=True)', 'print("the total is", total)'),
        ('    print(f"total {total}", flush=True)\n', ""),
        ("    return total - y", '    print(f"{math.pi:.3f} of {len(total)}", end="")\n    return total - y'),
        ('print("trying")', "pass"),
        ("description=__doc__", 'description="a job"'),
    ],
)
def test_what_does_not_count(old, new):
    assert edited((old, new)) == FORM


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("RATE: float = 0.1", "RATE: float = 0.2"),
        ("RATE: float = 0.1", "RATE: (LIMIT := 4) = 0.1"),  # is evaluated
        ("RATE: float = 0.1", "RATE: math.sqrt(-1) = 0.1"),
        ('__all__ = ["f"]', '__all__ = ["g"]'),
        ("import math", "import cmath as math"),
        ('y: "int" = 1', 'y: "int" = 2'),
        ("x: int, y", "x: int, *, y"),
        ("@cache", "@cache\n@math.floor"),
        ("@cache\n", ""),
        ("x + LIMIT", "x - LIMIT"),
        ("Field(0.1,", "Field(0.2,"),
        ("ge=0", "gt=0"),
        ("rate: float = Field", "rate: int = Field"),
        ("default=2,", "default=3,"),
        ("default=2,", "default=2, alias='o',"),
        ('description="step size"', '**{"description": "step size", "le": 1}'),
        ('description="step size"', 'description=str(LIMIT := 4)'),
        ("left: int = 1", "left: float = 1"),
        ("left: int = 1", 'left: "ClassVar[int]" = 1'),
        ("class Config(BaseModel)", "class Config(NamedTuple)"),
        ("g(x: int)", "g(x: float)"),  # validate_call converts
        ('print(f"total {total}", flush=True)', 'print(f"total {(total := 4)}", flush=True)'),
        ('print(f"total {total}", flush=True)', 'print(f"total {math.sqrt(total)}")'),
        ('print(f"total {total}", flush=True)', "print(*total)"),  # might be an iterator
        ('print(f"total {total}", flush=True)', "print(total[0])"),  # might be a defaultdict
        ('print(f"total {total}", flush=True)', 'print(total, file=open("result.csv", "w"))'),
        ('print(f"total {total}", flush=True)', 'print(total if f(3) else "")'),
        ('print("trying")', "print(missing)"),  # the error would be caught
        ("except OSError", "except ValueError"),
        ("total = 0", "total: int"),
        ('prog="job"', 'prog="another"'),
        ("if TYPE_CHECKING:", "if not TYPE_CHECKING:"),
        ("    from torch import Tensor", "    from torch import Tensor\nelse:\n    LIMIT = 5"),
        ("from typing import TYPE_CHECKING, Any", "from typing import TYPE_CHECKING, Any as print"),
    ],
)  # fmt: skip
def test_what_counts(old, new):
    assert edited((old, new)) != FORM


# Another meaning of a name by which something is recognised; each makes the edits below it count.
@pytest.mark.parametrize(
    ("meaning", "old", "new"),
    [
        ("print = math.log", 'print("trying")', "print('trying twice')"),
        ("def print(text): results.append(text)", "total {total}", "sum {total}"),
        ("from rich import print", "total {total}", "sum {total}"),
        ("from rich import *", "total {total}", "sum {total}"),
        ("def h(print): print('a')", "total {total}", "sum {total}"),
        ("Field = dict", 'description="step size"', 'description="the step size"'),
        ("def h(F): return F(description='a')", 'description="what it says"', 'description="another"'),
        ("TYPE_CHECKING = True", "    from torch import Tensor", "    from numpy import ndarray as Tensor"),
        ("argparse = math", "description=__doc__", "description='a job'"),
    ],
)
def test_a_name_with_another_meaning(meaning, old, new):
    start = ("__all__ =", f"{meaning}\n__all__ =")
    assert edited(start) != edited(start, (old, new))


@pytest.mark.parametrize("call", ["attrs.field", "click.Option", "self.Field", "option"])
def test_a_description_of_something_else_counts(call):
    one, two = (normal_form(f"from pydantic import Field\nx = {call}(0, description={word!r})") for word in "ab")
    assert one != two


@pytest.mark.parametrize(
    "use",
    [
        "f.__doc__", 'getattr(f, "__doc__")', "__doc__", "inspect.getdoc(f)", "typing.get_type_hints(f)",
        "f.__annotations__", "signature(f)", "singledispatch(f)", "f.register(g)", "torch.jit.script(f)",
        "TypeAdapter(f)", "Config.model_fields['a'].description", "Config.model_json_schema()", "redirect_stdout(file)",
        "f.__code__.co_consts", "PlainSerializer(f)",
    ],
)  # fmt: skip
def test_programs_that_read_programs(use):
    before = "from functools import singledispatch\n" if "register" in use else ""
    assert reads_programs(
        normal_form(f"{before}x = {use}" if "register" not in use else f"{before}h = singledispatch(g)")
    )


@pytest.mark.parametrize(
    "line",
    [
        "import inspect",
        "import ast, inspect",
        "from inspect import signature as s",
        "from a import *",
        "sys.stdout = file",
    ],
)
def test_programs_that_may_read_programs(line):
    assert reads_programs(normal_form(line))


@pytest.mark.parametrize("line", ["from fairfl.data.checks import inspect", "description = 1", "f(description='a')"])
def test_names_that_only_look_alike(line):
    assert not reads_programs(normal_form(line))


def test_the_whole_has_all_but_comments_and_format():
    for old, new in [("Another.", "Changed."), ("(x: int,", "(x,"), ("step size", "rate"), ("trying", "going on")]:
        assert normal_form(SOURCE, whole=True) != normal_form(SOURCE.replace(old, new), whole=True)
    assert normal_form(SOURCE, whole=True) == normal_form(SOURCE.replace("  # a comment", "\n\n"), whole=True)


def test_a_name_that_is_declared_stays_local():
    assert normal_form("def f():\n    x: int\n    return x") != normal_form("def f():\n    return x")
    assert normal_form("def f():\n    x: int\n    return x") == normal_form("def f():\n    x: str\n    return x")


def test_types_that_the_program_uses_count():
    used = "from typing import {0}\nalias = {0}"
    assert normal_form(used.format("Any")) != normal_form(used.format("Text"))
    assert normal_form("from typing import Any\nx = Any") != normal_form("from collections.abc import Any\nx = Any")
    assert normal_form("from fairfl.a import init") != normal_form("from fairfl.a import plan")  # a hook, perhaps


def test_what_only_planning_calls():
    source = "def spec(workload):\n    return {'a': 1}\n\ndef main():\n    spec = read()\n    return spec['a']\n"
    assert normal_form(source, job=True) == normal_form(source.replace("1}", "2}"), job=True)
    assert normal_form(source) != normal_form(source.replace("1}", "2}"))
    called = source.replace("spec = read()", "data = spec(3)")
    assert normal_form(called, job=True) != normal_form(called.replace("1}", "2}"), job=True)


def test_empty_things_differ():
    texts = ["return", "return None", "return ()", "return []", "return {}", "return ''", "return 0", "return False"]
    assert len({normal_form(f"def f():\n    {text}") for text in texts}) == len(texts)


def test_a_function_without_statements_equals_pass():
    forms = {normal_form(f"def f():\n    {text}") for text in ('"""Doc."""', "pass", "...", "print('a')")}
    assert len(forms) == 1


def test_another_version_of_python_says_the_same(monkeypatch):
    fields = ast.FunctionDef._fields
    newer = fields if "type_params" in fields else (*fields, "type_params")  # empty here; Python 3.12 has it
    monkeypatch.setattr(ast.FunctionDef, "_fields", (*newer, "what_comes_next"))
    assert normal_form(SOURCE) == FORM


@pytest.mark.slow
def test_edits_by_chance(root):
    """Of every module, in its own way each."""
    for number, path in enumerate(sorted((root / "src").glob("fairfl/**/*.py"))):
        text, chance = path.read_text(), random.Random(number)
        form, name = normal_form(text), path.relative_to(root)
        assert normal_form(neutral(text, chance)) == form, name
        assert normal_form(semantic(text, chance)) != form, name
