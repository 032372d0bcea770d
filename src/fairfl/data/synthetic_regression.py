"""Synthetic data of FOCUS, sections 4.2 and 5.2: linear regressions of which one agent is an outlier.

Agent e draws ``x ~ N(0, delta^2 I_d)`` and ``y = mu_e . x + N(0, sigma^2)``. The vectors of the normal
agents lie at the distance r from a common centre mu*, those of the outliers at the distance R. The
paper says ten agents, one outlier, r = 0.01 and R = 1; it bounds the distances (at most r, at least R),
here they are exact. It does not say d, delta, sigma, the sizes, or where mu* lies.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.data.options import merge, number, whole
from fairfl.runtime.errors import OptionError

CLASSES = 0
PER_SEED = True
DEFAULTS: dict[str, Any] = {
    "clients": 10,
    "outliers": 1,
    "dimensions": 10,
    "intra_cluster_distance": 0.01,
    "inter_cluster_distance": 1.0,
    "center_norm": 1.0,
    "input_std": 1.0,
    "noise_std": 0.1,
    "train_per_client": 100,
    "test_per_client": 1000,
}

_NAME = "synthetic_regression"
_LEAST = {"clients": 1, "outliers": 0, "dimensions": 1, "train_per_client": 1, "test_per_client": 0}


def files(options: dict[str, Any]) -> tuple[RemoteFile, ...]:
    """None: the data are drawn."""
    _checked(options)
    return ()


def prepare(raw: Path | None, options: dict[str, Any], seed: int) -> Prepared:
    """inputs float32 [N, d], labels float32 [N], client int64 [N], official_test uint8 [N].

    Rows are in the order of clients, within a client the training part first; the outliers are the last
    clients. Client k draws from ``Generator(PCG64(SeedSequence([seed, 1 + k])))`` and mu* comes from
    ``SeedSequence([seed, 0])``: a client's data do not depend on other clients.

    Metadata: ``clusters``, 0 for a normal agent and 1 for an outlier; ``bayes_loss``, the squared error
    (without a factor 1/2) that no model falls below in expectation, sigma^2.

    Options:
        clients, outliers: all agents E, and how many of them are outliers (default 10 and 1).
        dimensions: d (default 10; the theorem asks for agents with O(d) samples).
        intra_cluster_distance: r = ||mu_e - mu*|| of normal agents, in a random direction (default 0.01).
        inter_cluster_distance: R, the same of outliers (default 1.0).
        center_norm: ||mu*||, in a random direction (default 1.0, so that zero is as far from mu* as an
            outlier is).
        input_std: delta (default 1.0).
        noise_std: sigma (default 0.1: FOCUS prints a mean loss of 0.010, which sigma^2 has to be about).
        train_per_client, test_per_client: samples of each agent (default 100, and 1000, for which the
            sampling error of a loss is below the FAA of 0.001 that is printed).

    Raises:
        OptionError: an unknown option, a value that is not allowed or a negative seed.
    """
    chosen = _checked(options)
    whole(_NAME, "seed", seed, 0)
    clients, size = chosen["clients"], chosen["train_per_client"] + chosen["test_per_client"]
    drawn = [_draw(chosen, k, seed) for k in range(clients)]
    prepared = assemble(
        _NAME,
        CLASSES,
        f"drawn as in FOCUS, section 5.2 (synthetic data), seed {seed}",
        np.concatenate([x for x, _ in drawn]),
        np.concatenate([y for _, y in drawn]),
        client=np.repeat(np.arange(clients), size),
        official_test=np.tile(np.arange(size) >= chosen["train_per_client"], clients),
        clusters=[int(_is_outlier(chosen, k)) for k in range(clients)],
    )
    return replace(prepared, metadata=prepared.metadata | {"bayes_loss": str(chosen["noise_std"] ** 2)})


def _draw(chosen: dict[str, Any], client: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """x float32 [n, d] and y float32 [n] of one client."""
    rng, d = _generator(seed, 1 + client), chosen["dimensions"]
    distance = chosen["inter_cluster_distance" if _is_outlier(chosen, client) else "intra_cluster_distance"]
    center = chosen["center_norm"] * _direction(_generator(seed, 0), d)
    mu = center + distance * _direction(rng, d)
    size = chosen["train_per_client"] + chosen["test_per_client"]
    x = chosen["input_std"] * rng.standard_normal((size, d))
    y = x @ mu + chosen["noise_std"] * rng.standard_normal(size)
    return x.astype(np.float32), y.astype(np.float32)


def _is_outlier(chosen: dict[str, Any], client: int) -> bool:
    return client >= chosen["clients"] - chosen["outliers"]


def _direction(rng: np.random.Generator, d: int) -> np.ndarray:
    """A vector of length 1, [d], uniform on the sphere."""
    vector = rng.standard_normal(d)
    return vector / np.linalg.norm(vector)


def _generator(seed: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, purpose])))


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    chosen = merge(_NAME, options, DEFAULTS)
    for name, value in chosen.items():
        chosen[name] = whole(_NAME, name, value, _LEAST[name]) if name in _LEAST else number(_NAME, name, value, 0.0)
    if chosen["outliers"] > chosen["clients"]:
        raise OptionError(
            f"{_NAME}: option outliers is {chosen['outliers']}; expected at most {chosen['clients']} (option clients)"
        )
    return chosen
