"""What hooks answer, compared with what the engine asked them for.

A wrong shape would be broadcast, or fail far from its cause. Raises PluginError with file, line and hook.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields
from math import inf
from typing import Any

import torch
from torch import Tensor

from fairfl.algorithms.interface import Aggregate, Algorithm, EvaluationModels, Plan, Reports, State
from fairfl.runtime.hooks import code_of, wrong
from fairfl.runtime.plain_data import format_place, leaves
from fairfl.runtime.validation import nearest

Hook = Callable[..., Any]
_WHOLE = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}  # by bytes
_NUMBERS = (torch.float64, torch.float32)  # of clients and models
# Of `Algorithm.measurements`: the numbers of `Reports`, and how gradients are measured.
MEASUREMENTS = {field.name for field in fields(Reports)} | {
    f"gradient_{of}" for of in ("batch", "full", "local_epoch")
}


def _of_kind(
    hook: Hook, name: str, value: Any, kind: type | tuple[type, ...], expected: str
) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise wrong(hook, f"{name} is {_said(value)}, expected {expected}")


def _said(value: Any) -> str:
    return (
        f"a {type(value).__name__}"
        if isinstance(value, Tensor) or len(repr(value)) > 60
        else repr(value)
    )


def asked(hook: Hook, *arguments: Any) -> Any:
    """The hook's answer. Raises PluginError if it changes an argument in place."""
    code = code_of(hook)
    names = *code.co_varnames[1 : code.co_argcount], *map(str, range(len(arguments)))
    given = dict(zip(names, arguments, strict=False))
    before = list(_sums(given))
    answer = hook(*arguments)
    for (at, there), (_, now) in zip(before, _sums(given), strict=True):
        if now != there:
            raise wrong(hook, f"changes {format_place(at)} in place; compute a new tensor")
    return answer


def _sums(given: Any) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """(place, bits of each tensor, of a large one their sums along each dimension)."""
    for at, value in leaves(given):
        if isinstance(value, Tensor):
            bits = value.detach().view(_WHOLE[value.element_size()])
            along = range(bits.dim()) if bits.dim() > 1 else ()
            sums = [bits.sum(dim, dtype=torch.int64) for dim in along] or [bits]
            yield at, [hash(part.cpu().numpy().tobytes()) for part in sums]


def by_rows(hook: Hook, name: str, function: Hook, *rows: Tensor) -> None:
    """Raises PluginError if a function changes what it is given, or an answer for a row hangs on more than that row."""
    given = [part.clone() for part in rows]
    whole = function(*given)
    if list(_sums(given)) != list(_sums(list(rows))):
        raise wrong(hook, f"{name}: changes what it is given in place; compute a new tensor")
    halves = zip(*(part.flip(0).tensor_split(2) for part in rows), strict=True)
    again = torch.cat([function(*half) for half in halves if len(half[0])]).flip(0)
    near = 1e-3 * float(whole.nan_to_num().abs().max())
    if not torch.allclose(whole, again, 1e-3, near, equal_nan=True):
        raise wrong(hook, f"{name}: its answer for a row hangs on other rows, or on earlier calls")


def shaped(
    hook: Hook, name: str, value: Any, shapes: dict[str, tuple[int, ...]], x: Tensor | None = None
) -> None:
    """A tensor of one of these `shapes`, by how the interface writes them, "[m]", and of the type of x; or None."""
    if value is None:
        return
    _of_kind(hook, name, value, Tensor, "a tensor")
    if tuple(value.shape) not in shapes.values():
        expected = " or ".join(f"{list(shape)} ({words})" for words, shape in shapes.items())
        raise wrong(hook, f"{name} has shape {list(value.shape)}, expected {expected}")
    types = _NUMBERS if x is None else (x.dtype,)
    if value.dtype not in types:
        raise wrong(
            hook, f"{name} is {value.dtype}, expected {' or '.join(map(str, types))}: use .to(...)"
        )


def state(hook: Hook, answer: Any) -> State:
    """State that `init_state` returns, or a hook as its second answer."""
    _of_kind(hook, "the state", answer, dict, "a dictionary of tensors by name")
    for name, value in answer.items():
        _of_kind(hook, f"the state's {name!r}", value, Tensor, "a tensor")
    return answer


def pair(hook: Hook, answer: Any, words: str) -> tuple[Any, State]:
    """(answer, next state)."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise wrong(hook, f"the answer is {_said(answer)}, expected ({words}, next state)")
    return answer[0], state(hook, answer[1])


def selected(hook: Hook, answer: Any, clients: int) -> list[int]:
    """Ids of some of all `clients`, ascending; perhaps of none."""
    _of_kind(hook, "the answer", answer, Tensor, "a tensor of ids")
    if answer.dtype != torch.int64:
        raise wrong(hook, f"the answer is {answer.dtype}, expected ids, {torch.int64}")
    ids: list[int] = answer.flatten().sort().values.tolist()
    if len(set(ids)) < len(ids) or not set(ids) <= set(range(clients)):
        raise wrong(
            hook, f"the answer is {ids}, expected some of the clients 0 to {clients - 1}, each once"
        )
    return ids


def plan(hook: Hook, answer: Any, clients: int, x: Tensor, parameters: int) -> Plan:
    """How `clients` train, from the server's model or models x."""
    _of_kind(hook, "the answer", answer, Plan, "a Plan")
    m, S = clients, x.shape[-1]
    shaped(hook, "lr_scale", answer.lr_scale, {"[m]": (m,)})
    if answer.lr_scale is not None and not bool(torch.isfinite(answer.lr_scale).all()):
        raise wrong(hook, f"lr_scale is not finite: {answer.lr_scale.tolist()}")
    models = answer.start.shape[:-2] if isinstance(answer.start, Tensor) else x.shape[:-1]
    own = {
        "[m, P]": (m, parameters),
        **({"[models, m, P]": (*models, m, parameters)} if models else {}),
    }
    shaped(hook, "direction", answer.direction, {"[P]": (parameters,), **own}, x)
    shaped(
        hook,
        "start",
        answer.start,
        {"[m, P + B]": (m, S), "[models, m, P + B]": (*models[:1], m, S)},
        x,
    )
    if isinstance(answer.prox, Tensor):
        shaped(hook, "prox", answer.prox, {"[models]": tuple(models), "one number": ()})
    else:
        _of_kind(hook, "prox", answer.prox, (int, float), "a number or a tensor")
    for name in ("mix", "momentum", "frozen", "epochs"):
        value, share = getattr(answer, name), name in ("mix", "momentum")
        if value is not None or name in ("momentum", "frozen"):
            words, kind = ("a number", (int, float)) if share else ("a whole number", (int,))
            _of_kind(hook, name, value, kind, words)
            if not 0 <= value <= (1 if share else inf):
                expected = "0 to 1" if share else "0 or more"
                raise wrong(hook, f"{name} is {value}, expected {expected}")
    for name in ("slope", "force"):
        if getattr(answer, name) is not None and not callable(getattr(answer, name)):
            raise wrong(hook, f"{name} is {_said(getattr(answer, name))}, expected a function")
    return answer


def aggregate(
    hook: Hook, answer: Any, x: Tensor, parameters: int, reports: Reports
) -> tuple[Aggregate, State]:
    """The server's step from the server's model or models x, and its next state."""
    step, following = pair(hook, answer, "Aggregate")
    _of_kind(hook, "the answer's first part", step, Aggregate, "an Aggregate")
    m, several = len(reports.clients), x.dim() == 2
    if several:
        shaped(hook, "weights", step.weights, {"[M, m]": (len(x), m)})
    else:
        words = "[m]" if reports.delta.dim() == 2 else "[models, m]"
        shaped(hook, "weights", step.weights, {words: tuple(reports.delta.shape[:-1])})
    shaped(
        hook,
        "extra",
        step.extra,
        {"[P]": (parameters,), **({"[M, P]": (len(x), parameters)} if several else {})},
        x,
    )
    shaped(hook, "model", step.model, {"[M, P + B]" if several else "[P + B]": tuple(x.shape)}, x)
    # What came in was finite (`drop_diverged`), unless models were only measured.
    if (
        step.weights is not None
        and not bool(torch.isfinite(step.weights).all())
        and bool(reports.delta.any())
    ):
        raise wrong(hook, f"weights are not finite: {step.weights.tolist()}")
    return step, following


def evaluation_models(hook: Hook, answer: Any, x: Tensor, clients: int) -> EvaluationModels:
    """The models that all `clients` are evaluated with."""
    _of_kind(hook, "the answer", answer, EvaluationModels, "EvaluationModels")
    _of_kind(hook, "models", answer.models, Tensor, "a tensor")
    S, count = x.shape[-1], len(answer.models)
    if answer.mixture is None:
        shaped(hook, "models", answer.models, {"[1, P + B]": (1, S), "[K, P + B]": (clients, S)}, x)
    else:
        shaped(hook, "models", answer.models, {"[R, P + B]": (count, S)}, x)
        shaped(hook, "mixture", answer.mixture, {"[K, R]": (clients, count)})
    return answer


def measurements(algorithm: Algorithm) -> tuple[str, ...]:
    """Measurements of the class that are needed."""
    for name in algorithm.measurements:
        if name not in MEASUREMENTS:
            hint = nearest(name, sorted(MEASUREMENTS))
            raise wrong(
                algorithm.aggregate,
                f"`measurements` of its class: nothing is called {name!r}{hint}",
            )
    answer = algorithm.required_measurements()
    _of_kind(algorithm.required_measurements, "the answer", answer, tuple, "a tuple")
    for name in answer:
        if name not in algorithm.measurements:
            raise wrong(
                algorithm.required_measurements,
                f"{name!r} is not among the `measurements` of its class",
            )
    return answer


def architecture(hook: Hook, answer: Any) -> dict[str, Any]:
    """The model to build."""
    _of_kind(hook, "the answer", answer, dict, "{name: ..., **parameters}")
    return answer


def traffic(hook: Hook, answer: Any) -> tuple[int, int] | None:
    """Numbers that a client receives and sends."""
    if answer is not None and not (isinstance(answer, tuple) and len(answer) == 2):
        raise wrong(hook, f"the answer is {_said(answer)}, expected None or (down, up)")
    return answer


def count(hook: Hook, answer: Any) -> int:
    """A number, 1 or more."""
    _of_kind(hook, "the answer", answer, int, "a whole number")
    if answer < 1:
        raise wrong(hook, f"the answer is {answer}, expected 1 or more")
    return answer
