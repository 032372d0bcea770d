"""Edits of a module by chance: some that may change what it computes, and some that cannot."""

import ast
import random
from collections.abc import Callable, Iterator

_OTHER = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def semantic(text: str, chance: random.Random, planned: bool = False) -> str:
    """The module with another constant, operator, default, decorator, condition or statement.

    `planned`: only where the planner, which reads the declarations of plug-ins, does not notice.
    """
    tree = ast.parse(text)
    functions = list(_functions(tree)) if planned else [tree]
    edits = [edit for function in functions for node in _counting(function) for edit in _edits(node, chance)]
    # A module has many more constants than defaults or operators.
    kinds = sorted({kind for kind, _ in edits})
    if kinds:
        kind = chance.choice(kinds)
        chance.choice([edit for other, edit in edits if other == kind])()
    else:
        tree.body.append(_parsed(f"_EDIT = {chance.randrange(10**6)}"))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def statement(text: str, chance: random.Random) -> str:
    """The module with a statement more, at its end or in a function, or a decorator that does nothing."""
    tree = ast.parse(text)
    functions = list(_functions(tree))
    kind = chance.choice(["module", "function", "decorator"] if functions else ["module"])
    if kind == "decorator":
        chance.choice(functions).decorator_list.insert(0, _parsed("lambda f: f").value)
    else:
        body = chance.choice(functions).body if kind == "function" else tree.body
        at = len(body) - 1 if kind == "function" else len(body)  # the last one may return
        body.insert(at, _parsed(f"_edit = {chance.randrange(10**6)}"))
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def neutral(text: str, chance: random.Random) -> str:
    """The module with other docstrings, annotations of functions and comments."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0].value.value = f"Edit {chance.random()}."
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            _annotate(node, chance)
    return f"# edit {chance.random()}\n{ast.unparse(ast.fix_missing_locations(tree))}\n"


def reworded(text: str) -> str:
    """The module with other messages of errors and a new function that nobody calls."""
    tree = ast.parse(text)
    raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    for constant in (part for node in raised for part in ast.walk(node) if isinstance(part, ast.Constant)):
        if isinstance(constant.value, str):
            constant.value += " (edited)"
    tree.body.append(_parsed("def _edited(value: int) -> int:\n    return value + 1"))
    return ast.unparse(tree) + "\n"


def _parsed(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def _annotate(function: ast.FunctionDef, chance: random.Random) -> None:
    """Other types of parameters and result."""
    for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        arg.annotation = ast.Constant("Edited") if chance.random() < 0.5 else None
    function.returns = ast.Constant("Edited") if chance.random() < 0.5 else None


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """All but those that the planner runs: validators of plug-ins, and what makes specs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in ("spec", "plugins"):
            yield node
        if not (isinstance(node, ast.ClassDef) and node.name == "Config") and not isinstance(node, ast.FunctionDef):
            yield from _functions(node)


def _counting(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that can matter: not in annotations, nor in docstrings."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or (
                isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            ):
                continue
            yield from _counting(child)


def _edits(node: ast.AST, chance: random.Random) -> Iterator[tuple[str, Callable[[], None]]]:
    """(kind, edit) of what can be done to a node."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", lambda: setattr(node, "value", node.value + 7)
    elif isinstance(node, ast.Constant) and type(node.value) is str:
        yield "text", lambda: setattr(node, "value", node.value + "x")
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OTHER:
        yield "operator", lambda: setattr(node, "op", _OTHER[type(node.op)]())
    elif isinstance(node, ast.Compare):
        yield "comparison", lambda: node.ops.__setitem__(0, _OTHER[type(node.ops[0])]())
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield "condition", lambda: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.FunctionDef):
        yield "decorator", lambda: node.decorator_list.insert(0, _parsed("lambda f: f").value)
        yield "statement", lambda: node.body.insert(len(node.body) - 1, _parsed(f"_edit = {chance.randrange(10**6)}"))
        if node.args.defaults:
            place = chance.randrange(len(node.args.defaults))
            yield "default", lambda: node.args.defaults.__setitem__(place, ast.Constant(chance.randrange(10**6)))
