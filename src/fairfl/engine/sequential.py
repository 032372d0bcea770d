"""Backend for any torch.nn model: one client after the other on a flat parameter vector.

Steps are by autograd, or by hand for plain chains of convolutions (fairfl.engine.convolutional).
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from fairfl.engine import convolutional
from fairfl.engine.federation import Part
from fairfl.engine.local import LocalTraining, Trained, Work, dropout_seed, order
from fairfl.engine.losses import LOSSES
from fairfl.engine.parameters import bind, flatten
from fairfl.engine.program import Program

# Samples in one forward or backward pass. Bounds memory only: gradients of a larger batch are summed over pieces.
CHUNK = 2048
# Captured steps kept at once, one per batch size.
PROGRAMS = 64
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


class Sequential:
    """See `fairfl.engine.local.Backend`."""

    def __init__(self, model: nn.Module, loss: str, part: Part, product: torch.dtype | None = None) -> None:
        self.model = model
        self.loss = LOSSES[loss]
        self.labels, self.sizes, self.offsets = part.labels, part.sizes, part.offsets
        self.inputs = channels_last(part.inputs)
        self.flat = flatten(model)
        self.anchor = torch.empty_like(self.flat)
        self.parameters = bind(model, self.flat)
        self.product = self.flat.dtype if product is None else product
        self.stochastic = not all(type(layer) in DETERMINISTIC for layer in model.modules())
        self.total = torch.zeros((), dtype=torch.float64, device=self.flat.device)  # loss of the newest batch, summed
        by_hand = self.product == self.flat.dtype and convolutional.supports(model)
        self.chain = convolutional.Chain(model, self.loss) if by_hand else None  # type: ignore[arg-type]
        self.targets = self.labels.unsqueeze(1)  # [N, C] if steps are by hand
        if self.chain:
            classes = len(self.chain.last.bias)
            self.targets = self.loss.targets(self.labels.unsqueeze(0), classes, self.flat.dtype)[0].T.contiguous()
        self.programs: dict[tuple[int, bool, bool], Program] = {}

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
    @torch.no_grad()
    def train(self, work: Work, local: LocalTraining, round: int, losses: bool = False) -> Trained:
        delta = work.start.new_empty(len(work.clients), self.flat.numel())
        self.model.train()
        gpu = [self.flat.device] if self.flat.device.type == "cuda" else []
        measured = []
        # Dropout draws from torch's global generator: seed it per client, and leave it as it was.
        with torch.random.fork_rng(devices=gpu, enabled=self.stochastic):
            for place, client in enumerate(work.clients):
                if self.stochastic:
                    self._seed(dropout_seed(local, round, client))
                measured.append(self._train(work, place, local, round, losses))
                torch.sub(work.start[place], self.flat, out=delta[place])
        return Trained(delta, torch.stack(measured) if losses else None)

    def _train(self, work: Work, place: int, local: LocalTraining, round: int, losses: bool) -> Tensor:
        """Leaves the trained model in `flat`; mean loss of the first batch before its step, if it is asked for."""
        client, rate = work.clients[place], float(work.rate[place])
        count, offset = self.sizes[client], self.offsets[client]
        batch = local.batch(count)
        self.flat.copy_(work.start[place])
        pull = None
        if work.prox is not None and work.anchor is not None:
            self.anchor.copy_(work.anchor[place])
            pull = self.flat.new_tensor(rate * float(work.prox[place]))
        first = None
        for epoch in range(local.epochs if count else 0):
            windows: list[Any] = [slice(offset, offset + count)]  # a view of the samples, no copy
            if batch < count:
                rows = (order(count, local, round, client, epoch) + offset).to(self.labels.device)
                windows = list(rows.split(batch))
            for window in windows:
                x, y, targets = self.inputs[window], self.labels[window], self.targets[window]
                weight = self.flat.new_tensor(rate / len(y))
                measured = losses and first is None
                self._program(len(y), pull is not None, measured)(x, y, targets, weight, pull)
                if measured:
                    first = self.total / len(y)
        return self.total.new_tensor(float("nan")) if first is None else first

    def _seed(self, seed: int) -> None:
        """Seed torch's global generators. torch.manual_seed takes 0.6 ms for remembering who called it."""
        torch.default_generator.manual_seed(seed)
        if self.flat.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _program(self, size: int, pulled: bool, measured: bool) -> Program:
        """The step on a batch of `size`; `measured` leaves the sum of its losses in `total`."""
        key = (size, pulled, measured)
        if key not in self.programs:
            while len(self.programs) >= PROGRAMS:
                self.programs.pop(next(iter(self.programs)))
            state = [self.flat, *self.model.buffers()]
            self.programs[key] = Program(partial(_step, self, measured), state, self.flat.device)
        return self.programs[key]


def _step(
    backend: Sequential,
    measured: bool,
    inputs: Tensor,
    labels: Tensor,
    targets: Tensor,
    weight: Tensor,
    pull: Tensor | None,
) -> None:
    """One local step; `weight` is rate / batch size, `pull` is rate x prox."""
    if backend.chain and pull is None and len(labels) <= CHUNK:
        total = backend.chain.step(inputs, targets.T, weight, measured)
        if total is not None:
            backend.total.copy_(total)
        return
    gradients: list[Tensor] = []
    backend.total.zero_()
    for x, y in zip(inputs.split(CHUNK), labels.split(CHUNK), strict=True):
        with torch.enable_grad():
            loss = backend.loss.value(backend.outputs(x), y).sum()
            objective = loss * weight  # and not `grad_outputs`, for which autograd imports sympy: a third of a second
        backend.total += loss.detach()
        new = list(torch.autograd.grad(objective, backend.parameters))
        if gradients:
            torch._foreach_add_(gradients, new)
        gradients = gradients or new
    if pull is not None:
        backend.flat.lerp_(backend.anchor, pull)
    torch._foreach_sub_(backend.parameters, gradients)
