"""One local step of the sequential backend, by autograd or by hand."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Slope
from fairfl.simulation.backends import batches, conv_kernels
from fairfl.simulation.backends.interface import mean_loss_derivative
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import samples_at_once
from fairfl.simulation.flat_parameters import align_statistics, bind, count, flatten
from fairfl.simulation.losses import ClosedForm, Loss

if TYPE_CHECKING:
    from fairfl.modifiers.interface import Objective, Privacy

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
        """AdamW's step size with the correction of the first moment, and of the second, what is left of y."""
        self.fill("rate", rate / (1 - BETAS[0] ** steps))
        self.fill("correction", (1 - BETAS[1] ** steps) ** -0.5)
        self.fill("left", 1 - rate * weight_decay)


def channels_last(inputs: Tensor) -> Tensor:
    """Images in the memory order in which CPU and GPU convolutions are fastest.

    A copy and not `contiguous(memory_format=...)`: that leaves images of one channel as they are, and the convolutions
    after them would run in the slow order.
    """
    if inputs.dim() != 4 or inputs.stride(1) == 1:
        return inputs
    return torch.empty_like(inputs, memory_format=torch.channels_last).copy_(inputs)


class SteppedModel:
    """A model on a flat vector of parameters, and what a local step on it reads and writes."""

    def __init__(
        self, model: nn.Module, loss: Loss, part: Part, product: torch.dtype | None = None
    ) -> None:
        self.model, self.loss = model, loss
        self.labels, self.inputs = part.labels, channels_last(part.inputs)
        self.flat = flatten(model)
        every = bind(model, self.flat)
        self.parameters = [parameter for parameter in every if parameter.requires_grad]
        self.still = [parameter for parameter in every if not parameter.requires_grad]
        self.statistics, self.statistics_in_flat = align_statistics(model)
        places = [(m, name) for m in model.modules() for name in m._buffers]
        self.buffers: list[tuple[dict[str, Any], str, Any]] = [
            (module._buffers, name, module._buffers[name]) for module, name in places
        ]
        self.y = self.flat[: count(model)]  # without statistics
        self.anchor = self._buffer()
        # Parameter tensors, and numbers in them, that steps do not change.
        self.frozen = self.frozen_size = 0
        self.product = self.flat.dtype if product is None else product
        # Loss of the newest batch, summed.
        self.total = torch.zeros((), dtype=torch.float64, device=self.flat.device)
        self.manual_step = self._by_hand(self.parameters)
        self.targets = self.labels.unsqueeze(1)  # [N, C] if steps are by hand
        if self.manual_step:
            classes, loss = len(self.manual_step.last.bias), self.manual_step.loss
            self.targets = loss.targets(self.labels, classes, self.flat.dtype).T.contiguous()
        self.factors = StepFactors(self.flat)
        self.slope: Slope | None = None
        self.objective: Objective | None = None
        self.privacy: Privacy | None = None
        self.draws = torch.Generator()  # of the objective of the client that trains now
        self.noise = torch.Generator(self.flat.device)  # of its privacy; on a CPU they are the same
        self.round = 0

    def _by_hand(self, moved: list[Tensor]) -> conv_kernels.ManualStep | None:
        """The model's step by hand, which changes `moved`, if there is one."""
        exact = self.product == self.flat.dtype
        if exact and isinstance(self.loss, ClosedForm) and conv_kernels.supports(self.model):
            return conv_kernels.ManualStep(self.model, self.loss, moved)
        return None

    def _buffer(self) -> Buffer:
        flat, ps = torch.zeros_like(self.y), self.parameters
        return Buffer(flat, [flat.as_strided(p.shape, p.stride(), p.storage_offset()) for p in ps])

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
        """Step along the direction of the client that trains now, which adds to each step."""
        return self._buffer()

    def outputs(self, inputs: Tensor) -> Tensor:
        """Outputs of the model as it stands; products in the precision that was asked for."""
        if self.product == self.flat.dtype:
            return self.model(inputs)
        with torch.autocast(self.flat.device.type, dtype=self.product):
            return self.model(inputs).to(self.flat.dtype)

    def keep_buffers(self) -> None:
        """Write what a forward pass put in place of buffers into these, which the next one finds again."""
        for buffers, name, buffer in self.buffers:
            if buffer is not None and buffers[name] is not buffer:
                buffers[name] = buffer.copy_(buffers[name])

    def step(self, kind: StepKind, window: batches.Window) -> None:
        """One local step on the samples of `window`.

        `factors.weight` is (1 - mix) rate / batch size, `factors.pull` is rate x prox, with momentum for z. With AdamW
        they are (1 - mix) / batch size and prox.
        """
        inputs, labels, factors = self.inputs[window], self.labels[window], self.factors
        manual_step = self.manual_step_of_z if kind.averages else self.manual_step
        special = self.frozen or self.objective or self.privacy or kind.proximal or kind.adamw
        weight, real = factors.weight, None
        if kind.short:
            real = torch.arange(len(labels), device=labels.device).lt(factors.real).to(weight.dtype)
        if (
            manual_step is not None
            and not special
            and len(labels) <= samples_at_once(inputs, labels)
        ):
            targets = self.targets[window].T
            total = manual_step(inputs, targets, weight, kind.measured, self.slope, real)
            if total is not None:
                self.total.copy_(total)
        else:
            gradients = self._gradients(inputs, labels, weight, real)
            if kind.directed and kind.adamw:
                torch._foreach_add_(gradients, self.direction_step.views[self.frozen :])
            if kind.adamw:
                self._adamw(gradients, kind.proximal)
            else:
                self._descend(gradients, kind)
        if kind.directed and not kind.adamw:
            moved = self.z.flat if kind.averages else self.y
            moved[self.frozen_size :].sub_(self.direction_step.flat[self.frozen_size :])
        if kind.averages:
            self.y.lerp_(self.z.flat, factors.averaging)
        self.keep_buffers()

    def _gradients(
        self, inputs: Tensor, labels: Tensor, weight: Tensor, real: Tensor | None
    ) -> list[Tensor]:
        """slope(l) x weight x gradient of the summed losses, by autograd, of the parameters that move.

        `real` [n] is 1 for samples that count and 0 for padding; None: all count. With privacy it is what that makes of
        the gradients.
        """
        n, privacy = len(labels), self.privacy
        self.total.zero_()
        if privacy is None:
            gradients = self._summed(inputs, labels, weight, real)
        elif not privacy.per_sample:
            gradients = self._summed(inputs, labels, 1 / n, real)
        elif self.slope is None:
            every = privacy.gradients(self.model, self.loss.value, inputs, labels)
            gradients = every[self.frozen :]
        else:
            raise ValueError(
                "gradients clipped sample by sample are of the plain loss, the algorithm asks for a slope"
            )
        if privacy is not None:
            gradients = privacy.private(gradients, n, self.noise)
            torch._foreach_mul_(gradients, weight * n)
        if self.slope is not None:
            count = n if real is None else real.sum(dtype=torch.float64)
            torch._foreach_mul_(
                gradients, mean_loss_derivative(self.slope, self.total, count).to(weight.dtype)
            )
        return gradients

    def _summed(
        self,
        inputs: Tensor,
        labels: Tensor,
        factor: Tensor | float,
        real: Tensor | None,
    ) -> list[Tensor]:
        """factor x gradient of the summed losses, or objectives; a batch too large for one pass is summed in pieces."""
        size, objective = samples_at_once(inputs, labels), self.objective
        gradients: list[Tensor] = []
        counted = [None] * -(-len(labels) // size) if real is None else real.split(size)
        for x, y, counts in zip(inputs.split(size), labels.split(size), counted, strict=True):
            with torch.enable_grad():
                if objective is None:
                    losses = self.loss.value(self.outputs(x), y)
                    loss = (losses if counts is None else losses * counts).sum()
                else:
                    values = objective.losses(self.outputs, x, y, self.round, self.draws)
                    loss = values.mean() * len(y)
                # And not `grad_outputs`, for which autograd imports sympy: a third of a second.
                scaled = loss * factor
            self.total += loss.detach()
            moving = self.parameters[self.frozen :]
            # Parameters that the model does not use have gradient 0.
            new = list(torch.autograd.grad(scaled, moving, materialize_grads=True))
            if gradients:
                torch._foreach_add_(gradients, new)
            gradients = gradients or new
        return gradients

    def _descend(self, gradients: list[Tensor], kind: StepKind) -> None:
        """The step of y or, with momentum, of z."""
        y, anchor = self.y[self.frozen_size :], self.anchor.flat[self.frozen_size :]
        if kind.proximal and not kind.averages:
            y.lerp_(anchor, self.factors.pull)
        elif kind.proximal:
            self.z.flat[self.frozen_size :].addcmul_(anchor - y, self.factors.pull)
        moved = self.z.views if kind.averages else self.parameters
        torch._foreach_sub_(moved[self.frozen :], gradients)

    def _adamw(self, gradients: list[Tensor], proximal: bool) -> None:
        """Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2."""
        factors = self.factors
        y = self.parameters[self.frozen :]
        mean, square = (moment.views[self.frozen :] for moment in self.moments)
        if proximal:
            away = torch._foreach_sub(y, self.anchor.views[self.frozen :])
            torch._foreach_mul_(away, self.factors.pull)
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
