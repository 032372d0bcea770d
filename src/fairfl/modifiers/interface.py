"""What a modifier may change: what clients train on, what they send, and what the server makes of it.

A file in this folder holds `class Config(Strict)`, its parameters, and one class that extends `Modifier`. Its hooks are
called in the order in which they stand there; draws come from generators on the CPU, one for each round and client, so
that they are the same on every device. Only the noise of dp is drawn on the device.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, Self, TypeVar

from torch import Generator, Tensor, nn

from fairfl.algorithms.interface import Aggregate, Federation, Received, Reports, State
from fairfl.experiments.base import Strict
from fairfl.runtime.hooks import WithHooks

Outputs = Callable[[Tensor], Tensor]  # inputs [n, ...] -> logits [n, C]


@dataclass(frozen=True)
class Samples:
    """Shape and scale of the samples. Images in [0, 1] have become (x - mean) / std."""

    shape: tuple[int, ...]  # of one
    mean: Tensor  # [1 or C, 1, 1], as std
    std: Tensor


class Objective(Protocol):
    """Function that clients minimise in place of the loss."""

    def losses(
        self, outputs: Outputs, inputs: Tensor, labels: Tensor, round: int, generator: Generator
    ) -> Tensor:
        """Loss of each sample of a batch, [n], nats; local steps descend their mean."""


class Privacy(Protocol):
    """Treatment of the gradients of a local step."""

    @property
    def per_sample(self) -> bool:
        """True if the samples of a batch are clipped one by one: `gradients` takes the place of backpropagation."""

    def gradients(
        self,
        model: nn.Module,
        loss: Callable[[Tensor, Tensor], Tensor],
        inputs: Tensor,
        labels: Tensor,
    ) -> list[Tensor]:
        """If `per_sample`: gradient of the mean loss of a batch whose samples are clipped one by one."""

    def private(self, gradients: list[Tensor], samples: int, generator: Generator) -> list[Tensor]:
        """Gradients of the mean loss of a batch of this number of samples -> what the step takes."""


@dataclass(frozen=True)
class Schedule:
    """Number of times that a run takes steps on a client's samples."""

    share: float  # m/K, clients of a round
    rounds: int  # T
    samples: list[int]  # n_k, [K]
    batches: list[int]  # samples in its batches, B_k, [K]
    steps: list[int]  # local steps in a round that it takes part in, J_k, [K]


Parameters = TypeVar("Parameters", bound=Strict)


class Modifier(WithHooks, Generic[Parameters]):
    """A modifier with its validated parameters; all that it remembers is in `state`. By default it changes nothing.

    Extend it as `class LSR(Modifier[Config])`. Class attributes are literals: the planner reads them, here and in the
    modifier's file, without importing torch.
    """

    # Losses of a setting that it can act on; None: all.
    losses: ClassVar[tuple[str, ...] | None] = None

    def __init__(self, config: Parameters) -> None:
        self.config = config

    def resolve(self, measurements: tuple[str, ...], batch_size: int | None) -> Self:
        """The modifier with all values that the algorithm's `measurements` and the setting's batch size decide.

        A batch size of None means full batches.
        """
        return self

    def objective(self, loss: str, samples: Samples, rounds: int) -> Objective | None:
        """Function that local steps minimise in place of the setting's loss."""
        return None

    def privacy(self) -> Privacy | None:
        """Treatment of the gradients of local steps."""
        return None

    def init_state(self, federation: Federation) -> State:
        """Tensors by name that it remembers from round to round, saved in checkpoints."""
        return {}

    def modify_received(self, received: Received) -> Received:
        """Measurements as the algorithm sees them before clients train."""
        return received

    def modify_reports(self, state: State, reports: Reports) -> Reports:
        """Reports of the clients as the algorithm sees them."""
        return reports

    def modify_sum(
        self, state: State, G: Tensor, aggregate: Aggregate, reports: Reports
    ) -> tuple[Tensor, State]:
        """(G of the step x <- x - G, next state), from the algorithm's G, [P] or [M, P]."""
        return G, state

    def epsilon(self, measurements: tuple[str, ...], schedule: Schedule) -> float | None:
        """epsilon of differential privacy, see fairfl.modifiers.dp; None if it makes no statement."""
        return None
