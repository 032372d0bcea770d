"""Backend for any torch.nn model: one client after the other on a flat parameter vector.

Steps are by autograd, or by hand for plain chains of convolutions (fairfl.simulation.backends.conv_kernels).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Slope
from fairfl.runtime.errors import OptionError
from fairfl.simulation import flat_parameters
from fairfl.simulation.backends import batches, heap
from fairfl.simulation.backends.cuda_graph import CudaGraph, Recent, same_function
from fairfl.simulation.backends.interface import (
    LocalTraining,
    Trained,
    Work,
    dropout_seed,
)
from fairfl.simulation.backends.sequential_step import StepKind, SteppedModel, channels_last
from fairfl.simulation.clients import Part
from fairfl.simulation.losses import Loss
from fairfl.simulation.seeds import generator, seed_of

if TYPE_CHECKING:
    from fairfl.modifiers.interface import Objective, Privacy

# Captured steps kept at once, one per batch size, and their bytes: a small share of any GPU.
KEPT_STEPS, KEPT_BYTES = 64, 2**30
# Functions and objects that captured steps hold, in so many combinations.
KEPT_VARIANTS = 8
# Layers known to act alike in training and in evaluation.
DETERMINISTIC = (
    nn.Sequential, nn.Flatten, nn.Linear, nn.Conv2d, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.GroupNorm, nn.Softmax
)  # fmt: skip


class Sequential(SteppedModel):
    """See `fairfl.simulation.backends.interface.Backend`."""

    gradients = True

    def __init__(
        self, model: nn.Module, loss: Loss, part: Part, product: torch.dtype | None = None
    ) -> None:
        super().__init__(model, loss, part, product)
        self.sizes, self.offsets = part.sizes, part.offsets
        self.constants = flat_parameters.constants(model)
        norms = nn.modules.batchnorm._BatchNorm
        self.normalised = any(isinstance(module, norms) for module in model.modules())
        self.stochastic = not all(type(layer) in DETERMINISTIC for layer in model.modules())
        self.on_gpu = self.flat.device.type == "cuda"
        self.variant = 0  # place of what captured steps hold among `variants`
        self.variants: list[tuple[int, Objective | None, Privacy | None, Slope | None]] = []
        self.steps: Recent[CudaGraph] = Recent(KEPT_STEPS, KEPT_BYTES)

    @torch.no_grad()
    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        self._load(x)
        if self.model.training:
            self.model.eval()
        return self.outputs(channels_last(inputs))

    @torch.no_grad()
    def train(self, work: Work, local: LocalTraining, round: int, losses: bool = False) -> Trained:
        delta = work.start.new_empty(len(work.clients), self.flat.numel())
        self._hold(work, local)
        terms = {
            "momentum": work.momentum,
            "a force": work.force,
            "private gradients": local.privacy,
        }
        for term, is_used in terms.items():
            if is_used and local.optimizer != "sgd":
                raise ValueError(
                    f"the algorithm asks for {term}, which optimizer {local.optimizer} does not have"
                )
        self.model.train()
        pads = self._pads(local)
        gpu = self.flat.device if self.on_gpu else None
        windows = batches.windows(work.clients, self.sizes, self.offsets, local, round, gpu)
        measured = []
        # Dropout draws from torch's global generator: seed it per client, and leave it as it was.
        with torch.random.fork_rng(devices=[gpu] if gpu else [], enabled=self.stochastic):
            for place, client in enumerate(work.clients):
                if self.stochastic:
                    self._seed(dropout_seed(local, round, client))
                if local.objective or local.privacy:
                    # Of several models that a client trains.
                    nth = work.clients[:place].count(client)
                    path = (local.seed, "modifiers", round, client, local.phase, nth)
                    self.draws = generator(*path)
                    self.noise = (
                        self.noise.manual_seed(seed_of(*path)) if self.on_gpu else self.draws
                    )
                    self.round = round
                measured.append(self._train(work, place, local, next(windows), pads, losses))
                if self.statistics:
                    torch._foreach_copy_(self.statistics_in_flat, self.statistics)
                torch.sub(work.start[place], self.flat, out=delta[place])
                heap.release()
        self._check_constants()
        return Trained(delta, torch.stack(measured) if losses else None)

    def _load(self, x: Tensor) -> None:
        self.flat.copy_(x)
        self.keep_buffers()
        if self.statistics:
            torch._foreach_copy_(self.statistics, self.statistics_in_flat)

    def _check_constants(self) -> None:
        """Raises OptionError if a forward pass has changed what is not part of a model, and so of no checkpoint."""
        for name, buffer in flat_parameters.constants(self.model).items():
            before = self.constants.get(name)
            if before is None or not flat_parameters.same(buffer, before):
                raise OptionError(
                    f"model: its forward pass changes the buffer {name}, which is not averaged over clients; a buffer "
                    "of real numbers that changes from the first pass on is (batch normalisation: give a momentum)"
                )

    def _hold(self, work: Work, local: LocalTraining) -> None:
        """Set what captured steps hold: functions, objects, and how many parameters stay as they are."""
        variant = (work.frozen, local.objective, local.privacy, work.slope)
        _, self.objective, self.privacy, self.slope = variant
        first = list(self.model.parameters())[: work.frozen]
        self.frozen = sum(parameter.requires_grad for parameter in first)
        self.frozen_size = sum(parameter.numel() for parameter in first)
        for place, other in enumerate(self.variants):
            if variant[:3] == other[:3] and same_function(work.slope, other[3]):
                self.variant = place
                return
        if len(self.variants) == KEPT_VARIANTS:  # an algorithm that makes functions in every round
            self.variants.clear()
            self.steps.clear()
        self.variant = len(self.variants)
        self.variants.append(variant)

    def _pads(self, local: LocalTraining) -> bool:
        """True if short batches get samples of weight 0, so that batches of many sizes share few captured steps.

        On a GPU only. Not with batch normalisation, which would see them, nor where somebody else sees the batch.
        """
        seen = self.normalised or self.statistics or local.objective or local.privacy
        if not self.on_gpu or seen:
            return False
        return batches.ragged(self.sizes, local)

    def _train(
        self,
        work: Work,
        place: int,
        local: LocalTraining,
        windows: Iterator[batches.Window],
        pads: bool,
        losses: bool,
    ) -> Tensor:
        """Leaves the trained model in `flat`; mean loss of the first batch before its step, if it is asked for."""
        samples = self.sizes[work.clients[place]]
        kind, rate = self._begin(work, place, local, samples)
        scale = 1.0 if kind.adamw else rate
        force = work.forces(slice(place, place + 1), self.y)
        decay = 0.0 if kind.adamw else rate * local.weight_decay
        first, steps, still = None, 0, [parameter.clone() for parameter in self.still]
        for window in windows:
            n = samples if isinstance(window, slice) else len(window)
            if self.normalised and n == 1:
                continue  # one sample has no variance
            steps += 1
            if kind.adamw:
                self.factors.correct(steps, rate, local.weight_decay)
            self.factors.fill("weight", scale * (1 - work.mix) / n)
            size, measured = n, losses and first is None
            away = self._away(decay, rate, force)
            if away is not None and kind.averages:
                self.z.flat.sub_(away)
            short = pads and n != local.batch_size
            if short and isinstance(window, Tensor):
                self.factors.fill("real", n)
                size = batches.padded(n, local.batch_size)
                window = torch.cat([window, window[-1:].expand(size - n)])
            self._step_on(size, kind._replace(short=short, measured=measured))(window)
            if away is not None and not kind.averages:
                self.y.sub_(away)
            if still:
                torch._foreach_copy_(self.still, still)
            if measured:
                first = self.total / n
        return self.total.new_full((), float("nan")) if first is None else first

    def _begin(
        self, work: Work, place: int, local: LocalTraining, samples: int
    ) -> tuple[StepKind, float]:
        """Set model and buffers to where a client starts. Which terms its steps have, and their rate."""
        rate, adamw = float(work.rate[place]), local.optimizer == "adamw"
        self._load(work.start[place])
        averages = work.momentum > 0 and local.steps(samples) > 1
        if averages:  # a single step does not know of momentum
            self.z.flat.copy_(self.y)
            self.factors.fill("averaging", 1 - work.momentum)
            rate /= 1 - work.momentum
        if adamw:
            for moment in self.moments:
                moment.flat.zero_()
        scale = 1.0 if adamw else rate
        prox = 0.0 if work.prox is None else float(work.prox[place])
        if prox and work.anchor is not None:
            self.anchor.flat.copy_(work.anchor[place, : self.y.numel()])
            self.factors.fill("pull", scale * prox)
        if (direction := work.direction) is not None:
            own = direction if direction.dim() == 1 else direction[place]
            torch.mul(own, scale * work.along, out=self.direction_step.flat)
        kind = StepKind(
            proximal=prox != 0, averages=averages, adamw=adamw, directed=direction is not None
        )
        return kind, rate

    def _away(
        self, decay: float, rate: float, force: Callable[[Tensor], Tensor] | None
    ) -> Tensor | None:
        """Return what weight decay and force take from y, both of y before the step; None without them."""
        if not (decay or force):
            return None
        away = self.y * decay
        if force:
            away += rate * force(self.y.unsqueeze(0))[0]
        away[: self.frozen_size] = 0
        return away

    def _seed(self, seed: int) -> None:
        """Seed torch's global generators. torch.manual_seed takes 0.6 ms for remembering who called it."""
        torch.default_generator.manual_seed(seed)
        if self.on_gpu:
            torch.cuda.manual_seed(seed)

    def _step_on(self, size: int, kind: StepKind) -> CudaGraph:
        """The step of this kind on a batch of `size`."""

        def made() -> CudaGraph:
            buffers = [*([self.z] if kind.averages else []), *(self.moments if kind.adamw else [])]
            state = [self.flat, *self.statistics, *(buffer.flat for buffer in buffers)]
            generators = [self.noise] if self.privacy and self.on_gpu else []
            graph = not self.objective  # which decides on the CPU how it changes each sample
            return CudaGraph(partial(self.step, kind), state, self.flat.device, graph, generators)

        return self.steps.get((self.variant, size, kind), made)
