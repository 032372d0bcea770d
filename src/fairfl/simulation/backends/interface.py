"""What both backends share: the work of a round, and the batches of each client."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Force, Plan, Slope
from fairfl.simulation.clients import sent
from fairfl.simulation.seeds import generator, seed_of

if TYPE_CHECKING:  # jobs without modifiers do not depend on their code
    from fairfl.modifiers.interface import Objective, Privacy


@dataclass(frozen=True)
class LocalTraining:
    """Local training of a round: `batch_size` None is full batch. The rate is part of the work.

    AdamW starts with empty moments in each round, as clients keep nothing between rounds.
    """

    epochs: int
    batch_size: int | None
    seed: int
    optimizer: str = "sgd"  # or adamw
    weight_decay: float = 0.0  # decoupled
    single: bool = False  # only the first step of the first epoch
    phase: int = 0  # of the round
    objective: "Objective | None" = None  # in place of the loss
    privacy: "Privacy | None" = None  # what becomes of the gradients

    def of_plan(self, plan: Plan, phase: int) -> "LocalTraining":
        """This training with what the plan for an exchange changes of it."""
        return replace(
            self,
            epochs=self.epochs if plan.epochs is None else plan.epochs,
            batch_size=None if plan.full_batch else self.batch_size,
            single=plan.single_step,
            phase=phase,
        )

    @property
    def passes(self) -> int:
        """Epochs that begin."""
        return min(self.epochs, 1) if self.single else self.epochs

    def batch(self, count: int) -> int:
        """Size of a full batch of a client with `count` samples."""
        return max(1, count if self.batch_size is None else min(count, self.batch_size))

    def steps(self, count: int, least: int = 1) -> int:
        """Steps of a client with `count` samples in a round, on batches of `least` samples or more."""
        batch = self.batch(count)
        whole = (count - least) // batch + 1
        return self.passes * (batch >= least) * min(whole, 1 if self.single else whole)


@dataclass(frozen=True)
class Work:
    """The models to train in a round, e of them: one per client, or several.

    Every step of model i, on a batch of mean loss l before the step, is

        h = (1 - mix) slope(l) grad l(y) + along direction_i + prox_i (y - anchor_i) + force(y) + weight_decay y
        v <- momentum v + h,    y <- y - rate_i v,    v = 0 at the start

    Backends take it without v, with z = y at the start (the averaging form of the heavy ball),

        z <- z - rate_i / (1 - momentum) h,    y <- y + (1 - momentum) (z - y)

    which is one pass over the parameters more than plain SGD. A client without a step to take just does not follow z.
    With AdamW the gradient of a step is h without weight decay, no force acts, and momentum must be 0.
    Running statistics, behind the parameters in every model, follow the batches and none of these rules.
    """

    clients: list[int]  # [e], whose data
    start: Tensor  # [e, P + B]
    rate: Tensor  # [e] float64, on the CPU
    mix: float = 0.0
    along: float = 0.0
    direction: Tensor | None = None  # [P], or [e, P]; None if `along` is 0
    force: Force | None = None
    places: tuple[int, ...] = ()  # [e], what the force knows the models by, if there is one
    prox: Tensor | None = None  # [e] float64, on the CPU
    anchor: Tensor | None = None  # [e, P + B]
    momentum: float = 0.0  # in [0, 1)
    slope: Slope | None = None  # None: 1
    frozen: int = 0  # parameter tensors that stay as they are, the first ones

    @classmethod
    def of_plan(cls, plan: Plan, x: Tensor, clients: list[int], rate: float) -> "Work":
        """Return the work of a plan for these clients, of which each trains one model, or several one after the other.

        x [P + B] or [M, P + B] are the server's models, which a proximal term pulls to.
        """
        start, m = start_of(plan, x, len(clients)), len(clients)
        models = 1 if start.dim() == 2 else len(start)
        rates = torch.full((m,), rate, dtype=torch.float64)
        if plan.lr_scale is not None:
            rates = rates * plan.lr_scale.cpu()
        work = cls(
            clients=clients * models,
            start=start.reshape(-1, x.shape[-1]),
            rate=rates if models == 1 else rates.repeat(models),
            momentum=plan.momentum,
            slope=plan.slope,
            frozen=plan.frozen,
            mix=plan.mix or 0.0,
        )
        if (direction := plan.direction) is not None and (
            along := 1.0 if plan.mix is None else plan.mix
        ):
            if direction.dim() > 1:
                direction = direction.expand(*start.shape[:-1], -1).reshape(len(work.start), -1)
            work = replace(work, along=along, direction=direction)
        if plan.force is not None:
            work = replace(work, force=plan.force, places=tuple(range(len(work.start))))
        if isinstance(plan.prox, Tensor) or plan.prox:
            prox = torch.as_tensor(plan.prox, dtype=torch.float64).cpu()
            anchor = x.unsqueeze(-2).expand_as(start).reshape(work.start.shape)
            work = replace(work, prox=prox.expand(models).repeat_interleave(m), anchor=anchor)
        return work

    def of(self, chosen: list[int] | slice) -> "Work":
        """The work of some places, in that order."""
        places = chosen if isinstance(chosen, list) else range(*chosen.indices(len(self.clients)))

        def models(stack: Tensor) -> Tensor:
            if isinstance(chosen, slice):
                return stack[chosen]
            if stack.stride(0) == 0:  # one model for all need not be copied
                return stack[:1].expand(len(chosen), -1)
            return stack[sent(torch.tensor(chosen), stack.device)]

        return replace(
            self,
            clients=[self.clients[place] for place in places],
            start=models(self.start),
            rate=self.rate[chosen],
            prox=None if self.prox is None else self.prox[chosen],
            anchor=None if self.anchor is None else models(self.anchor),
            direction=self.direction
            if self.direction is None or self.direction.dim() == 1
            else models(self.direction),
            places=tuple(self.places[place] for place in places) if self.places else (),
        )

    def forces(self, of: slice, like: Tensor) -> Callable[[Tensor], Tensor] | None:
        """The force on the gradients of the models Y [n, P] at some places, a function of Y; None: no force."""
        if (force := self.force) is None:
            return None
        places = sent(torch.tensor(self.places[of]), like.device)

        def checked(Y: Tensor) -> Tensor:
            added = force(Y, places)
            if added.shape != Y.shape:
                raise ValueError(
                    f"a force returned {list(added.shape)} for models {list(Y.shape)}; give one row each"
                )
            return added.contiguous()

        return checked


def start_of(plan: Plan, x: Tensor, clients: int) -> Tensor:
    """Models that m `clients` start from, [m, P + B], or [models, m, P + B] if each trains several."""
    return x.unsqueeze(-2).expand(*x.shape[:-1], clients, -1) if plan.start is None else plan.start


@dataclass(frozen=True)
class Trained:
    """Result of training: updates D = start - trained model, and the losses at the start if they were asked for."""

    delta: Tensor  # [e, P + B]
    loss: Tensor | None = None  # [e] float64, mean over the client's samples, nats


class Backend(Protocol):
    """Client steps and outputs on flat models. All backends agree to float tolerance."""

    stochastic: bool  # layers that act otherwise in training than in evaluation, or may do so
    gradients: bool  # steps may be taken by autograd
    normalised: bool  # batches of one sample, which have no variance, are skipped

    @property
    def model(self) -> nn.Module:
        """Its parameters have the shapes, not the values, of the models that are trained."""

    def train(self, work: Work, local: LocalTraining, round: int, losses: bool = False) -> Trained:
        """Local SGD. `losses` asks for the mean losses at the start; the first batch must be the full one."""

    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        """Outputs [n, C] of one model x [P + B], in evaluation mode."""


def mean_loss_derivative(slope: Slope, total: Tensor, count: int | Tensor) -> Tensor:
    """slope(l), [] float64, where the losses of a batch of `count` samples sum to `total`, []."""
    return slope(total.double().view(1) / count)[0]


def order(count: int, local: LocalTraining, round: int, client: int, epoch: int) -> Tensor:
    """Sample numbers of a client in the order of this epoch, [count]. A single batch keeps the stored order."""
    if local.batch(count) >= count:
        return torch.arange(count)
    return torch.randperm(count, generator=generator(local.seed, "batches", round, client, epoch))


def dropout_seed(local: LocalTraining, round: int, client: int) -> int:
    """Seed of the masks that a client draws in a round."""
    return seed_of(local.seed, "dropout", round, client)
