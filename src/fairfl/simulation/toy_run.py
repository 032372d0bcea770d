"""A toy run of an algorithm: what it remembers is in its state, and what its hooks are given stays as it is.

Memory elsewhere is lost with the process (a list of the module, an attribute, a default argument, a cache, a generator
of its own), so a resumed run would have other numbers. Three rounds of a small federation go straight through; those
after a checkpoint are played again, each in a process of its own. Every hook must answer the same to the bit.
"""

import contextlib
import hashlib
import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from multiprocessing.connection import Connection
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
from fairfl.simulation import device
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import Model, TrainingSpec

ROUNDS = 3
CLIENTS, SAMPLES, SHAPE, CLASSES = 8, 3, (1, 2, 2), 3
PASSED = ".toy_runs"  # in the project's copy: a file for each algorithm that has passed
_PLUGINS = re.compile(r"fairfl\.(algorithms|modifiers)\.(?!interface$)")
_FORK = multiprocessing.get_context("fork")


@dataclass
class Call:
    """Of a hook: where it stands, and digests by name of what it was given and of what it answered."""

    hook: str
    given: dict[str, str]
    answered: dict[str, str]


@dataclass
class Played:
    """What a process has seen: calls before the first round, of its evaluation, and of each round."""

    calls: list[list[Call]] = field(default_factory=list)
    in_place: str = ""  # an argument that was changed
    error: str = ""


def check_once(copy: Path, spec: TrainingSpec, clients: int, memberships: Tensor | None) -> None:
    """`check`, once for each algorithm of the project's copy with these words, switches and modifiers.

    Numbers among the hyper-parameters are not told apart.
    """
    chosen = {name: value for name, value in spec.hyperparameters.items() if not isinstance(value, float)}
    passed = copy / PASSED / fingerprint([spec.algorithm, chosen, sorted(spec.modifiers)])
    if passed.exists():
        return
    check(spec, clients, memberships)
    with contextlib.suppress(OSError):  # then the next job plays it again
        passed.parent.mkdir(exist_ok=True)
        passed.touch()


def check(spec: TrainingSpec, clients: int, memberships: Tensor | None) -> None:
    """Raises PluginError naming a hook that remembers outside of the state, or changes what it is given.

    `clients`, and `memberships` [K, M] if the algorithm needs them, are those of the run. An algorithm that fails on
    the toy by another error is not judged: the run itself will tell.
    """
    K = min(clients, CLIENTS)
    m = K if spec.clients_per_round >= clients else min(spec.clients_per_round, max(1, K // 2))
    small = {"clients_per_round": m, "rounds": ROUNDS, "local_epochs": 1, "batch_size": 2, "evaluate_log": None}
    model = Model(name="mlp", hidden=[4])  # type: ignore[call-arg]
    toy = spec.model_copy(update={**small, "model": model, "loss": "cross_entropy", "evaluated_parts": ["train"]})
    algorithms.load(spec.algorithm)  # each process imports it again, but not what it takes from libraries
    with tempfile.TemporaryDirectory() as folder:
        arguments = toy, K, None if memberships is None else memberships[:K], Path(folder)
        straight = _apart(*arguments, 0)
        if straight.in_place:
            raise PluginError(straight.in_place)
        for saved in range(1, 1 if straight.error else ROUNDS):
            resumed = _apart(*arguments, saved)
            if resumed.error:
                raise PluginError(f"{resumed.error} (in a resumed run only)")
            _compare([*straight.calls[0], *straight.calls[saved + 2]], [*resumed.calls[0], *resumed.calls[1]])


def _compare(straight: list[Call], resumed: list[Call]) -> None:
    """Raises PluginError naming the first hook that differs."""
    before = straight[0]
    for one, other in zip(straight, resumed, strict=False):
        if one.given != other.given:
            what = f"{before.hook}: a function of its answer"
        elif one.answered != other.answered:
            differing = [name for name, digest in one.answered.items() if other.answered.get(name) != digest]
            what = f"{one.hook}: {', '.join(differing)}"
        else:
            before = one
            continue
        raise PluginError(
            f"{what} would be another in a resumed run: it hangs on what is not in the state (a variable of the module "
            "or class, an attribute, a default argument, a cache, a generator of its own, the clock); what is "
            "remembered belongs in the state, and random numbers come from the `generator` that the hook is given"
        )


def _apart(*arguments: Any) -> Played:
    """Play in a process of its own."""
    receiving, sending = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_answer, args=(sending, *arguments))
    process.start()
    sending.close()
    try:
        played: Played = receiving.recv()
    except EOFError:
        played = Played(error="its process ended")
    process.join()
    return played


def _answer(sending: Connection, *arguments: Any) -> None:
    played = Played()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        try:
            _play(played, *arguments)
        except Exception as error:  # a plug-in is a program that somebody writes
            played.error = str(error)
    sending.send(played)


def _play(played: Played, spec: TrainingSpec, K: int, memberships: Tensor | None, folder: Path, saved: int) -> None:
    """All rounds if none is `saved`, else the one after; a checkpoint is left after each."""
    chosen = device.choose("cpu", 1)
    for name in list(filter(_PLUGINS.match, sys.modules)):
        del sys.modules[name]
    for plugin in (algorithms.load(spec.algorithm), *map(modifiers.load, spec.modifiers)):
        for name, hook in list(vars(plugin).items()):
            if isinstance(hook, FunctionType) and not name.startswith("_"):
                setattr(plugin, name, _noted(hook, played))
    played.calls.append([])
    simulation = Simulation(spec, _clients(K), torch.ones(K, dtype=torch.float64), chosen, memberships=memberships)
    if state := Checkpoint(folder / str(saved), "toy", 0).restore():
        simulation.load_state_dict(state)
    else:
        played.calls.append([])
        simulation.record_evaluation()
    for number in range(saved + 1, ROUNDS + 1) if not saved else [saved + 1]:
        played.calls.append([])
        simulation.run_round()
        simulation.record_evaluation()
        Checkpoint(folder / f"{number}", "toy", 0).save(simulation.state_dict())


def _clients(K: int) -> Clients:
    draw = torch.Generator().manual_seed(0)
    labels = torch.randint(CLASSES, (K * SAMPLES,), generator=draw)
    part = Part(torch.randn(K * SAMPLES, *SHAPE, generator=draw), labels, torch.full((K,), SAMPLES))
    return Clients({"train": part, "validation": part, "test": part}, CLASSES, SHAPE)


def _noted(hook: Callable[..., Any], played: Played) -> Callable[..., Any]:
    """The hook; its calls are noted, and those of a force that it answers."""
    function = getattr(hook, "func", hook)  # of a partial
    names = code_of(function).co_varnames

    def digests(arguments: tuple[Any, ...]) -> dict[str, str]:
        return {k: v for name, value in zip(names, arguments, strict=False) for k, v in _digests(value, name)}

    @wraps(hook)
    def called(*arguments: Any, **options: Any) -> Any:
        given = digests(arguments)
        answer = hook(*arguments, **options)
        changed = [name for name, digest in digests(arguments).items() if given.get(name) != digest]
        if changed and not played.in_place:
            what = f"changes {', '.join(changed)} in place, which others go on with; compute a new tensor"
            played.in_place = str(wrong(function, what))
        played.calls[-1].append(Call(str(wrong(function, "")).rstrip(": "), given, dict(_digests(answer, ""))))
        force = getattr(answer, "force", None)
        return replace(answer, force=_noted(force, played)) if isinstance(answer, Plan) and force else answer

    return called


def _digests(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """(name, digest) of each tensor and number: state['lambda'], reports.delta."""
    if isinstance(value, Tensor):
        bits = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
        yield name or "the answer", f"{value.dtype} {list(value.shape)} {hashlib.sha256(bits).hexdigest()}"
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _digests(part, f"{name or 'state'}[{key!r}]")
    elif isinstance(value, tuple | list):
        for place, part in enumerate(value):
            yield from _digests(part, name and f"{name}[{place}]")
    elif is_dataclass(value):
        for part in fields(value):
            yield from _digests(getattr(value, part.name), f"{name}.{part.name}" if name else part.name)
    elif isinstance(value, int | float | str | None):
        yield name or "the answer", repr(value)
