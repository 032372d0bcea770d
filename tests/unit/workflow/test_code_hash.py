"""Code fingerprints: what counts as a change, which modules a job executes."""

import ast

from fairfl.runtime.differences import differences
from fairfl.workflow import code_hash
from fairfl.workflow.code_hash import closure, normalised

SOURCE = '''
"""Docstring."""
import math

LIMIT = 3  # a comment


def f(x: int) -> int:
    """Another."""
    return x + LIMIT
'''


def test_comments_docstrings_and_formatting_do_not_count():
    other = SOURCE.replace('"""Docstring."""', '"""Changed."""').replace("  # a comment", "")
    other = other.replace('    """Another."""\n', "").replace("x + LIMIT", "(x\n        + LIMIT)")
    assert normalised(other) == normalised(SOURCE)


def test_constants_defaults_decorators_and_strings_count():
    for old, new in [("LIMIT = 3", "LIMIT = 4"), ("x: int", "x: int = 1"), ("def f", "@math.floor\ndef f"),
                     ("return x + LIMIT", "return 'text'"), ("import math", "import cmath")]:  # fmt: skip
        assert normalised(SOURCE.replace(old, new)) != normalised(SOURCE)


def test_another_version_of_python_says_the_same(monkeypatch):
    before = normalised(SOURCE)
    fields = ast.FunctionDef._fields
    newer = fields if "type_params" in fields else (*fields, "type_params")  # empty here; Python 3.12 has it
    monkeypatch.setattr(ast.FunctionDef, "_fields", (*newer, "what_comes_next"))
    assert normalised(SOURCE) == before


def test_empty_things_differ():
    texts = ["return", "return None", "return ()", "return []", "return {}", "return ''", "return 0", "return False"]
    assert len({normalised(f"def f():\n    {text}") for text in texts}) == len(texts)


def test_a_file_that_goes_with_a_module_counts(monkeypatch, tmp_path):
    (tmp_path / "page.py").write_text("x = 1")
    monkeypatch.setattr(code_hash, "_path", lambda module: tmp_path / "page.py")
    alone = code_hash.module_hash.__wrapped__("page")
    (tmp_path / "page.html.j2").write_text("<p>")
    with_file = code_hash.module_hash.__wrapped__("page")
    (tmp_path / "page_numbers.py").write_text("another module")
    assert alone != with_file == code_hash.module_hash.__wrapped__("page")
    (tmp_path / "page.html.j2").write_text("<b>")
    assert with_file != code_hash.module_hash.__wrapped__("page")


def test_a_function_with_only_a_docstring_equals_pass():
    assert normalised('def f():\n    """Doc."""') == normalised("def f():\n    pass")


def test_closure_is_transitive_and_has_parent_packages():
    found = closure("fairfl.jobs.local_optimum")
    assert {
        "fairfl",
        "fairfl.simulation",
        "fairfl.simulation.backends.select",
        "fairfl.simulation.seeds",
        "fairfl.models",
    } <= set(found)
    assert list(found) == sorted(found)
    assert "fairfl.jobs.train" not in found


def test_modules_looked_up_by_name_are_not_seen_unless_named():
    assert "fairfl.algorithms.eagle" not in closure("fairfl.jobs.train")
    assert "fairfl.algorithms.eagle" in closure("fairfl.jobs.train", "fairfl.algorithms.eagle")


def test_every_module_of_a_closure_exists():
    assert all(code_hash._path(module).exists() for module in closure("fairfl.jobs.page"))


def test_differences_in_words():
    old = {"hyperparameters": {"lambda": 1.0}, "code": {"fairfl.a": "1", "fairfl.b": "2"}, "rounds": 5}
    new = {"hyperparameters": {"lambda": 2.0}, "code": {"fairfl.a": "9", "fairfl.c": "3"}, "rounds": 5}
    assert list(differences(old, new)) == [
        "edited fairfl.a",
        "module gone fairfl.b",
        "new module fairfl.c",
        "hyperparameters.lambda: 1.0 -> 2.0",
    ]
    assert list(differences(new, new)) == []


def test_long_lists_say_what_came_and_went():
    runs = [{"id": f"fedfv_fmnist/qffl/q={q}/seed0"} for q in range(5)]
    assert list(differences({"runs": runs[:4]}, {"runs": runs[1:]})) == [
        "runs: no longer {'id': 'fedfv_fmnist/qffl/q=0/seed0'}",
        "runs: new {'id': 'fedfv_fmnist/qffl/q=4/seed0'}",
    ]
    (order,) = differences({"runs": runs}, {"runs": runs[::-1]})
    assert order.startswith("runs: [{'id': 'fedfv_fmnist/qffl/q=0") and "characters)" in order
    assert list(differences({"columns": ["a", "b"]}, {"columns": ["a", "c"]})) == ["columns: ['a', 'b'] -> ['a', 'c']"]
