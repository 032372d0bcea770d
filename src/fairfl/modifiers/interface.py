"""What a modifier may change: what clients train on, what they send, and what the server makes of it.

A modifier file has `class Config(Strict)` and any of

    LOSSES                                                 losses that it can act on; without it: all
    resolve(config, needs, batch_size) -> config           what the algorithm and the setting decide of it
    init(federation, config) -> state                      a dict of tensors, saved with the run
    objective(config, loss, classes, shape, rounds)        Objective in place of the loss of local steps, or None
    privacy(config, needs)                                 Privacy: what becomes of gradients of local steps, or None
    received(received, config) -> Received                 after measuring, before clients train
    reports(state, reports, config) -> Reports             before the server aggregates
    total(state, G, aggregate, reports, config) -> (G, state)    G [P] or [M, P], before x <- x - G

`needs` are those of the algorithm (see fairfl.algorithms.interface). Draws come from generators on the CPU, one for
each round and client, so that they are the same on every device.
"""

from collections.abc import Callable
from typing import Protocol

from torch import Generator, Tensor, nn

from fairfl.algorithms.interface import Aggregate, Federation, Received, Reports, State

Outputs = Callable[[Tensor], Tensor]  # inputs [n, ...] -> logits [n, C]


class Objective(Protocol):
    """What clients minimise in place of the loss."""

    def loss(self, outputs: Outputs, inputs: Tensor, labels: Tensor, round: int, generator: Generator) -> Tensor:
        """Mean over a batch, [], nats, with its graph."""

    def losses(self, outputs: Outputs, inputs: Tensor, labels: Tensor, round: int, generator: Generator) -> Tensor:
        """Of each sample, [n], nats, for measuring."""


class Privacy(Protocol):
    """What becomes of the gradients of a local step."""

    per_sample: bool

    def gradients(
        self, model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, labels: Tensor
    ) -> list[Tensor]:
        """If `per_sample`: gradient of the mean loss of a batch whose samples are clipped one by one."""

    def private(self, gradients: list[Tensor], samples: int, generator: Generator) -> list[Tensor]:
        """Gradients of the mean loss of a batch of so many samples -> what the step takes."""


def no_state(federation: Federation, config: object) -> State:
    """The modifier keeps nothing."""
    return {}


def same_objective(config: object, loss: str, classes: int, shape: tuple[int, ...], rounds: int) -> None:
    """The setting's loss."""


def no_privacy(config: object, needs: tuple[str, ...]) -> None:
    """Gradients as they are."""


def as_received(received: Received, config: object) -> Received:
    """What was measured."""
    return received


def as_reported(state: State, reports: Reports, config: object) -> Reports:
    """What clients sent."""
    return reports


def as_summed(state: State, G: Tensor, aggregate: Aggregate, reports: Reports, config: object) -> tuple[Tensor, State]:
    """The algorithm's update."""
    return G, state
