"""Backend for dense models: the clients of a round in blocks of like size, each a stack of models.

Saves kernel launches and autograd: a step of all models of a block is one batched product for each layer.
"""

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from fairfl.simulation.backends.cpu_tuning import tuning
from fairfl.simulation.backends.cuda_graph import Recent
from fairfl.simulation.backends.dense_kernels import affine, linear_outputs
from fairfl.simulation.backends.interface import LocalTraining, Trained, Work
from fairfl.simulation.backends.model_stack import ModelStack, Shape
from fairfl.simulation.backends.stacked_block import Block
from fairfl.simulation.clients import Part, sent
from fairfl.simulation.flat_parameters import bind, flatten
from fairfl.simulation.losses import ClosedForm

# Bytes of a client's samples from which it is a block of its own if its batch is full: the samples need not be copied.
ALONE_BYTES = 2**18
# A client with less than half of the samples of the first in its block starts a new one, unless the padding is cheaper
# than another round of kernels: multiply-adds of one model on the padded samples.
PADDING = 2**20
# Steps that share a pass over a layer's weights: fewer do not make up for the products among samples.
FEWEST_SHARING = 4
# Blocks that are kept for later rounds, and their bytes; on a GPU each is a captured graph, which takes long to make.
KEPT_BLOCKS, KEPT_BYTES = 256, {"cpu": 2**27, "cuda": 2**32}


class Stacked:
    """See `fairfl.simulation.backends.interface.Backend`."""

    gradients = normalised = False

    def __init__(
        self, model: nn.Sequential, loss: ClosedForm, part: Part, product: torch.dtype | None = None
    ) -> None:
        self.model, self.loss, self.part = model.eval(), loss, part
        self.product = product or part.inputs.dtype
        self.kind = part.inputs.device.type
        self.flat = flatten(model)
        bind(model, self.flat)
        self.size = len(self.flat)
        self.stochastic = any(isinstance(layer, nn.Dropout) for layer in model)
        self.layers = [layer for layer in model if isinstance(layer, nn.Linear)]
        self.linear = len(self.layers) == 1
        self.largest = max(
            layer.weight.numel() for layer in self.layers
        )  # numbers in a layer's weights
        self.blocks: Recent[Block] = Recent(KEPT_BLOCKS, KEPT_BYTES[self.kind])

    @torch.no_grad()
    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        self.flat.copy_(x)
        if self.kind != "cpu":
            return self.model.eval()(inputs)
        value = inputs.flatten(1)
        outputs = linear_outputs if self.linear else affine
        for layer in self.model:
            if isinstance(layer, nn.Linear):
                value = outputs(value, layer.weight, layer.bias)
            elif isinstance(layer, nn.ReLU):
                value = value.clamp_min_(0)
        return value

    def _frozen_layers(self, tensors: int) -> int:
        """Number of layers of the first so many parameter tensors. Raises ValueError if they end within one."""
        if not tensors:
            return 0
        counts = (len(list(layer.parameters())) for layer in self.layers)
        whole = list(itertools.accumulate(counts, initial=0))
        if tensors not in whole[:-1]:
            raise ValueError(
                f"frozen: {tensors} parameter tensors are no whole layers before the last ({whole[:-1]})"
            )
        return whole.index(tensors)

    def train(self, work: Work, local: LocalTraining, round: int, losses: bool = False) -> Trained:
        unsorted = [self.part.sizes[client] for client in work.clients]
        if local.single:
            unsorted = [local.batch(count) if count else 0 for count in unsorted]
        # Blocks of like sizes need little padding.
        places = sorted(range(len(unsorted)), key=lambda place: -unsorted[place])
        counts = [unsorted[place] for place in places]
        work = work if counts == unsorted else work.of(places)
        delta = work.start.new_empty(len(counts), self.size)
        measured = []
        block_of = cache(lambda *counts: self._block([*counts], local, work, losses))
        for first, last in self._cuts(counts, local):
            block = block_of(*counts[first:last])
            piece = work if last - first == len(counts) else work.of(slice(first, last))
            block.train(piece, counts[first:last], local, round, delta[first:last])
            if losses:
                measured.append(block.start_loss)
        loss = torch.cat(measured) if losses else None
        if counts == unsorted:
            return Trained(delta, loss)
        back = sent(torch.tensor(places).argsort(), delta.device)
        return Trained(delta[back], None if loss is None else loss[back])

    def _cuts(self, counts: list[int], local: LocalTraining) -> Iterator[tuple[int, int]]:
        """Yield where blocks begin and end; counts descend. A GPU is filled by large blocks, and takes all."""
        if self.kind != "cpu":
            yield 0, len(counts)
            return
        item = self.part.inputs.element_size()
        sample = item * self.part.inputs[0].numel()
        most = max(1, tuning().stack_bytes // (self.size * item))
        first = 0
        for place in range(1, len(counts) + 1):
            over = place == len(counts) or place - first == most
            batch = local.batch(counts[first])
            over = over or (batch >= counts[first] and counts[first] * sample > ALONE_BYTES)
            over = over or batch * self.largest >= tuning().alone_from
            if not over and 2 * counts[place] < counts[first]:
                over = (counts[first] - counts[place]) * self.size > PADDING
            if over:
                yield first, place
                first = place

    def _steps_a_pass(self, batch: int, steps: int) -> int:
        """Number of the plain steps of an epoch that share a pass over the first layer's weights."""
        if self.kind != "cpu" or self.linear or self.product != self.flat.dtype:
            return 1
        outputs = self.layers[0].out_features
        sharing = min(steps, int(tuning().pass_share * outputs) // batch)
        return sharing if sharing >= FEWEST_SHARING else 1

    def _block(
        self, counts: list[int], local: LocalTraining, work: Work, start_losses: bool
    ) -> Block:
        """Return the block of models whose clients have `counts` samples, an earlier round's or a new one."""
        # Samples. A captured graph serves one width: few widths mean few captures.
        width = max(1, counts[0])
        if self.kind != "cpu" and len(set(counts)) > 1:
            unit = local.batch(width) if local.batch(width) < width else 64
            width = -(-width // unit) * unit
        batch = local.batch(width)
        sizes = [self.part.sizes[client] for client in work.clients]
        # Terms of a step beside the gradient. A single step does not know of momentum.
        single, direction = local.steps(width) == 1, work.direction
        directions = 0 if direction is None else 1 if direction.dim() == 1 else len(counts)
        terms: dict[str, Any] = {
            "proximal": work.prox is not None,
            "momentum": work.momentum != 0 and not single,
            "frozen_layers": self._frozen_layers(work.frozen),
            "directions": directions,
            "forced": work.force is not None,
        }
        # How a step without any is taken.
        plain = not any(terms.values())
        borrowed = plain and single and self.kind == "cpu"
        shared = plain and not borrowed
        shape = Shape(
            models=len(counts),
            width=width,
            batch=batch,
            borrowed=borrowed,
            start_losses=start_losses,
            first_batch_only=local.single and any(local.batch(n) < n for n in sizes),
            steps_a_pass=self._steps_a_pass(batch, -(-width // batch)) if shared else 1,
            **terms,
        )

        def make() -> Block:
            like = self.part.inputs.new_empty(0)
            return Block(ModelStack(self.model, shape, self.loss, like, self.product), self.part)

        return self.blocks.get(shape, make)
