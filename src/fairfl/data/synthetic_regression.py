"""Synthetic data of FOCUS, sections 4.2 and 5.2: linear regressions of which one agent is an outlier.

Agent e draws ``x ~ N(0, delta^2 I_d)`` and ``y = mu_e . x + N(0, sigma^2)``. The vectors of the normal
agents lie at the distance r from a common centre mu*, the outliers at the distance R. The
paper says ten agents, one outlier, r = 0.01 and R = 1; it bounds the distances (at most r, at least R),
here they are exact. It does not say d, delta, sigma, the sizes, or where mu* lies.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from fairfl.data.interface import Prepared, assemble
from fairfl.experiments.base import Natural, Strict, Whole

CLASSES = 0
PER_SEED = True

_NAME = "synthetic_regression"


class Config(Strict):
    """Options of the data set."""

    clients: Natural = Field(10, description="all agents E")
    outliers: Whole = Field(1, description="how many of them are outliers")
    dimensions: Natural = Field(10, description="d; the theorem asks for agents with O(d) samples")
    intra_cluster_distance: float = Field(
        0.01, ge=0, description="r = ||mu_e - mu*|| of normal agents, in a random direction"
    )
    inter_cluster_distance: float = Field(1.0, ge=0, description="R, the same of outliers")
    center_norm: float = Field(
        1.0,
        ge=0,
        description="||mu*||, in a random direction; 1: zero is as far from mu* as an outlier is",
    )
    input_std: float = Field(1.0, ge=0, description="delta")
    noise_std: float = Field(
        0.1,
        ge=0,
        description="sigma; FOCUS prints a mean loss of 0.010, which sigma^2 has to be about",
    )
    train_per_client: Natural = Field(100, description="samples of each agent")
    outlier_train: Natural | None = Field(
        None, description="samples of each outlier; null: as the others"
    )
    test_per_client: Whole = Field(
        1000,
        description="1000: the sampling error of a loss is below the FAA of 0.001 that is printed",
    )

    @model_validator(mode="after")
    def _some_normal(self) -> "Config":
        if self.outliers > self.clients:
            raise ValueError(
                f"outliers is {self.outliers}; expected at most {self.clients} (clients)"
            )
        return self


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs float32 [N, d], labels float32 [N], client int64 [N], official_test uint8 [N].

    Rows are in the order of clients, within a client the training part first; the outliers are the last
    clients. Client k draws from ``default_rng([seed, 1 + k])`` and mu* comes from ``default_rng([seed, 0])``: a
    client's data do not depend on other clients.

    Metadata: ``clusters``, 0 for a normal agent and 1 for an outlier; ``bayes_loss``, the squared error
    (without a factor 1/2) that no model falls below in expectation, sigma^2.
    """
    clients = options.clients
    samples = [_draw(options, k, seed) for k in range(clients)]
    sizes = [len(y) for _, y in samples]
    prepared = assemble(
        _NAME,
        CLASSES,
        f"drawn as in FOCUS, section 5.2 (synthetic data), seed {seed}",
        np.concatenate([x for x, _ in samples]),
        np.concatenate([y for _, y in samples]),
        client=np.repeat(np.arange(clients), sizes),
        official_test=np.concatenate(
            [np.arange(size) >= size - options.test_per_client for size in sizes]
        ),
        clusters=[int(_is_outlier(options, k)) for k in range(clients)],
    )
    return replace(prepared, metadata=prepared.metadata | {"bayes_loss": str(options.noise_std**2)})


def _draw(options: Config, client: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """x float32 [n, d] and y float32 [n] of one client."""
    rng, d = np.random.default_rng([seed, 1 + client]), options.dimensions
    outlier = _is_outlier(options, client)
    distance = options.inter_cluster_distance if outlier else options.intra_cluster_distance
    center = options.center_norm * _direction(np.random.default_rng([seed, 0]), d)
    mu = center + distance * _direction(rng, d)
    train = options.outlier_train if outlier and options.outlier_train else options.train_per_client
    size = train + options.test_per_client
    x = options.input_std * rng.standard_normal((size, d))
    y = x @ mu + options.noise_std * rng.standard_normal(size)
    return x.astype(np.float32), y.astype(np.float32)


def _is_outlier(options: Config, client: int) -> bool:
    return client >= options.clients - options.outliers


def _direction(rng: np.random.Generator, d: int) -> np.ndarray:
    """A vector of length 1, [d], uniform on the sphere."""
    vector = rng.standard_normal(d)
    return vector / np.linalg.norm(vector)
