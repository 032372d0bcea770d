"""Backend for any torch.nn model: one client after the other on a flat parameter vector.

Steps are by autograd, or by hand for plain chains of convolutions (fairfl.simulation.backends.conv_kernels).
"""

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Slope
from fairfl.simulation.backends import conv_kernels
from fairfl.simulation.backends.cuda_graph import CudaGraph, same_function
from fairfl.simulation.backends.interface import LocalTraining, Trained, Work, dropout_seed, order, steepness
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import samples_at_once
from fairfl.simulation.flat_parameters import bind, count, flatten
from fairfl.simulation.losses import ClosedForm, Loss
from fairfl.simulation.seeds import generator

if TYPE_CHECKING:
    from fairfl.modifiers.interface import Objective, Privacy

# Captured steps kept at once, one per batch size.
KEPT_STEPS = 64
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


class Sequential:
    """See `fairfl.simulation.backends.interface.Backend`."""

    def __init__(self, model: nn.Module, loss: Loss, part: Part, product: torch.dtype | None = None) -> None:
        self.model, self.loss = model, loss
        self.labels, self.sizes, self.offsets = part.labels, part.sizes, part.offsets
        self.inputs = channels_last(part.inputs)
        self.flat = flatten(model)
        self.parameters = bind(model, self.flat)
        self.y = self.flat[: count(model)]  # without running statistics
        self.anchor = self._buffer()
        self.normalised = self.y.numel() < self.flat.numel()
        self.frozen = self.frozen_size = 0  # parameter tensors, and numbers in them, that steps do not change
        self.product = self.flat.dtype if product is None else product
        self.stochastic = not all(type(layer) in DETERMINISTIC for layer in model.modules())
        self.total = torch.zeros((), dtype=torch.float64, device=self.flat.device)  # loss of the newest batch, summed
        self.manual_step = self._by_hand(self.parameters)
        self.targets = self.labels.unsqueeze(1)  # [N, C] if steps are by hand
        if self.manual_step:
            classes = len(self.manual_step.last.bias)
            self.targets = self.manual_step.loss.targets(self.labels, classes, self.flat.dtype).T.contiguous()
        self.slope: Slope | None = None
        self.objective: Objective | None = None
        self.privacy: Privacy | None = None
        self.draws = torch.Generator()  # of the objective and the privacy of the client that trains now
        self.round = 0
        self.steps: dict[tuple, CudaGraph] = {}

    def _by_hand(self, moved: list[Tensor]) -> conv_kernels.ManualStep | None:
        """The model's step by hand, which changes `moved`, if there is one."""
        if self.product != self.flat.dtype or not isinstance(self.loss, ClosedForm):
            return None
        return conv_kernels.ManualStep(self.model, self.loss, moved) if conv_kernels.supports(self.model) else None

    def _buffer(self) -> Buffer:
        flat = torch.zeros_like(self.y)
        return Buffer(flat, [flat.as_strided(p.shape, p.stride(), p.storage_offset()) for p in self.parameters])

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
        """What a direction that all clients share adds to each step."""
        return self._buffer()

    def outputs(self, inputs: Tensor) -> Tensor:
        """Outputs of the model as it stands; products in the precision that was asked for."""
        if self.product == self.flat.dtype:
            return self.model(inputs)
        with torch.autocast(self.flat.device.type, dtype=self.product):
            return self.model(inputs).to(self.flat.dtype)

    @torch.no_grad()
    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        self.flat.copy_(x)
        self.model.eval()
        return self.outputs(channels_last(inputs))

    @torch.no_grad()
    def train(self, work: Work, local: LocalTraining, round: int, losses: bool = False) -> Trained:
        delta = work.start.new_empty(len(work.clients), self.flat.numel())
        constants = (work.frozen, local.objective, local.privacy)
        # Captured steps hold these.
        if constants != (self.frozen, self.objective, self.privacy) or not same_function(work.slope, self.slope):
            self.slope, (self.frozen, self.objective, self.privacy) = work.slope, constants
            self.frozen_size = sum(parameter.numel() for parameter in self.parameters[: work.frozen])
            self.steps.clear()
        for_sgd = {"momentum": work.momentum, "a force": work.force, "private gradients": local.privacy}
        for what, wanted in for_sgd.items():
            if wanted and local.optimizer != "sgd":
                raise ValueError(f"the algorithm asks for {what}, which optimizer {local.optimizer} does not have")
        self.model.train()
        gpu = [self.flat.device] if self.flat.device.type == "cuda" else []
        measured = []
        # Dropout draws from torch's global generator: seed it per client, and leave it as it was.
        with torch.random.fork_rng(devices=gpu, enabled=self.stochastic):
            for place, client in enumerate(work.clients):
                if self.stochastic:
                    self._seed(dropout_seed(local, round, client))
                if local.objective or local.privacy:
                    nth = work.clients[:place].count(client)  # of several models that a client trains
                    self.draws = generator(local.seed, "modifiers", round, client, local.phase, nth)
                    self.round = round
                measured.append(self._train(work, place, local, round, losses))
                torch.sub(work.start[place], self.flat, out=delta[place])
        return Trained(delta, torch.stack(measured) if losses else None)

    def _train(self, work: Work, place: int, local: LocalTraining, round: int, losses: bool) -> Tensor:
        """Leaves the trained model in `flat`; mean loss of the first batch before its step, if it is asked for."""
        client, rate = work.clients[place], float(work.rate[place])
        samples, offset = self.sizes[client], self.offsets[client]
        batch = local.batch(samples)
        self.flat.copy_(work.start[place])
        prox = averaging = adam = away = None
        if work.momentum and local.steps(samples) > 1:  # a single step does not know of momentum
            self.z.flat.copy_(self.y)
            averaging = self.flat.new_tensor(1 - work.momentum)
            rate /= 1 - work.momentum
        if local.optimizer == "adamw":
            for moment in self.moments:
                moment.flat.zero_()
        scale = rate if local.optimizer == "sgd" else 1.0
        if work.prox is not None and work.anchor is not None and work.prox[place]:
            self.anchor.flat.copy_(work.anchor[place, : self.y.numel()])
            prox = self.flat.new_tensor(scale * float(work.prox[place]))
        direction = work.direction if work.mix > 0 else None
        if direction is not None:
            torch.mul(direction, scale * work.mix, out=self.direction_step.flat)
        decay = rate * local.weight_decay if local.optimizer == "sgd" else 0.0
        first, steps = None, 0
        for epoch in range(local.passes if samples else 0):
            windows: list[Any] = [slice(offset, offset + samples)]  # a view of the samples, no copy
            if batch < samples:
                rows = (order(samples, local, round, client, epoch) + offset).to(self.labels.device)
                windows = list(rows.split(batch))
            for window in windows:
                x, y, targets = self.inputs[window], self.labels[window], self.targets[window]
                if self.normalised and len(y) == 1:
                    continue  # one sample has no variance
                steps += 1
                if local.optimizer == "adamw":
                    # Step size with the correction of the first moment, that of the second, what is left of y.
                    corrections = rate / (1 - BETAS[0] ** steps), (1 - BETAS[1] ** steps) ** -0.5
                    adam = self.flat.new_tensor([*corrections, 1 - rate * local.weight_decay])
                weight = self.flat.new_tensor(scale * (1 - work.mix) / len(y))
                measured = losses and first is None
                if decay or work.force:  # both are of y before the step
                    away = self.y * decay
                    if work.force:
                        away += rate * work.force(self.y, place)
                    away[: self.frozen_size] = 0
                if away is not None and averaging is not None:
                    self.z.flat.sub_(away)
                kind = (prox is not None, averaging is not None, measured, adam is not None, direction is not None)
                step = self._captured_step(len(y), *kind)
                step(x, y, targets, weight, prox, averaging, adam)
                if away is not None and averaging is None:
                    self.y.sub_(away)
                if measured:
                    first = self.total / len(y)
                if local.single:
                    break
        return self.total.new_tensor(float("nan")) if first is None else first

    def _seed(self, seed: int) -> None:
        """Seed torch's global generators. torch.manual_seed takes 0.6 ms for remembering who called it."""
        torch.default_generator.manual_seed(seed)
        if self.flat.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _captured_step(
        self, size: int, proximal: bool, momentum: bool, measured: bool, adamw: bool, direction: bool
    ) -> CudaGraph:
        """The step on a batch of `size`; `measured` leaves the sum of its losses in `total`."""
        key = (size, proximal, momentum, measured, adamw, direction)
        if key not in self.steps:
            while len(self.steps) >= KEPT_STEPS:
                self.steps.pop(next(iter(self.steps)))
            buffers = [*([self.z] if momentum else []), *(self.moments if adamw else [])]
            state = [self.flat, *(buffer.flat for buffer in buffers)]
            graph = not (self.objective or self.privacy)  # they draw numbers
            self.steps[key] = CudaGraph(partial(_step, self, measured, direction), state, self.flat.device, graph)
        return self.steps[key]


def _step(
    backend: Sequential,
    measured: bool,
    direction: bool,
    inputs: Tensor,
    labels: Tensor,
    targets: Tensor,
    weight: Tensor,
    prox: Tensor | None,
    averaging: Tensor | None,
    adam: Tensor | None,
) -> None:
    """One local step; `weight` is (1 - mix) rate / batch size, `prox` is rate x prox.

    With momentum they are those of z. With AdamW `weight` is (1 - mix) / batch size, `prox` is prox and `adam` are the
    factors of the step.
    """
    manual_step = backend.manual_step if averaging is None else backend.manual_step_of_z
    special = backend.frozen or backend.objective or backend.privacy or prox is not None or adam is not None
    if manual_step is not None and not special and len(labels) <= samples_at_once(inputs, labels):
        total = manual_step(inputs, targets.T, weight, measured, backend.slope)
        if total is not None:
            backend.total.copy_(total)
    else:
        gradients = _gradients(backend, inputs, labels, weight)
        if direction and adam is not None:
            torch._foreach_add_(gradients, backend.direction_step.views[backend.frozen :])
        if adam is None:
            _descend(backend, gradients, prox, averaging)
        else:
            _adamw(backend, gradients, prox, adam)
    if direction and adam is None:
        moved = backend.y if averaging is None else backend.z.flat
        moved[backend.frozen_size :].sub_(backend.direction_step.flat[backend.frozen_size :])
    if averaging is not None:
        backend.y.lerp_(backend.z.flat, averaging)


def _gradients(backend: Sequential, inputs: Tensor, labels: Tensor, weight: Tensor) -> list[Tensor]:
    """slope(l) x weight x gradient of the summed losses, by autograd, of all parameters that are not frozen.

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
            raise ValueError("gradients clipped sample by sample are of the plain loss, the algorithm asks for a slope")
        gradients = privacy.gradients(backend.model, backend.loss.value, inputs, labels)[backend.frozen :]
    else:
        for x, y in zip(inputs.split(size), labels.split(size), strict=True):
            with torch.enable_grad():
                if objective is None:
                    loss = backend.loss.value(backend.outputs(x), y).sum()
                else:
                    loss = objective.losses(backend.outputs, x, y, backend.round, backend.draws).mean() * len(y)
                scaled = loss * factor  # and not `grad_outputs`, for which autograd imports sympy: a third of a second
            backend.total += loss.detach()
            new = list(torch.autograd.grad(scaled, free))
            if gradients:
                torch._foreach_add_(gradients, new)
            gradients = gradients or new
    if privacy is not None:
        gradients = privacy.private(gradients, n, backend.draws)
        torch._foreach_mul_(gradients, weight * n)
    if backend.slope is not None:
        torch._foreach_mul_(gradients, steepness(backend.slope, backend.total, len(labels)).to(weight.dtype))
    return gradients


def _descend(backend: Sequential, gradients: list[Tensor], prox: Tensor | None, averaging: Tensor | None) -> None:
    """The step of y or, with momentum, of z."""
    y, anchor = backend.y[backend.frozen_size :], backend.anchor.flat[backend.frozen_size :]
    if prox is not None and averaging is None:
        y.lerp_(anchor, prox)
    elif prox is not None:
        backend.z.flat[backend.frozen_size :].addcmul_(anchor - y, prox)
    moved = backend.parameters if averaging is None else backend.z.views
    torch._foreach_sub_(moved[backend.frozen :], gradients)


def _adamw(backend: Sequential, gradients: list[Tensor], prox: Tensor | None, adam: Tensor) -> None:
    """Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2."""
    rate, correction, left = adam
    y = backend.parameters[backend.frozen :]
    mean, square = (moment.views[backend.frozen :] for moment in backend.moments)
    if prox is not None:
        away = torch._foreach_sub(y, backend.anchor.views[backend.frozen :])
        torch._foreach_mul_(away, prox)
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
