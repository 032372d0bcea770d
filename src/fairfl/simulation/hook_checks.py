"""Hooks asked, and what they answer compared with what the engine asked for.

A wrong shape would be broadcast, or fail far from its cause. Raises PluginError with file, line and hook.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from fairfl.algorithms.interface import (
    Aggregate,
    Algorithm,
    EvaluationModels,
    Plan,
    Reports,
)
from fairfl.runtime.hooks import WithHooks, answer_type, code_of, wrong
from fairfl.runtime.plain_data import format_place, leaves
from fairfl.runtime.validation import nearest, problems

Hook = Callable[..., Any]
Shapes = Mapping[str, tuple[int, ...]]  # by how the interface writes them, "[m, P]"
_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes
_NUMBERS = (torch.float64, torch.float32)  # of clients and models
# Of `Algorithm.measurements`: the numbers of `Reports`, and how gradients are measured.
MEASUREMENTS = {field.name for field in fields(Reports)} | {
    f"gradient_{of}" for of in ("batch", "full", "local_epoch")
}


def ask(owner: WithHooks, name: str, *arguments: Any, watched: bool = False) -> Any:
    """Return what a hook answers, of the type that its interface declares.

    Raises PluginError if it is not, or if the hook is `watched` and changes an argument in place.
    """
    hook: Hook = getattr(owner, name)
    # By the interface, the first class with this hook.
    declared = next(
        vars(base)[name] for base in reversed(type(owner).__mro__) if name in vars(base)
    )
    named: dict[str, Any] = {}
    if watched:
        code = code_of(hook)
        names = *code.co_varnames[1 : code.co_argcount], *map(str, range(len(arguments)))
        named = dict(zip(names, arguments, strict=False))
    before = dict(_sum_bits(named))
    answer = hook(*arguments)
    for place, sums in _sum_bits(named):
        if sums != before[place]:
            raise wrong(hook, f"changes {place} in place; compute a new tensor")
    try:
        answer_type(declared).validate_python(answer)
    except ValidationError as error:
        raise wrong(hook, problems(error, None, "", "the answer")[0]) from None
    return answer


def _sum_bits(data: Any) -> Iterator[tuple[str, list[int]]]:
    """Yield (place, bits of each tensor, of a large one their sums along each dimension)."""
    for at, value in leaves(data):
        if isinstance(value, Tensor):
            bits = value.detach().view(_WHOLE[value.element_size()])
            along = range(bits.dim()) if bits.dim() > 1 else ()
            sums = [bits.sum(dim, dtype=torch.int64) for dim in along] or [bits]
            yield format_place(at), [hash(part.cpu().numpy().tobytes()) for part in sums]


def play(hook: Hook, plan: Plan, Y: Tensor) -> None:
    """Call a plan's functions on rows, the force on models Y [n, P] if there are any, and again in another order.

    Raises PluginError if one changes them, or if its answer for a row hangs on more than that row.
    """
    losses = torch.linspace(0.5, 2.0, 4, dtype=torch.float64, device=Y.device)
    places = torch.arange(len(Y), device=Y.device)
    for name, function, rows in (
        ("force", plan.force, [Y, places]),
        ("slope", plan.slope, [losses]),
    ):
        if function is None or not len(rows[0]):
            continue
        copies = [part.clone() for part in rows]
        whole = function(*copies)
        if list(_sum_bits(copies)) != list(_sum_bits(rows)):
            raise wrong(hook, f"{name}: changes what it is given in place; compute a new tensor")
        halves = zip(*(part.flip(0).tensor_split(2) for part in rows), strict=True)
        again = torch.cat([function(*half) for half in halves if len(half[0])]).flip(0)
        near = 1e-3 * float(whole.nan_to_num().abs().max())
        if not torch.allclose(whole, again, 1e-3, near, equal_nan=True):
            what = "its answer for a row hangs on other rows, or on earlier calls"
            raise wrong(hook, f"{name}: {what}")


def check_shape(
    hook: Hook, name: str, value: Tensor | None, shapes: Shapes, x: Tensor | None = None
) -> None:
    """Check that a tensor has one of these shapes and the type of x; None is fine."""
    if value is None:
        return
    if value.shape not in shapes.values():
        expected = " or ".join(f"{list(shape)} ({words})" for words, shape in shapes.items())
        raise wrong(hook, f"{name} has shape {list(value.shape)}, expected {expected}")
    types = _NUMBERS if x is None else (x.dtype,)
    if value.dtype not in types:
        expected = " or ".join(map(str, types))
        raise wrong(hook, f"{name} is {value.dtype}, expected {expected}: use .to(...)")


def check_finite(hook: Hook, name: str, value: Tensor | None) -> None:
    if value is not None and not bool(value.isfinite().all()):
        raise wrong(hook, f"{name} is not finite: {value.tolist()}")


def sort_selected(hook: Hook, answer: Tensor, clients: int) -> list[int]:
    """Return the ids of some of all `clients`, ascending; perhaps of none."""
    if answer.dtype != torch.int64:
        raise wrong(hook, f"the answer is {answer.dtype}, expected ids, {torch.int64}")
    ids: list[int] = answer.flatten().sort().values.tolist()
    if len(set(ids)) < len(ids) or not set(ids) <= set(range(clients)):
        some = f"some of the clients 0 to {clients - 1}, each once"
        raise wrong(hook, f"the answer is {ids}, expected {some}")
    return ids


def check_plan(hook: Hook, plan: Plan, m: int, x: Tensor, P: int) -> None:
    """Check how m clients train, from the server's model or models x."""
    S, models = x.shape[-1], x.shape[:-1] if plan.start is None else plan.start.shape[:-2]
    starts = {"[m, P + B]": (m, S), "[models, m, P + B]": (*models[:1], m, S)}
    each = {"[models, m, P]": (*models, m, P)} if models else {}
    check_shape(hook, "lr_scale", plan.lr_scale, {"[m]": (m,)})
    check_finite(hook, "lr_scale", plan.lr_scale)
    check_shape(hook, "direction", plan.direction, {"[P]": (P,), "[m, P]": (m, P), **each}, x)
    check_shape(hook, "start", plan.start, starts, x)
    if isinstance(plan.prox, Tensor):
        check_shape(hook, "prox", plan.prox, {"[models]": models, "one number": ()})


def check_aggregate(hook: Hook, step: Aggregate, x: Tensor, P: int, reports: Reports) -> None:
    """Check the server's step from its model or models x."""
    M, S, trained = x.shape[:-1], x.shape[-1], reports.delta.shape[:-1]
    weights: Shapes = {"[models, m]" if len(trained) > 1 else "[m]": trained}
    extra: Shapes = {"[P]": (P,)}
    if M:
        weights = {"[M, m]": (*M, *trained[-1:])}
        extra = {"[P]": (P,), "[M, P]": (*M, P)}
    check_shape(hook, "weights", step.weights, weights)
    check_shape(hook, "extra", step.extra, extra, x)
    check_shape(hook, "model", step.model, {"[M, P + B]" if M else "[P + B]": (*M, S)}, x)
    # What came in was finite (`drop_diverged`), unless models were only measured.
    if bool(reports.delta.any()):
        check_finite(hook, "weights", step.weights)


def check_evaluation_models(hook: Hook, answer: EvaluationModels, x: Tensor, K: int) -> None:
    """Check the models that all K clients are evaluated with."""
    S, R = x.shape[-1], len(answer.models)
    shapes: Shapes = {"[1, P + B]": (1, S), "[K, P + B]": (K, S)}
    if answer.mixture is not None:
        shapes = {"[R, P + B]": (R, S)}
    check_shape(hook, "models", answer.models, shapes, x)
    check_shape(hook, "mixture", answer.mixture, {"[K, R]": (K, R)})


def ask_measurements(algorithm: Algorithm) -> tuple[str, ...]:
    """Return the measurements of the class that are needed."""
    for name in algorithm.measurements:
        if name not in MEASUREMENTS:
            hint = nearest(name, sorted(MEASUREMENTS))
            words = f"`measurements` of its class: nothing is called {name!r}{hint}"
            raise wrong(algorithm.aggregate, words)
    answer: tuple[str, ...] = ask(algorithm, "required_measurements")
    for name in answer:
        if name not in algorithm.measurements:
            words = f"{name!r} is not among the `measurements` of its class"
            raise wrong(algorithm.required_measurements, words)
    return answer
