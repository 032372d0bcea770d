"""Clipping and Gaussian noise. Abadi et al., Deep Learning with Differential Privacy, CCS 2016 (DP-SGD).

    z <- z min(1, C / ||z||) + N(0, (sigma C / B)^2 I)          ||z|| over the whole parameter vector

FedEBA+ (table 14) adds this noise to "the intermediate regularization variable"; C is not known. `target` says what z
is:

    gradient     of every batch in every local step
    auxiliary    g_k, the gradients that clients send for alignment; local steps stay clean. Where a plain local pass
                 stands for a gradient, g_k = D_k / (eta J_k) of the round's first exchange, whose D_k stay clean
    update       D_k; refused with algorithms whose clients train a model that they never send (ditto, lp_proj)

`auto` is auxiliary where the algorithm asks for gradients, as fedeba_plus does, and gradient for all others. That
includes prac_fedeba_plus, whose auxiliary vector is not a separate message: it is made of the D_k of an earlier round.

Clipping the mean gradient of a batch bounds no single sample's part in it. With `per_sample` each sample's gradient is
clipped before the mean is taken, as in DP-SGD, and only that supports a statement on privacy: `epsilon`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Generator, Tensor, nn
from torch.func import functional_call, grad, vmap

from fairfl.algorithms.interface import Received, Reports, State
from fairfl.experiments.base import Strict
from fairfl.modifiers.interface import Modifier, Schedule
from fairfl.runtime.errors import OptionError

# Numbers in the per-sample gradients that are held at once: 256 MiB of float32.
HELD = 2**26
# What an algorithm measures if clients send gradients.
GRADIENTS = ("gradient_batch", "gradient_full", "gradient_local_epoch")


class Config(Strict):
    sigma: float = Field(ge=0, description="noise level; 0: clipping only")
    clip: float | None = Field(1.0, gt=0, description="C; null: no clipping, with sigma 0 only")
    target: Literal["auto", "gradient", "auxiliary", "update"] = Field(
        "auto", description="what is clipped and noised"
    )
    per_sample: bool = Field(
        False, description="target gradient: clip the gradient of each sample, not their mean"
    )
    batch: int | None = Field(
        None,
        gt=0,
        description="B; null: the setting's batch size, n_k with full batches; with per_sample always the number of "
        "samples in the batch",
    )
    delta: float | Literal["1/N"] = Field(
        1e-5,
        description="of (epsilon, delta)-privacy; 1/N: one over the training samples of all clients",
    )

    @model_validator(mode="after")
    def _possible(self) -> "Config":
        if self.clip is None and self.sigma > 0:
            raise ValueError(
                f"clip is null, so the noise of sigma {self.sigma:g} has no scale: sigma must be 0"
            )
        if self.per_sample and self.target in ("auxiliary", "update"):
            raise ValueError(
                f"per_sample is about gradients of local steps, target is {self.target}"
            )
        if self.per_sample and self.batch is not None:
            raise ValueError(
                f"per_sample takes the number of samples in each batch for B, so batch {self.batch} must go"
            )
        if self.delta != "1/N" and not 0 < self.delta < 1:
            raise ValueError(f"delta is {self.delta:g}, it must be between 0 and 1")
        return self


# -- clipping and noise ---------------------------------------------------------------------------
def shares(norms: Tensor, config: Config) -> Tensor:
    """min(1, C / ||z||) for norms of any shape; 1 for a vector of zeros."""
    return torch.ones_like(norms) if config.clip is None else (config.clip / norms).clamp(max=1)


def deviation(samples: float, config: Config) -> float:
    """sigma C / B; `samples` is B unless the configuration says it."""
    return config.sigma * (config.clip or 0.0) / (config.batch or samples)


def normal(like: Tensor, generator: Generator) -> Tensor:
    """Standard normal numbers in the shape of a tensor, drawn on its device: other numbers on a GPU than on a CPU.

    There are as many of them as parameters, in each step; to draw them on a CPU would be most of what a step takes.
    """
    if generator.device.type != like.device.type:
        generator = Generator(like.device).manual_seed(generator.initial_seed())
    return torch.randn(like.shape, generator=generator, dtype=like.dtype, device=like.device)


# -- target gradient ------------------------------------------------------------------------------
@dataclass(frozen=True)
class NoisyGradients:
    """See `fairfl.modifiers.interface.Privacy`."""

    config: Config

    @property
    def per_sample(self) -> bool:
        return self.config.per_sample

    def private(self, gradients: list[Tensor], samples: int, generator: Generator) -> list[Tensor]:
        """The clipped gradient of a batch of `samples` samples, with noise. With `per_sample` it is clipped already."""
        config = self.config
        z = torch.cat(
            [g.flatten() for g in gradients]
        )  # a third of the time of one tensor after the other
        if not config.per_sample:
            z *= shares(z.norm(), config)
        if std := deviation(samples, config):
            z += std * normal(z, generator)
        return [
            part.view(g.shape)
            for part, g in zip(z.split([g.numel() for g in gradients]), gradients, strict=True)
        ]

    def clipped(self, stacks: list[Tensor]) -> list[Tensor]:
        """Sum of the clipped gradients of n samples, given as one stack [n, ...] for each parameter."""
        norms = torch.stack([stack.flatten(1).norm(dim=1) for stack in stacks]).norm(dim=0)
        return [torch.tensordot(shares(norms, self.config), stack, dims=1) for stack in stacks]

    def gradients(
        self,
        model: nn.Module,
        loss: Callable[[Tensor, Tensor], Tensor],
        inputs: Tensor,
        labels: Tensor,
    ) -> list[Tensor]:
        """Mean of the clipped gradients of the samples of a batch, one tensor for each parameter of the model.

        Raises OptionError if the model normalises over the batch.
        """
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        at_once = max(1, HELD // sum(parameter.numel() for parameter in parameters))
        total = [torch.zeros_like(parameter) for parameter in parameters]
        for x, y in zip(inputs.split(at_once), labels.split(at_once), strict=True):
            torch._foreach_add_(total, self.clipped(of_each_sample(model, loss, x, y)))
        return list(torch._foreach_div(total, len(labels)))


def of_each_sample(
    model: nn.Module, loss: Callable[[Tensor, Tensor], Tensor], inputs: Tensor, labels: Tensor
) -> list[Tensor]:
    """Gradient of loss(outputs, labels) [n] of each sample: [n, *shape] for each parameter of the model.

    Raises OptionError if the model normalises over the batch, where samples have no separate gradients.
    """
    for name, layer in model.named_modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            raise OptionError(
                f"dp.per_sample: layer {name or 'model'} ({type(layer).__name__}) normalises over the batch, so "
                "samples have no separate gradients; take group normalisation"
            )

    def of_one(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return loss(functional_call(model, parameters, (x.unsqueeze(0),)), y.unsqueeze(0)).squeeze(
            0
        )

    one_each = vmap(
        grad(of_one), in_dims=(None, 0, 0), randomness="different"
    )  # dropout: masks of their own
    named: dict[str, Tensor] = dict(model.named_parameters())
    moving = {name: p for name, p in named.items() if p.requires_grad}
    return list(one_each(moving, inputs, labels).values())


# -- targets auxiliary and update -----------------------------------------------------------------
def noisy(vectors: Tensor, received: Received, config: Config) -> Tensor:
    """Vectors [..., m, P] of the round's clients, each clipped and with noise from its client's own generator."""
    result = vectors * shares(vectors.norm(dim=-1, keepdim=True), config)
    if config.sigma:
        for place, (client, n) in enumerate(
            zip(received.clients.tolist(), received.samples.tolist(), strict=True)
        ):
            z = result[..., place, :]
            z += deviation(n, config) * normal(z, received.generator("dp", client))
    return result


class DP(Modifier[Config]):
    def __init__(self, config: Config, passes: bool = False) -> None:
        """With `passes` the updates of a round's first exchange stand for gradients."""
        super().__init__(config)
        self.passes = passes

    def resolve(self, measurements: tuple[str, ...], batch_size: int | None) -> "DP":
        """`auto` decided and B filled in. Raises OptionError if the algorithm has no vectors of the requested kind."""
        has_gradients = any(name in measurements for name in GRADIENTS)
        target = self.config.target
        if target == "auto":
            target = "auxiliary" if has_gradients else "gradient"
        if target == "auxiliary" and not has_gradients:
            raise OptionError(
                "dp.target: auxiliary: clients of this algorithm send no gradients; take gradient or update"
            )
        if target == "auxiliary" and self.config.per_sample:
            raise OptionError(
                "dp.per_sample: with this algorithm target auto is auxiliary; set dp.target to gradient"
            )
        batch = None if self.config.per_sample else self.config.batch or batch_size
        config = self.config.model_copy(update={"target": target, "batch": batch})
        return DP(config, passes="gradient_local_epoch" in measurements)

    def privacy(self) -> NoisyGradients | None:
        return NoisyGradients(self.config) if self.config.target == "gradient" else None

    def modify_received(self, received: Received) -> Received:
        if self.config.target != "auxiliary" or received.gradient is None:
            return received
        return replace(received, gradient=noisy(received.gradient, received, self.config))

    def modify_reports(self, state: State, reports: Reports) -> Reports:
        if self.config.target == "auxiliary" and self.passes and reports.exchange == 0:
            scale = (reports.learning_rate * reports.divisor)[:, None].to(reports.delta.dtype)
            sent = scale * noisy(reports.delta / scale, reports, self.config)
            return replace(
                reports, gradient=sent / scale
            )  # by way of D_k: runs on record are rounded so
        if self.config.target != "update":
            return reports
        return replace(reports, delta=noisy(reports.delta, reports, self.config))

    def epsilon(self, measurements: tuple[str, ...], schedule: Schedule) -> float | None:
        """epsilon of (epsilon, delta)-privacy: any one training sample may be in the data or not; the largest of all k.

        By the Renyi accountant of Opacus, for an observer of all models who does not know which clients took part; n_k
        and label counts are public. Every local step of client k counts as a draw of each of its samples with
        probability m/K * B_k / n_k, on its own (Poisson sampling). Really, clients and batches are drawn without
        replacement, and the steps of a round share one draw of clients: epsilon is an approximation, good while
        J_k (B_k / (n_k sigma))^2 is small.

        `measurements` are what the algorithm has clients measure: losses and accuracies are sent without noise.

        Returns None where no epsilon holds: gradients are not noised sample by sample, sigma is 0, the algorithm
        needs other numbers from clients; or, with a warning, without Opacus.
        """
        config = self.config
        private = config.per_sample and config.target == "gradient" and config.sigma > 0
        if not private or measurements:
            return None
        try:
            from opacus.accountants import RDPAccountant
        except ImportError:
            warnings.warn(
                "epsilon is not computed, it needs Opacus: install the extra `privacy`",
                stacklevel=2,
            )
            return None
        s, N = schedule, sum(schedule.samples)
        sizes = zip(s.samples, s.batches, s.steps, strict=True)
        uses = {(s.share * B / n, s.rounds * J) for n, B, J in sizes if n and J}
        largest, delta = 0.0, 1 / N if config.delta == "1/N" else config.delta
        for rate, count in uses:
            accountant = RDPAccountant()
            accountant.history = [(config.sigma, rate, count)]
            largest = max(largest, accountant.get_epsilon(delta))
        return largest
