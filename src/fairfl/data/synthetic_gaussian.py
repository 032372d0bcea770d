"""Synthetic data of EAGLE (arXiv 2603.29818), section 4: two Gaussians per client in the plane.

Client k draws ``X | Y = 1 ~ N(m_k, s_k^2 I)`` and ``X | Y = -1 ~ N(-m_k, s_k^2 I)``; the data of
one client are then rotated around the origin, so that not all clients share a separator.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import merge, number, whole
from fairfl.runtime.errors import OptionError
from fairfl.runtime.plain import shown

CLASSES = 2
PER_SEED = True
DEFAULTS: dict[str, Any] = {
    "means": [[2.0, 2.0], [1.0, 1.0], [0.5, 0.5]],
    "samples_per_client": 100,
    "class_balance": 0.5,
    "std": 1.0,
    "rotation": {"client": 2, "degrees": 45.0},
}

_NAME = "synthetic_gaussian"


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """None: the data are drawn."""
    _checked(options)
    return ()


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs float32 [N, 2], labels 1 (positive class, Y = 1) and 0 (Y = -1), client int64 [N].

    Rows are in the order of clients, within a client the positive class first. Client k draws
    from ``Generator(PCG64(SeedSequence([seed, k])))``: its data do not depend on other clients.

    Options:
        means: positive class mean [x, y] of each client, as a list or as {client: [x, y]} with
            clients 0..K-1 (default [[2, 2], [1, 1], [0.5, 0.5]]).
        samples_per_client: default 100.
        class_balance: share of the positive class, 0..1 (default 0.5); the count is exact,
            rounded to the nearest whole number, halves to the even one.
        std: standard deviation, one number or one per client (default 1.0).
        rotation: {client, degrees}, counter-clockwise around the origin for both classes, or
            null (default client 2, 45 degrees).

    Raises:
        OptionError: an unknown option, a value that is not allowed or a negative seed.
    """
    chosen = _checked(options)
    whole(_NAME, "seed", seed, 0)
    clients, size = len(chosen["means"]), chosen["samples_per_client"]
    positives = round(size * chosen["class_balance"])
    inputs = [_draw(chosen, k, positives, seed) for k in range(clients)]
    labels = np.repeat([1, 0], [positives, size - positives])
    source = f"drawn as in EAGLE, section 4 (synthetic data), seed {seed}"
    return assemble(
        _NAME,
        CLASSES,
        source,
        np.concatenate(inputs),
        np.tile(labels, clients),
        client=np.repeat(np.arange(clients), size),
    )


def _draw(chosen: dict[str, Any], client: int, positives: int, seed: int) -> np.ndarray:
    """float32 [samples_per_client, 2] of one client, positive class first."""
    size, rotation = chosen["samples_per_client"], chosen["rotation"]
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, client])))
    sign = np.where(np.arange(size) < positives, 1.0, -1.0)[:, None]
    points = sign * np.array(chosen["means"][client])
    points += chosen["std"][client] * rng.standard_normal((size, 2))
    if rotation is not None and rotation["client"] == client:
        angle = math.radians(rotation["degrees"])
        cos, sin = math.cos(angle), math.sin(angle)
        points = points @ np.array([[cos, sin], [-sin, cos]])
    return points.astype(np.float32)


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    chosen = merge(_NAME, options, DEFAULTS)
    means = _means(chosen["means"])
    whole(_NAME, "samples_per_client", chosen["samples_per_client"], 1)
    number(_NAME, "class_balance", chosen["class_balance"], 0.0, 1.0)
    std = _stds(chosen["std"], len(means))
    rotation = _rotation(chosen["rotation"], len(means))
    return {**chosen, "means": means, "std": std, "rotation": rotation}


def _means(value: Any) -> list[list[float]]:
    if isinstance(value, dict):
        by_client = {str(client): mean for client, mean in value.items()}
        wanted = [str(k) for k in range(len(value))]
        if set(by_client) != set(wanted):
            raise OptionError(f"{_NAME}: option means has clients {sorted(by_client)}; expected {wanted}")
        value = [by_client[client] for client in wanted]
    if not isinstance(value, list | tuple) or not value:
        raise OptionError(f"{_NAME}: option means is {shown(value)}; expected [x, y] per client")
    for k, mean in enumerate(value):
        if not isinstance(mean, list | tuple) or len(mean) != 2:
            raise OptionError(f"{_NAME}: option means[{k}] is {shown(mean)}; expected [x, y]")
    return [[number(_NAME, f"means[{k}]", x, -math.inf) for x in mean] for k, mean in enumerate(value)]


def _stds(value: Any, clients: int) -> list[float]:
    values = list(value) if isinstance(value, list | tuple) else [value] * clients
    if len(values) != clients:
        raise OptionError(f"{_NAME}: option std has {len(values)} values; expected one or {clients}")
    return [number(_NAME, "std", item, 0.0) for item in values]


def _rotation(value: Any, clients: int) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) != {"client", "degrees"}:
        raise OptionError(f"{_NAME}: option rotation is {shown(value)}; expected null or {{client, degrees}}")
    client = whole(_NAME, "rotation.client", value["client"], 0)
    if client >= clients:
        raise OptionError(f"{_NAME}: option rotation.client is {client}; expected 0..{clients - 1}")
    degrees = number(_NAME, "rotation.degrees", value["degrees"], -math.inf)
    return {"client": client, "degrees": degrees}
