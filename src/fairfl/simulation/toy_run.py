"""A toy run of an algorithm: what it remembers is in its state, and what its hooks are given stays as it is.

Memory elsewhere is lost with the process (a list of the module, an attribute, a default argument, a cache, a generator
of its own), so a resumed run would have other numbers. Three rounds of a small federation go straight through; those
after a checkpoint are played again, each in a process of its own. Every hook must answer the same to the bit.
"""

import hashlib
import io
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from fairfl import algorithms, modifiers
from fairfl.algorithms.interface import Plan
from fairfl.runtime.errors import PluginError
from fairfl.runtime.fingerprint import fingerprint
from fairfl.runtime.hooks import code_of, wrong
from fairfl.runtime.plain_data import format_place, leaves
from fairfl.simulation import device
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import Model, TrainingSpec

ROUNDS = 3
CLIENTS = 8
PASSED = ".toy_runs"  # in the project's copy: a file for each algorithm that has passed

Digests = dict[str, str]  # by name: state.lambda, reports.delta
Call = tuple[
    str, Digests, Digests
]  # of a hook: where it stands, what it was given, what it answered


class _InPlaceError(PluginError):
    """An argument was changed."""


def check_once(copy: Path, spec: TrainingSpec, clients: int, memberships: Tensor | None) -> None:
    """`check`, once for each algorithm of the project's copy with these modifiers and hyper-parameters; numbers among
    these are not told apart."""
    parts = {"": spec.hyperparameters, **spec.modifiers}
    chosen = {
        name: {key: value for key, value in options.items() if not isinstance(value, float)}
        for name, options in parts.items()
    }
    passed = copy / PASSED / fingerprint([spec.algorithm, chosen])
    if not passed.exists():
        check(spec, clients, memberships)
        passed.parent.mkdir(exist_ok=True)
        passed.touch()


def check(spec: TrainingSpec, clients: int, memberships: Tensor | None) -> None:
    """Raises PluginError naming a hook that remembers outside of the state, or changes what it is given.

    `clients`, and `memberships` [K, M] if the algorithm needs them, are those of the run. An algorithm that fails on
    the toy by another error is not checked: the run itself will tell.
    """
    K = min(clients, CLIENTS)
    m = K if spec.clients_per_round == clients else -(-K // 2)
    small = {"clients_per_round": m, "local_epochs": 1, "batch_size": 2}
    model = Model(name="mlp", hidden=[4])  # type: ignore[call-arg]
    toy = spec.model_copy(
        update={**small, "model": model, "loss": "cross_entropy", "evaluated_parts": ["train"]}
    )
    algorithms.load(
        spec.algorithm
    )  # each process imports it again, but not what it takes from libraries
    with tempfile.TemporaryDirectory() as folder:
        arguments = toy, K, None if memberships is None else memberships[:K], Path(folder)
        try:
            first, _, *rounds = _apart(*arguments, 0)
        except _InPlaceError:
            raise
        except Exception:  # a plug-in is a program that somebody writes
            return
        for saved in range(1, ROUNDS):
            try:
                resumed = _apart(*arguments, saved)
            except Exception as error:
                raise PluginError(f"{error} (in a resumed run only)") from None
            _compare(first + rounds[saved], sum(resumed, []))


def _compare(straight: list[Call], resumed: list[Call]) -> None:
    """Raises PluginError naming the first hook that differs."""
    before = ""
    for (hook, given, answered), (_, given_there, there) in zip(straight, resumed, strict=False):
        if given != given_there:
            what = f"{before}: a function of its answer"
        elif answered != there:
            what = f"{hook}: {', '.join(name for name in answered if there.get(name) != answered[name])}"
        else:
            before = hook
            continue
        raise PluginError(
            f"{what} would be another in a resumed run: it hangs on what is not in the state (a variable of the module "
            "or class, an attribute, a default argument, a cache, a generator of its own, the clock); what is "
            "remembered belongs in the state, and random numbers come from the `generator` that the hook is given"
        )


def _apart(*arguments: Any) -> list[list[Call]]:
    """Play in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as process:
        return process.submit(_play, *arguments).result()


def _play(
    spec: TrainingSpec, K: int, memberships: Tensor | None, folder: Path, saved: int
) -> list[list[Call]]:
    """Calls before the first round, of its evaluation and of all rounds if none is `saved`, else of the one after."""
    sys.stdout = io.StringIO()  # what the plug-in prints is said by the run itself
    chosen, calls = device.choose("cpu", 1), [[]]  # type: ignore[var-annotated]
    for name in list(sys.modules):
        if name.startswith(("fairfl.algorithms.", "fairfl.modifiers.")) and not name.endswith(
            ".interface"
        ):
            del sys.modules[name]
    for plugin in (algorithms.load(spec.algorithm), *map(modifiers.load, spec.modifiers)):
        for name, hook in vars(plugin).copy().items():
            if isinstance(hook, FunctionType) and name[0] != "_":
                setattr(plugin, name, _noted(hook, calls))
    simulation = Simulation(
        spec, _clients(K), torch.ones(K, dtype=torch.float64), chosen, memberships=memberships
    )
    if state := Checkpoint(folder / str(saved), "toy", 0).restore():
        simulation.load_state_dict(state)
    else:
        calls.append([])
        simulation.record_evaluation()
    for number in range(saved + 1, saved + 2 if saved else ROUNDS + 1):
        calls.append([])
        simulation.run_round()
        simulation.record_evaluation()
        Checkpoint(folder / str(number), "toy", 0).save(simulation.state_dict())
    return calls


def _clients(K: int) -> Clients:
    """Three samples each, of three classes."""
    inputs = torch.randn(3 * K, 1, 2, 2, generator=torch.Generator().manual_seed(0))
    part = Part(inputs, torch.arange(3 * K) * 5 // 4 % 3, torch.full((K,), 3))
    return Clients(dict.fromkeys(("train", "validation", "test"), part), 3, (1, 2, 2))


def _noted(hook: Callable[..., Any], calls: list[list[Call]]) -> Callable[..., Any]:
    """The hook; its calls are noted, and those of a force that it answers."""
    function = getattr(hook, "func", hook)  # of a partial
    names = code_of(function).co_varnames

    def digests(arguments: tuple[Any, ...]) -> Digests:
        return {
            k: v
            for name, value in zip(names, arguments, strict=False)
            for k, v in _digests(value, name)
        }

    @wraps(hook)
    def called(*arguments: Any, **options: Any) -> Any:
        given = digests(arguments)
        answer = hook(*arguments, **options)
        if changed := [
            name for name, digest in digests(arguments).items() if given.get(name) != digest
        ]:
            what = f"changes {', '.join(changed)} in place, which others go on with; compute a new tensor"
            raise _InPlaceError(str(wrong(function, what)))
        calls[-1].append(
            (str(wrong(function, "")).rstrip(": "), given, dict(_digests(answer, "the answer")))
        )
        force = getattr(answer, "force", None)
        return (
            replace(answer, force=_noted(force, calls))
            if isinstance(answer, Plan) and force
            else answer
        )

    return called


def _digests(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """(name, digest) of each tensor and number: state.lambda, reports.delta."""
    for at, part in leaves(value, (name,)):
        if isinstance(part, Tensor):
            bits = part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
            yield (
                format_place(at),
                f"{part.dtype} {list(part.shape)} {hashlib.sha256(bits).hexdigest()}",
            )
        elif isinstance(part, int | float | str | None):
            yield format_place(at), repr(part)
