"""Backend for any torch.nn model: one client after the other on a flat parameter vector.

Steps are by autograd, or by hand for plain chains of convolutions (fairfl.simulation.backends.conv_kernels).
"""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Slope
from fairfl.simulation.backends import batches, conv_kernels, heap
from fairfl.simulation.backends.cuda_graph import CudaGraph, Recent, same_function
from fairfl.simulation.backends.interface import (
    LocalTraining,
    Trained,
    Work,
    dropout_seed,
    mean_loss_derivative,
)
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import samples_at_once
from fairfl.simulation.flat_parameters import align_statistics, bind, count, flatten
from fairfl.simulation.losses import ClosedForm, Loss
from fairfl.simulation.seeds import generator, seed_of

if TYPE_CHECKING:
    from fairfl.modifiers.interface import Objective, Privacy

# Captured steps kept at once, one per batch size, and their bytes: a small share of any GPU.
KEPT_STEPS, KEPT_BYTES = 64, 2**30
# Functions and objects that captured steps hold, in so many combinations.
KEPT_VARIANTS = 8
# AdamW as in torch.optim, and its defaults: decay of the two moments, and what keeps a step finite.
BETAS, EPSILON = (0.9, 0.999), 1e-8
# Layers known to act alike in training and in evaluation.
DETERMINISTIC = (
    nn.Sequential, nn.Flatten, nn.Linear, nn.Conv2d, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.GroupNorm, nn.Softmax
)  # fmt: skip


def channels_last(inputs: Tensor) -> Tensor:
    """Images in the memory order in which CPU and GPU convolutions are fastest.

    A copy and not `contiguous(memory_format=...)`: that leaves images of one channel as they are, and the convolutions
    after them would run in the slow order.
    """
    if inputs.dim() != 4 or inputs.stride(1) == 1:
        return inputs
    return torch.empty_like(inputs, memory_format=torch.channels_last).copy_(inputs)


class Buffer(NamedTuple):
    """Numbers laid out as the parameters y, [P], and views of them in the shape of each parameter."""

    flat: Tensor
    views: list[Tensor]


class StepKind(NamedTuple):
    """Which terms a step has. They are decided when it is captured."""

    short: bool  # the batch is padded with samples of weight 0
    proximal: bool
    averages: bool  # with momentum
    measured: bool  # the sum of the batch's losses is left in `total`
    adamw: bool
    directed: bool  # the client follows a direction


class Sequential:
    """See `fairfl.simulation.backends.interface.Backend`."""

    gradients = True

    def __init__(
        self, model: nn.Module, loss: Loss, part: Part, product: torch.dtype | None = None
    ) -> None:
        self.model, self.loss = model, loss
        self.labels, self.sizes, self.offsets = part.labels, part.sizes, part.offsets
        self.inputs = channels_last(part.inputs)
        self.flat = flatten(model)
        self.parameters = bind(model, self.flat)
        self.statistics, self.statistics_in_flat = align_statistics(model)
        self.y = self.flat[: count(model)]  # without running statistics
        self.anchor = self._buffer()
        self.normalised = self.y.numel() < self.flat.numel()
        self.frozen = self.frozen_size = (
            0  # parameter tensors, and numbers in them, that steps do not change
        )
        self.product = self.flat.dtype if product is None else product
        self.stochastic = not all(type(layer) in DETERMINISTIC for layer in model.modules())
        self.total = torch.zeros(
            (), dtype=torch.float64, device=self.flat.device
        )  # loss of the newest batch, summed
        self.manual_step = self._by_hand(self.parameters)
        self.targets = self.labels.unsqueeze(1)  # [N, C] if steps are by hand
        if self.manual_step:
            classes = len(self.manual_step.last.bias)
            self.targets = self.manual_step.loss.targets(
                self.labels, classes, self.flat.dtype
            ).T.contiguous()
        # Of the step, in tensors that stay: its weight, how many samples are real, the shares of the proximal term and
        # of the average, AdamW's factors. Filling one does not wait for a GPU, as copying a new one there would.
        self.weight, self.real, self.pull, self.averaging = (
            self.flat.new_zeros(()) for _ in range(4)
        )
        self.adam = tuple(self.flat.new_zeros(()) for _ in range(3))
        self.filled: dict[Tensor, float] = {}
        self.on_gpu = self.flat.device.type == "cuda"
        self.slope: Slope | None = None
        self.objective: Objective | None = None
        self.privacy: Privacy | None = None
        self.draws = torch.Generator()  # of the objective of the client that trains now
        self.noise = torch.Generator(self.flat.device)  # of its privacy; on a CPU they are the same
        self.round = 0
        self.variant = 0  # place of what captured steps hold among `variants`
        self.variants: list[tuple[int, Objective | None, Privacy | None, Slope | None]] = []
        self.steps: Recent[CudaGraph] = Recent(KEPT_STEPS, KEPT_BYTES)

    def _by_hand(self, moved: list[Tensor]) -> conv_kernels.ManualStep | None:
        """The model's step by hand, which changes `moved`, if there is one."""
        if self.product != self.flat.dtype or not isinstance(self.loss, ClosedForm):
            return None
        return (
            conv_kernels.ManualStep(self.model, self.loss, moved)
            if conv_kernels.supports(self.model)
            else None
        )

    def _buffer(self) -> Buffer:
        flat = torch.zeros_like(self.y)
        return Buffer(
            flat,
            [flat.as_strided(p.shape, p.stride(), p.storage_offset()) for p in self.parameters],
        )

    # -- with momentum only: z of Work -----------------------------------------------------------
    @cached_property
    def z(self) -> Buffer:
        return self._buffer()

    @cached_property
    def manual_step_of_z(self) -> conv_kernels.ManualStep | None:
        """A step on y that changes z."""
        return self._by_hand(self.z.views)

    # -- with AdamW only ---------------------------------------------------------------------------
    @cached_property
    def moments(self) -> tuple[Buffer, Buffer]:
        """Means of the gradients and of their squares."""
        return self._buffer(), self._buffer()

    @cached_property
    def direction_step(self) -> Buffer:
        """What the direction of the client that trains now adds to each step."""
        return self._buffer()

    def outputs(self, inputs: Tensor) -> Tensor:
        """Outputs of the model as it stands; products in the precision that was asked for."""
        if self.product == self.flat.dtype:
            return self.model(inputs)
        with torch.autocast(self.flat.device.type, dtype=self.product):
            return self.model(inputs).to(self.flat.dtype)

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
        for_sgd = {
            "momentum": work.momentum,
            "a force": work.force,
            "private gradients": local.privacy,
        }
        for what, wanted in for_sgd.items():
            if wanted and local.optimizer != "sgd":
                raise ValueError(
                    f"the algorithm asks for {what}, which optimizer {local.optimizer} does not have"
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
                    nth = work.clients[:place].count(
                        client
                    )  # of several models that a client trains
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
        return Trained(delta, torch.stack(measured) if losses else None)

    def _load(self, x: Tensor) -> None:
        self.flat.copy_(x)
        if self.statistics:
            torch._foreach_copy_(self.statistics, self.statistics_in_flat)

    def _hold(self, work: Work, local: LocalTraining) -> None:
        """Set what captured steps hold: functions, objects, and how many parameters stay as they are."""
        held = (work.frozen, local.objective, local.privacy, work.slope)
        self.frozen, self.objective, self.privacy, self.slope = held
        self.frozen_size = sum(parameter.numel() for parameter in self.parameters[: work.frozen])
        for place, known in enumerate(self.variants):
            if held[:3] == known[:3] and same_function(work.slope, known[3]):
                self.variant = place
                return
        if (
            len(self.variants) == KEPT_VARIANTS
        ):  # an algorithm that makes functions anew in every round
            self.variants.clear()
            self.steps.clear()
        self.variant = len(self.variants)
        self.variants.append(held)

    def _pads(self, local: LocalTraining) -> bool:
        """True if short batches get samples of weight 0, so that batches of many sizes share few captured steps.

        On a GPU only. Not with batch normalisation, which would see them, nor where somebody else sees the batch.
        """
        if not self.on_gpu or self.normalised or local.objective or local.privacy:
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
        client, rate = work.clients[place], float(work.rate[place])
        samples = self.sizes[client]
        self._load(work.start[place])
        proximal = averages = False
        if work.momentum and local.steps(samples) > 1:  # a single step does not know of momentum
            self.z.flat.copy_(self.y)
            averages = True
            self._fill(self.averaging, 1 - work.momentum)
            rate /= 1 - work.momentum
        adamw = local.optimizer == "adamw"
        if adamw:
            for moment in self.moments:
                moment.flat.zero_()
        scale = 1.0 if adamw else rate
        if work.prox is not None and work.anchor is not None and work.prox[place]:
            self.anchor.flat.copy_(work.anchor[place, : self.y.numel()])
            proximal = True
            self._fill(self.pull, scale * float(work.prox[place]))
        direction = work.direction
        if direction is not None:
            own = direction if direction.dim() == 1 else direction[place]
            torch.mul(own, scale * work.along, out=self.direction_step.flat)
        force = work.forces(slice(place, place + 1), self.y)
        decay = 0.0 if adamw else rate * local.weight_decay
        first, away, steps = None, None, 0
        for window in windows:
            n = samples if isinstance(window, slice) else len(window)
            if self.normalised and n == 1:
                continue  # one sample has no variance
            steps += 1
            if adamw:
                # Step size with the correction of the first moment, that of the second, what is left of y.
                corrections = rate / (1 - BETAS[0] ** steps), (1 - BETAS[1] ** steps) ** -0.5
                for tensor, value in zip(
                    self.adam, (*corrections, 1 - rate * local.weight_decay), strict=True
                ):
                    self._fill(tensor, value)
            self._fill(self.weight, scale * (1 - work.mix) / n)
            measured = losses and first is None
            if decay or force:  # both are of y before the step
                away = self.y * decay
                if force:
                    away += rate * force(self.y.unsqueeze(0))[0]
                away[: self.frozen_size] = 0
            if away is not None and averages:
                self.z.flat.sub_(away)
            size, short = n, pads and n != local.batch_size
            if short and isinstance(window, Tensor):
                self._fill(self.real, n)
                size = batches.padded(n, local.batch_size)
                window = torch.cat([window, window[-1:].expand(size - n)])
            self._step_on(
                size, StepKind(short, proximal, averages, measured, adamw, direction is not None)
            )(window)
            if away is not None and not averages:
                self.y.sub_(away)
            if measured:
                first = self.total / n
        return self.total.new_full((), float("nan")) if first is None else first

    def _fill(self, tensor: Tensor, value: float) -> None:
        """Most steps have the values of the one before: on a GPU a launch less for each."""
        if self.filled.get(tensor) != value:
            tensor.fill_(value)
            self.filled[tensor] = value

    def _seed(self, seed: int) -> None:
        """Seed torch's global generators. torch.manual_seed takes 0.6 ms for remembering who called it."""
        torch.default_generator.manual_seed(seed)
        if self.flat.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _step_on(self, size: int, kind: StepKind) -> CudaGraph:
        """The step of this kind on a batch of `size`."""

        def made() -> CudaGraph:
            buffers = [*([self.z] if kind.averages else []), *(self.moments if kind.adamw else [])]
            state = [self.flat, *self.statistics, *(buffer.flat for buffer in buffers)]
            generators = [self.noise] if self.privacy and self.on_gpu else []
            graph = not self.objective  # which decides on the CPU how it changes each sample
            return CudaGraph(partial(_step, self, kind), state, self.flat.device, graph, generators)

        return self.steps.get((self.variant, size, kind), made)


def _step(backend: Sequential, kind: StepKind, window: batches.Window) -> None:
    """One local step on the samples of `window`.

    `backend.weight` is (1 - mix) rate / batch size, `backend.pull` is rate x prox. With momentum they are those of z.
    With AdamW they are (1 - mix) / batch size and prox, and `backend.adam` are the factors of the step.
    """
    inputs, labels, targets = (
        backend.inputs[window],
        backend.labels[window],
        backend.targets[window],
    )
    manual_step = backend.manual_step_of_z if kind.averages else backend.manual_step
    special = backend.frozen or backend.objective or backend.privacy or kind.proximal or kind.adamw
    weight, real = backend.weight, None
    if kind.short:
        real = torch.arange(len(labels), device=labels.device).lt(backend.real).to(weight.dtype)
    if manual_step is not None and not special and len(labels) <= samples_at_once(inputs, labels):
        total = manual_step(inputs, targets.T, weight, kind.measured, backend.slope, real)
        if total is not None:
            backend.total.copy_(total)
    else:
        gradients = _gradients(backend, inputs, labels, weight, real)
        if kind.directed and kind.adamw:
            torch._foreach_add_(gradients, backend.direction_step.views[backend.frozen :])
        if kind.adamw:
            _adamw(backend, gradients, kind.proximal)
        else:
            _descend(backend, gradients, kind)
    if kind.directed and not kind.adamw:
        moved = backend.z.flat if kind.averages else backend.y
        moved[backend.frozen_size :].sub_(backend.direction_step.flat[backend.frozen_size :])
    if kind.averages:
        backend.y.lerp_(backend.z.flat, backend.averaging)


def _gradients(
    backend: Sequential, inputs: Tensor, labels: Tensor, weight: Tensor, real: Tensor | None
) -> list[Tensor]:
    """slope(l) x weight x gradient of the summed losses, by autograd, of all parameters that are not frozen.

    `real` [n] is 1 for samples that count and 0 for padding; None: all count.

    Gradients of a batch too large for one pass are summed over pieces. With privacy it is what that makes of them.
    """
    size, n = samples_at_once(inputs, labels), len(labels)
    objective, privacy = backend.objective, backend.privacy
    free = backend.parameters[backend.frozen :]
    factor = weight if privacy is None else 1 / n
    gradients: list[Tensor] = []
    backend.total.zero_()
    if privacy is not None and privacy.per_sample:
        if backend.slope is not None:
            raise ValueError(
                "gradients clipped sample by sample are of the plain loss, the algorithm asks for a slope"
            )
        gradients = privacy.gradients(backend.model, backend.loss.value, inputs, labels)[
            backend.frozen :
        ]
    else:
        counted = [None] * -(-n // size) if real is None else real.split(size)
        for x, y, counts in zip(inputs.split(size), labels.split(size), counted, strict=True):
            with torch.enable_grad():
                if objective is None:
                    losses = backend.loss.value(backend.outputs(x), y)
                    loss = (losses if counts is None else losses * counts).sum()
                else:
                    loss = objective.losses(
                        backend.outputs, x, y, backend.round, backend.draws
                    ).mean() * len(y)
                scaled = (
                    loss * factor
                )  # and not `grad_outputs`, for which autograd imports sympy: a third of a second
            backend.total += loss.detach()
            new = list(torch.autograd.grad(scaled, free))
            if gradients:
                torch._foreach_add_(gradients, new)
            gradients = gradients or new
    if privacy is not None:
        gradients = privacy.private(gradients, n, backend.noise)
        torch._foreach_mul_(gradients, weight * n)
    if backend.slope is not None:
        count = n if real is None else real.sum(dtype=torch.float64)
        torch._foreach_mul_(
            gradients, mean_loss_derivative(backend.slope, backend.total, count).to(weight.dtype)
        )
    return gradients


def _descend(backend: Sequential, gradients: list[Tensor], kind: StepKind) -> None:
    """The step of y or, with momentum, of z."""
    y, anchor = backend.y[backend.frozen_size :], backend.anchor.flat[backend.frozen_size :]
    if kind.proximal and not kind.averages:
        y.lerp_(anchor, backend.pull)
    elif kind.proximal:
        backend.z.flat[backend.frozen_size :].addcmul_(anchor - y, backend.pull)
    moved = backend.z.views if kind.averages else backend.parameters
    torch._foreach_sub_(moved[backend.frozen :], gradients)


def _adamw(backend: Sequential, gradients: list[Tensor], proximal: bool) -> None:
    """Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2."""
    rate, correction, left = backend.adam
    y = backend.parameters[backend.frozen :]
    mean, square = (moment.views[backend.frozen :] for moment in backend.moments)
    if proximal:
        away = torch._foreach_sub(y, backend.anchor.views[backend.frozen :])
        torch._foreach_mul_(away, backend.pull)
        gradients = list(torch._foreach_add(gradients, away))
    torch._foreach_lerp_(mean, gradients, 1 - BETAS[0])
    torch._foreach_mul_(square, BETAS[1])
    torch._foreach_addcmul_(square, gradients, gradients, 1 - BETAS[1])
    deviation = torch._foreach_sqrt(square)
    torch._foreach_mul_(deviation, correction)
    torch._foreach_add_(deviation, EPSILON)
    step = torch._foreach_div(mean, deviation)
    torch._foreach_mul_(step, rate)
    torch._foreach_mul_(y, left)
    torch._foreach_sub_(y, step)
