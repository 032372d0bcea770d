"""Models of one shape that take their steps together, as one chain of fairfl.simulation.backends.dense_kernels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Slope
from fairfl.simulation.backends.dense_kernels import DelayedLinear, DenseLayer, Dropout, Terms
from fairfl.simulation.losses import ClosedForm


@dataclass(frozen=True)
class Shape:
    """The kind of a block."""

    models: int
    width: int  # samples of each model; clients with less are padded with samples of weight 0
    batch: int
    borrowed: bool  # a single step on a full batch from models that are read where they are, and not copied
    start_losses: bool  # losses before the first step
    first_batch_only: bool  # the samples are the first batch of a client that has more
    steps_a_pass: int  # that share a pass over the first layer's weights
    # Terms of a step.
    proximal: bool
    momentum: bool
    frozen_layers: int  # layers that take no steps
    directions: int  # that models go along: none, one for all, or one each
    forced: bool


def _copy(tensors: list[Tensor], old: list[Tensor]) -> list[Tensor]:
    """Copies of tensors, in the `old` ones if there are any: they stay where a captured graph finds them."""
    copies = old or [tensor.new_empty(tensor.shape) for tensor in tensors]
    torch._foreach_copy_(copies, tensors)
    return copies


class ModelStack:
    """A stack of m models of one shape, or one model alone, as a chain of layers.

    Either `load` models, let them take steps and ask how far they have `moved`; or, for a single step, `borrow` them:
    the step itself is the update, and no copy of the models is made.
    """

    def __init__(
        self,
        model: nn.Sequential,
        shape: Shape,
        loss: ClosedForm,
        like: Tensor,
        product: torch.dtype,
    ) -> None:
        self.shape, self.loss, self.product = shape, loss, product
        # The leading dimension of all tensors.
        self.models = () if shape.models == 1 else (shape.models,)
        self.layers = list(self._layers(model, like))
        self.dense = [layer for layer in self.layers if isinstance(layer, DenseLayer)]
        self.dropouts = [layer for layer in self.layers if isinstance(layer, Dropout)]
        self.lowest = self.dense[shape.frozen_layers]  # gradients go no deeper
        self.classes = self.dense[-1].shapes[0][-2]
        numbers = sum(one[-2] * one[-1] for dense in self.dense for one in dense.shapes)
        # The models as rows [m, P], for forces.
        self.rows = like.new_empty(shape.models, numbers if shape.forced else 0)
        if shape.forced:
            for dense, places in zip(self.dense, self._places(self.rows), strict=True):
                dense.parameters = places
        elif not shape.borrowed:
            for dense in self.dense:
                dense.parameters = dense.allocate()
        if shape.momentum:
            for dense in self.dense:
                dense.z = dense.allocate()
        self.parameters = [parameter for dense in self.dense for parameter in dense.parameters]
        self.z = [z for dense in self.dense for z in dense.z]
        self.start: list[Tensor] = []  # of the round, by parameter
        self.state = [*self.parameters, *self.z]  # what a step changes

    def _layers(self, model: nn.Sequential, like: Tensor) -> Iterator[Any]:
        """The layers of a model that a step computes; ReLU belongs to the layer before it."""
        for layer, above in zip(model, [*model[1:], None], strict=True):
            if isinstance(layer, nn.Linear):
                sizes = self.models, layer.in_features, layer.out_features
                kind = above is None, layer.bias is not None, isinstance(above, nn.ReLU)
                delayed = self.shape.steps_a_pass > 1 and layer is model[1]
                yield (DelayedLinear if delayed else DenseLayer)(*sizes, like, self.product, *kind)
            elif isinstance(layer, nn.Dropout) and layer.p > 0:
                yield Dropout(layer.p)

    def _places(self, flat: Tensor) -> list[list[Tensor]]:
        """Views of `flat` [m, P] in the shapes of each layer's parameters, in the order of `model.parameters()`.

        A flat [1, P] for all models of a stack keeps a first dimension of 1.
        """
        rows = (-1,) if self.models else ()
        sizes = [shape[-2] * shape[-1] for layer in self.dense for shape in layer.shapes]
        pieces = iter(flat.split_with_sizes(sizes, 1))
        return [
            [next(pieces).view(*rows, *shape[-2:]) for shape in layer.shapes]
            for layer in self.dense
        ]

    def borrow(self, flat: Tensor, out: Tensor) -> None:
        """Take one step from `flat` [m, P] and write it to `out` [m, P]."""
        for layer, parameters, into in zip(
            self.dense, self._places(flat), self._places(out), strict=True
        ):
            layer.borrow(parameters, into)

    def load(self, flat: Tensor, anchors: Tensor | None, direction: Tensor | None) -> None:
        """Set the models to `flat` [m, P]; `anchors` [m, P] are what a proximal term pulls to.

        `direction` [P] is what all models go along, [m, P] what each does.
        """
        self.start = [place for places in self._places(flat) for place in places]
        for parameter, place in zip(self.parameters, self.start, strict=True):
            parameter.copy_(place)
        if self.z:
            torch._foreach_copy_(self.z, self.start)
        if anchors is not None:
            for layer, places in zip(self.dense, self._places(anchors), strict=True):
                layer.anchors = _copy(places, layer.anchors)
        if direction is not None:
            all_places = self._places(torch.atleast_2d(direction))
            for layer, places in zip(self.dense, all_places, strict=True):
                layer.directions = _copy(places, layer.directions)

    def release(self) -> None:
        """Let go of what belongs to the round, which a chain kept for later rounds would keep alive."""
        self.start = []
        for layer in self.dense:
            layer.forces = []
            if layer.into is not None:
                layer.parameters, layer.into = [], None

    def bytes(self, batch: int) -> int:
        """Memory of the models and of the values of a batch."""
        values = sum(sum(layer.shapes[0][-2:]) for layer in self.dense) * self.shape.models * batch
        return values * self.product.itemsize + sum(tensor.nbytes for tensor in self.state)

    def moved(self, out: Tensor) -> None:
        """Write what was loaded minus the models as they are into `out` [m, P]."""
        places = [place for places in self._places(out) for place in places]
        for parameter, start, place in zip(self.parameters, self.start, places, strict=True):
            torch.sub(start, parameter, out=place)

    def step(
        self,
        inputs: Tensor,
        targets: Tensor,
        weights: Tensor,
        terms: Terms,
        slope: Slope | None = None,
        losses: Tensor | None = None,
        force: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        """One step on inputs [*m, n, d], targets [*m, C, n], weights [*m, 1, n].

        The losses of the samples before the step are written to `losses` [*m, n] if it is given.
        """
        if force is not None:
            for layer, places in zip(self.dense, self._places(force(self.rows)), strict=True):
                layer.forces = places
        value = inputs
        for layer in self.layers:
            value = layer.forward(value)
        exact = self.product == weights.dtype
        outputs = value if exact else value.to(weights.dtype)
        if losses is not None or slope is not None:
            measured = self.loss.of_targets(outputs, targets)
            if losses is not None:
                losses.copy_(measured)
            if slope is not None:
                weights = sloped(weights, measured, slope)
        gradient: Any = self.loss.gradient(outputs, targets).mul_(weights)
        gradient = gradient if exact else gradient.to(value.dtype)
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient, layer is self.lowest)
            if isinstance(layer, DenseLayer):
                layer.step(terms)  # at once, while the caches hold its weights
            if layer is self.lowest:
                break


def sloped(weights: Tensor, losses: Tensor, slope: Slope) -> Tensor:
    """Weights [*m, 1, n] of samples times slope(l), with l the mean of each model's losses [*m, n].

    A mean by weight, so that padding has no part in it. Where all weights are 0 l is undefined, and they stay 0.
    """
    total = (weights.double() @ losses.double().unsqueeze(-1)).flatten()
    factors = slope(total / weights.sum((-2, -1), dtype=torch.float64).flatten())
    return torch.where(
        weights == 0, 0, weights * factors.to(weights.dtype).view(*weights.shape[:-2], 1, 1)
    )
