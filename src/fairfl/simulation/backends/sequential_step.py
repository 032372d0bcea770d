"""One local step of the sequential backend, by autograd or by hand."""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from fairfl.simulation.backends import batches
from fairfl.simulation.backends.interface import mean_loss_derivative
from fairfl.simulation.evaluation import samples_at_once

if TYPE_CHECKING:
    from fairfl.simulation.backends.sequential import Sequential

# AdamW as in torch.optim, and its defaults: decay of the two moments, and what keeps a step finite.
BETAS, EPSILON = (0.9, 0.999), 1e-8


class Buffer(NamedTuple):
    """Numbers laid out as the parameters y, [P], and views of them in the shape of each parameter."""

    flat: Tensor
    views: list[Tensor]


class StepKind(NamedTuple):
    """Terms that a step has. They are decided when it is captured."""

    proximal: bool
    averages: bool  # with momentum
    adamw: bool
    directed: bool  # the client follows a direction
    short: bool = False  # the batch is padded with samples of weight 0
    measured: bool = False  # the sum of the batch's losses is left in `total`


class StepFactors:
    """Numbers of a step in tensors that stay. Filling one does not wait for a GPU, as copying a new one there would."""

    def __init__(self, like: Tensor) -> None:
        self.weight, self.real, self.pull, self.averaging = (like.new_zeros(()) for _ in range(4))
        self.rate, self.correction, self.left = (like.new_zeros(()) for _ in range(3))  # of AdamW
        self.filled: dict[str, float] = {}

    def fill(self, name: str, value: float) -> None:
        """Most steps have the values of the one before: on a GPU a launch less for each."""
        if self.filled.get(name) != value:
            getattr(self, name).fill_(value)
            self.filled[name] = value

    def correct(self, steps: int, rate: float, weight_decay: float) -> None:
        """AdamW's step size with the correction of the first moment, that of the second, what is left of y."""
        self.fill("rate", rate / (1 - BETAS[0] ** steps))
        self.fill("correction", (1 - BETAS[1] ** steps) ** -0.5)
        self.fill("left", 1 - rate * weight_decay)


def step(backend: "Sequential", kind: StepKind, window: batches.Window) -> None:
    """One local step on the samples of `window`.

    `factors.weight` is (1 - mix) rate / batch size, `factors.pull` is rate x prox. With momentum they are those of z.
    With AdamW they are (1 - mix) / batch size and prox.
    """
    inputs, labels, factors = backend.inputs[window], backend.labels[window], backend.factors
    manual_step = backend.manual_step_of_z if kind.averages else backend.manual_step
    special = backend.frozen or backend.objective or backend.privacy or kind.proximal or kind.adamw
    weight, real = factors.weight, None
    if kind.short:
        real = torch.arange(len(labels), device=labels.device).lt(factors.real).to(weight.dtype)
    if manual_step is not None and not special and len(labels) <= samples_at_once(inputs, labels):
        targets = backend.targets[window].T
        total = manual_step(inputs, targets, weight, kind.measured, backend.slope, real)
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
        backend.y.lerp_(backend.z.flat, factors.averaging)
    backend.keep_buffers()


def _gradients(
    backend: "Sequential", inputs: Tensor, labels: Tensor, weight: Tensor, real: Tensor | None
) -> list[Tensor]:
    """slope(l) x weight x gradient of the summed losses, by autograd, of the parameters that move.

    `real` [n] is 1 for samples that count and 0 for padding; None: all count. With privacy it is what that makes of
    the gradients.
    """
    n, privacy = len(labels), backend.privacy
    backend.total.zero_()
    if privacy is None:
        gradients = _summed(backend, inputs, labels, weight, real)
    elif not privacy.per_sample:
        gradients = _summed(backend, inputs, labels, 1 / n, real)
    elif backend.slope is None:
        every = privacy.gradients(backend.model, backend.loss.value, inputs, labels)
        gradients = every[backend.frozen :]
    else:
        raise ValueError(
            "gradients clipped sample by sample are of the plain loss, the algorithm asks for a slope"
        )
    if privacy is not None:
        gradients = privacy.private(gradients, n, backend.noise)
        torch._foreach_mul_(gradients, weight * n)
    if backend.slope is not None:
        count = n if real is None else real.sum(dtype=torch.float64)
        torch._foreach_mul_(
            gradients, mean_loss_derivative(backend.slope, backend.total, count).to(weight.dtype)
        )
    return gradients


def _summed(
    backend: "Sequential",
    inputs: Tensor,
    labels: Tensor,
    factor: Tensor | float,
    real: Tensor | None,
) -> list[Tensor]:
    """factor x gradient of the summed losses, or objectives; a batch too large for one pass is summed over pieces."""
    size, objective = samples_at_once(inputs, labels), backend.objective
    gradients: list[Tensor] = []
    counted = [None] * -(-len(labels) // size) if real is None else real.split(size)
    for x, y, counts in zip(inputs.split(size), labels.split(size), counted, strict=True):
        with torch.enable_grad():
            if objective is None:
                losses = backend.loss.value(backend.outputs(x), y)
                loss = (losses if counts is None else losses * counts).sum()
            else:
                values = objective.losses(backend.outputs, x, y, backend.round, backend.draws)
                loss = values.mean() * len(y)
            # And not `grad_outputs`, for which autograd imports sympy: a third of a second.
            scaled = loss * factor
        backend.total += loss.detach()
        moving = backend.parameters[backend.frozen :]
        # Parameters that the model does not use have gradient 0.
        new = list(torch.autograd.grad(scaled, moving, materialize_grads=True))
        if gradients:
            torch._foreach_add_(gradients, new)
        gradients = gradients or new
    return gradients


def _descend(backend: "Sequential", gradients: list[Tensor], kind: StepKind) -> None:
    """The step of y or, with momentum, of z."""
    y, anchor = backend.y[backend.frozen_size :], backend.anchor.flat[backend.frozen_size :]
    if kind.proximal and not kind.averages:
        y.lerp_(anchor, backend.factors.pull)
    elif kind.proximal:
        backend.z.flat[backend.frozen_size :].addcmul_(anchor - y, backend.factors.pull)
    moved = backend.z.views if kind.averages else backend.parameters
    torch._foreach_sub_(moved[backend.frozen :], gradients)


def _adamw(backend: "Sequential", gradients: list[Tensor], proximal: bool) -> None:
    """Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2."""
    factors = backend.factors
    y = backend.parameters[backend.frozen :]
    mean, square = (moment.views[backend.frozen :] for moment in backend.moments)
    if proximal:
        away = torch._foreach_sub(y, backend.anchor.views[backend.frozen :])
        torch._foreach_mul_(away, backend.factors.pull)
        gradients = list(torch._foreach_add(gradients, away))
    torch._foreach_lerp_(mean, gradients, 1 - BETAS[0])
    torch._foreach_mul_(square, BETAS[1])
    torch._foreach_addcmul_(square, gradients, gradients, 1 - BETAS[1])
    deviation = torch._foreach_sqrt(square)
    torch._foreach_mul_(deviation, factors.correction)
    torch._foreach_add_(deviation, EPSILON)
    step = torch._foreach_div(mean, deviation)
    torch._foreach_mul_(step, factors.rate)
    torch._foreach_mul_(y, factors.left)
    torch._foreach_sub_(y, step)
