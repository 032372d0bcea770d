"""What a program does, as text: its syntax tree without what no result can depend on.

Left out are comments, formatting, docstrings, annotations of functions and variables, descriptions of pydantic fields
and of command lines, what is only printed, and imports for annotations. Everything else stays: default values,
decorators, constants, the annotated fields of classes, messages of errors. Of what is left out everything stays where
it is hard to prove that nothing reads it.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

# Functions of a job's module.
_PLANNING = ("spec", "spec_of_run", "plugins")
# Decorators that do not look at annotations, by the last part of their name.
_BLIND = {
    "abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "lru_cache", "no_grad", "override",
    "property", "setter", "staticmethod", "wraps",
}  # fmt: skip
# Importing from these has no effect but the names.
_TYPING = {"collections.abc", "typing", "typing_extensions"}
# Determined by the place in the tree, or without effect.
_SILENT = {"ctx", "kind", "type_comment", "type_ignores"}
# How a program gets at docstrings, annotations, descriptions and what is printed, its own or another's.
_READING = re.compile(
    r"(?:module|Import\(names\[(?:alias\([^)]*\))*alias\(name)'(?:builtins|inspect|pydoc)'"
    r"|(?:attr|\()'description'"
    r"|'(?:__doc__|getdoc|__annotations__|__annotate__|get_annotations|get_type_hints|getsource|signature|singledispatch"
    r"|singledispatchmethod|validate_call|TypeAdapter|create_model|PlainSerializer|WrapSerializer|jit|custom_op|__code__"
    r"|use_attribute_docstrings|model_json_schema|json_schema|redirect_stdout|dup2)'"
    r"|alias\(name'\*'"  # with the names that are imported for annotations
    r"|targets\[Attribute\(value'sys'attr'stdout'"
)


def normal_form(source: str, whole: bool = False, job: bool = False) -> str:
    """Different for programs with different results.

    Args:
        source: a module.
        whole: leave out only comments and formatting.
        job: the module is a job's; what only planning calls is left out (:func:`planning`).
    """
    tree = ast.parse(source)
    if job:
        left_out = planning(tree)
        tree.body = [node for node in tree.body if node not in left_out]
    if whole:
        return _Writer().text_of(tree)
    writer = _Short(tree)
    text = writer.text_of(tree)
    # A name by which something was recognised may mean something else.
    return normal_form(source, whole=True, job=job) if min(writer.bindings.values()) < 0 else text


def reads_programs(text: str) -> bool:
    """True if a program, by its normal form, may read what is left out of this form: its own, or another module's."""
    return bool(_READING.search(text))


def planning(tree: ast.Module) -> list[ast.stmt]:
    """The functions of a job's module that the planner calls and the job does not: the spec holds what they return."""
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in _PLANNING]
    rest = (node for part in tree.body if part not in found for node in ast.walk(part))
    called = {node.func.id for node in rest if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return [node for node in found if node.name not in called]


class _Writer:
    """Writes a syntax tree without its empty fields, of which each version of Python has others."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.special: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Pass: lambda node: None,
        }
        # How often these names may be bound yet: by assignments, definitions, parameters, imports.
        self.bindings: dict[str, int] = {}

    def text_of(self, tree: ast.AST) -> str:
        self._node(tree)
        return "".join(self.parts)

    def _node(self, node: ast.AST) -> None:
        parts = self.parts
        parts.append(node.__class__.__name__ + "(")
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or name in _SILENT:
                continue
            if isinstance(value, ast.AST):
                parts.append(name)
                self.special.get(value.__class__, self._node)(value)
            elif isinstance(value, list):
                self._list(name, value)
            else:
                parts.append(f"{name}{value!r}")
                if value in self.bindings and name != "attr" and not (name == "name" and getattr(node, "asname", None)):
                    self.bindings[value] -= 1
        parts.append(")")

    def _list(self, name: str, values: list[Any]) -> None:
        parts = self.parts
        parts.append(name + "[")
        before = len(parts)
        for value in values:
            if isinstance(value, ast.AST):
                self.special.get(value.__class__, self._node)(value)
            else:  # names of `global`, None for `**` in a dictionary
                parts.append(repr(value))
        if len(parts) == before:
            parts.pop()
        else:
            parts.append("]")

    def _constant(self, node: ast.Constant) -> None:
        self.parts.append(f"({node.value!r})")

    def _name(self, node: ast.Name) -> None:
        self.parts.append(repr(node.id))
        if node.id in self.bindings and not isinstance(node.ctx, ast.Load):
            self.bindings[node.id] -= 1


class _Short(_Writer):
    """Leaves out what no result can depend on."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__()
        self.special |= {
            ast.AnnAssign: self._annotated,
            ast.AsyncFunctionDef: self._function,
            ast.Call: self._call,
            ast.ClassDef: self._class,
            ast.Expr: self._expression,
            ast.FunctionDef: self._function,
            ast.If: self._branch,
            ast.ImportFrom: self._import,
            ast.Try: self._guarded,
            ast.TryStar: self._guarded,
            ast.With: self._guarded,
        }
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and not node.level]
        self.fields = {
            alias.asname or alias.name
            for node in imports
            for alias in node.names
            if (node.module, alias.name) == ("pydantic", "Field")
        }
        self.typing = [node for node in imports if node.module in _TYPING]
        self.imported: list[tuple[int, str, str]] = []  # place in `parts`, module, name that annotations may need
        self.in_class = False  # directly in its body
        self.may_be_caught = False  # an exception, in the same function
        self.bindings = dict.fromkeys(("print", "len", "TYPE_CHECKING", "*"), 0) | dict.fromkeys(self.fields, 1)
        self.bindings["argparse"] = 1  # its import

    def text_of(self, tree: ast.AST) -> str:
        """With an import for annotations only if its name occurs elsewhere."""
        words = set(re.findall(r"\w+", super().text_of(tree)))
        for place, module, name in self.imported:
            if name in words:
                self.parts[place] = f"{module}.{name} "
        return "".join(self.parts)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer, self.in_class = self.in_class, False
        if all(_last(decorator) in _BLIND for decorator in node.decorator_list):
            given = node.args
            for arg in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg):
                if arg is not None and _is_plain(arg.annotation):
                    arg.annotation = None
            node.returns = None if _is_plain(node.returns) else node.returns
        self._node(node)
        self.in_class = outer

    def _class(self, node: ast.ClassDef) -> None:
        outer, self.in_class = self.in_class, True
        self._node(node)
        self.in_class = outer

    def _annotated(self, node: ast.AnnAssign) -> None:
        """`x: int = 3` as `x = 3`, and `x: int`, which makes x a local name, without the type."""
        if self.in_class or not _is_plain(node.annotation):
            self._node(node)
        elif node.value is None:
            self._node(ast.AnnAssign(node.target, ast.Constant(None), simple=node.simple))
        else:
            self._node(ast.Assign(targets=[node.target], value=node.value))

    def _expression(self, node: ast.Expr) -> None:
        """Not a docstring; of `print(...)` what may have an effect: calls, items of mappings; not names, attributes."""
        value = node.value
        if isinstance(value, ast.Constant):
            return
        if _calls(value, "print") and all(key.arg in ("sep", "end", "flush") for key in value.keywords):
            for shown in (*value.args, *(key.value for key in value.keywords)):
                for effect in self._effects(shown):
                    self._node(ast.Expr(effect))
        else:
            self._node(node)

    def _effects(self, node: ast.expr) -> Iterator[ast.expr]:
        """The parts of what is printed whose evaluation may do more than to give a value."""
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                yield from self._effects(part)
        elif isinstance(node, ast.FormattedValue):
            yield from self._effects(node.value)
            yield from self._effects(node.format_spec) if node.format_spec else ()
        elif self.may_be_caught and not isinstance(node, ast.Constant):
            yield node  # even a name may have no value
        elif isinstance(node, ast.Attribute):
            yield from self._effects(node.value)
        elif _calls(node, "len") and len(node.args) == 1 and not node.keywords:
            yield from self._effects(node.args[0])
        elif not isinstance(node, ast.Constant | ast.Name):
            yield node

    def _call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Attribute):
            documented = called.attr == "ArgumentParser" and _is(called.value, "argparse")
        else:
            documented = isinstance(called, ast.Name) and called.id in self.fields
        if documented:
            node.keywords = [key for key in node.keywords if key.arg != "description" or not _is_text(key.value)]
        self._node(node)

    def _branch(self, node: ast.If) -> None:
        if not _is(node.test, "TYPE_CHECKING") or node.orelse:
            self._node(node)

    def _import(self, node: ast.ImportFrom) -> None:
        if node not in self.typing:
            self._node(node)
            return
        for alias in node.names:
            if alias.asname is None and alias.name != "*":
                self.imported.append((len(self.parts), str(node.module), alias.name))
                self.parts.append("")
            else:
                self._node(ast.ImportFrom(node.module, [alias], level=0))

    def _guarded(self, node: ast.Try | ast.With) -> None:
        outer, self.may_be_caught = self.may_be_caught, True
        self._node(node)
        self.may_be_caught = outer


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _calls(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _is(node.func, name)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or _is(node, "__doc__")


def _last(decorator: ast.expr) -> str:
    """`lru_cache` of `@functools.lru_cache(maxsize=1)`."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")


def _is_plain(annotation: ast.expr | None) -> bool:
    """True for an annotation that only names types: to evaluate it has no effect."""
    plain = (
        ast.Attribute, ast.BinOp, ast.BitOr, ast.Constant, ast.List, ast.Load, ast.Name, ast.Subscript, ast.Tuple,
        ast.UnaryOp, ast.USub,
    )  # fmt: skip
    return annotation is None or all(isinstance(node, plain) for node in ast.walk(annotation))
