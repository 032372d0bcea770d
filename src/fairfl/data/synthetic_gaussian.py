"""Synthetic data of EAGLE (arXiv 2603.29818), section 4: two Gaussians per client in the plane.

Client k draws ``X | Y = 1 ~ N(m_k, s_k^2 I)`` and ``X | Y = -1 ~ N(-m_k, s_k^2 I)``; the data of
one client are then rotated around the origin, so that not all clients share a separator.
"""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator, model_validator

from fairfl.data.interface import Prepared, assemble
from fairfl.experiments.base import Natural, Strict, Whole

CLASSES = 2
PER_SEED = True

_NAME = "synthetic_gaussian"


class Config(Strict):
    """Options of the data set."""

    class Rotation(Strict):
        """Rotation of one client's samples, counter-clockwise around the origin, both classes."""

        client: Whole
        degrees: float

    means: list[Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(
        [[2.0, 2.0], [1.0, 1.0], [0.5, 0.5]],
        min_length=1,
        description="positive class mean [x, y] of each client, as a list or as {client: [x, y]} with clients from 0; "
        "the mean of the negative class is its opposite",
    )
    samples_per_client: Natural = Field(
        100,
    )
    class_balance: float = Field(
        0.5, ge=0, le=1, description="share of the positive class; the count is exact"
    )
    std: float | list[float] = Field(
        1.0, description="standard deviation, one number or one per client"
    )
    rotation: Rotation | None = Rotation(client=2, degrees=45.0)

    @field_validator("means", mode="before")
    @classmethod
    def _by_client(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        by_client, clients = (
            {str(client): mean for client, mean in value.items()},
            [str(k) for k in range(len(value))],
        )
        if set(by_client) != set(clients):
            raise ValueError(f"has clients {sorted(by_client)}; expected {clients}")
        return [by_client[client] for client in clients]

    @model_validator(mode="after")
    def _per_client(self) -> "Config":
        clients = len(self.means)
        if len(self.stds) != clients:
            raise ValueError(f"std has {len(self.stds)} values; expected one or {clients}")
        if min(self.stds) < 0:
            raise ValueError(f"std is {self.std}; expected 0 or more")
        if self.rotation and self.rotation.client >= clients:
            raise ValueError(
                f"rotation.client is {self.rotation.client}; expected 0..{clients - 1}"
            )
        return self

    @property
    def stds(self) -> list[float]:
        """Standard deviation of each client."""
        return self.std if isinstance(self.std, list) else [self.std] * len(self.means)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs float32 [N, 2], labels 1 (positive class, Y = 1) and 0 (Y = -1), client int64 [N].

    Rows are in the order of clients, within a client the positive class first. Client k draws
    from ``default_rng([seed, k])``: its data do not depend on other clients.
    """
    clients, size = len(options.means), options.samples_per_client
    positives = round(size * options.class_balance)
    inputs = [_draw(options, k, positives, seed) for k in range(clients)]
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


def _draw(options: Config, client: int, positives: int, seed: int) -> np.ndarray:
    """float32 [samples_per_client, 2] of one client, positive class first."""
    size, rotation = options.samples_per_client, options.rotation
    rng = np.random.default_rng([seed, client])
    sign = np.where(np.arange(size) < positives, 1.0, -1.0)[:, None]
    points = sign * np.array(options.means[client])
    points += options.stds[client] * rng.standard_normal((size, 2))
    if rotation is not None and rotation.client == client:
        angle = math.radians(rotation.degrees)
        cos, sin = math.cos(angle), math.sin(angle)
        points = points @ np.array([[cos, sin], [-sin, cos]])
    return points.astype(np.float32)
