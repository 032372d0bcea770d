"""Local SGD of dense models by hand: forward, backward and step are one product each.

No autograd graph, no optimizer, no allocation after the first batch of a size: buffers are kept and
written with `out=`. Values are `[*m, n, units]` for n samples of a batch and a stack of m models, or one alone, without
a dimension for models. The outputs are `[*m, C, n]`: softmax over a short last dimension takes 20 times as long on a
CPU. A step is

    w <- w - (sum of the weighted sample gradients),    weight of a sample = rate / batch size, 0 for padding

so the rate, its scale per client and the padding of unequal batches are all in the weights of the samples. With
momentum it is z that takes the step, and w follows z (fairfl.simulation.backends.interface.Work).
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor, nn

from fairfl.simulation.backends.cpu_tuning import tuning

# x w^T + b by oneDNN on dense tensors, the operator that torch's compiler uses. Kept apart from the rest of torch's
# linear algebra: those products go to the BLAS that torch was built with.
_onednn: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)  # None in builds without oneDNN


def is_plain(model: nn.Module) -> TypeGuard[nn.Sequential]:
    """True for a chain of layers whose parameters are their weights and biases, each once, in order, with gradient.

    It has nothing else: no hooks, no buffers, no other method. So a step by hand is the model's.
    """
    if type(model) is not nn.Sequential or any("forward" in vars(m) for m in model.modules()):
        return False
    of_layers = [layer._parameters.get(name) for layer in model for name in ("weight", "bias")]
    own = [parameter for parameter in of_layers if parameter is not None]
    attributes = [item for layer in model.modules() for item in vars(layer).items()]
    # What torch keeps in dictionaries beside these two are buffers and hooks of all kinds.
    more = [value for name, value in attributes if name not in ("_parameters", "_modules")]
    flats = [layer for layer in model if type(layer) is nn.Flatten]
    return (
        list(map(id, own)) == list(map(id, model.parameters()))
        and all(parameter.requires_grad and not parameter._backward_hooks for parameter in own)
        and not any(isinstance(value, dict) and value for value in more)
        and all((layer.start_dim, layer.end_dim) == (1, -1) for layer in flats)
    )


def supports(model: nn.Module) -> TypeGuard[nn.Sequential]:
    """True for a plain chain Flatten, Linear, ..., Linear with Dropout in between, and ReLU right after a Linear."""
    if not is_plain(model):
        return False
    kinds = [type(layer) for layer in model]
    return (
        kinds[:2] == [nn.Flatten, nn.Linear]
        and kinds[-1] is nn.Linear
        and all(
            before is nn.Linear for before, kind in itertools.pairwise(kinds) if kind is nn.ReLU
        )
        and all(kind in (nn.Linear, nn.ReLU, nn.Dropout) for kind in kinds[1:])
    )


def buffers(
    like: Tensor, models: tuple[int, ...], units: int, outputs: bool = False
) -> Callable[[int], Tensor]:
    """By size n of the batch a tensor [*m, n, units], or [*m, units, n] for outputs; allocated once."""
    return cache(lambda n: like.new_empty(*models, *((units, n) if outputs else (n, units))))


def onednn_from(like: Tensor) -> float:
    """Multiply-adds of a product of matrices like this one from which oneDNN is quicker here; infinity if never."""
    fits = like.device.type == "cpu" and like.dtype == torch.float32 and _onednn is not None
    return tuning().onednn_from if fits else math.inf


def affine(value: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """value w^T + b of one model, [n, out] of value [n, in], w [out, in] and b [out]."""
    if len(value) * weight.numel() >= onednn_from(weight):
        return _onednn(value, weight, bias, "none", [], "")
    return torch.nn.functional.linear(value, weight, bias)


# Multiply-adds of a linear model from which its outputs are made class by class, [C, n], as losses read them.
CLASSES_FIRST = 2**21


def linear_outputs(value: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Outputs [n, C] of a linear model, as `affine` has them; large ones by torch's BLAS lie class by class.

    BLAS is quicker at w value^T than at value w^T, and a loss needs no copy of them in another order.
    """
    multiply_adds = len(value) * weight.numel()
    if len(weight) == 1 or not CLASSES_FIRST <= multiply_adds < onednn_from(weight):
        return affine(value, weight, bias)
    by_class = (
        weight @ value.mT if bias is None else torch.addmm(bias.unsqueeze(1), weight, value.mT)
    )
    return by_class.mT


class Terms(NamedTuple):
    """Terms of a step beside the gradient: a factor of each model, [*m, 1, 1]; 0 for one whose epoch is over."""

    prox: Tensor | None = None  # rate x prox
    averaging: Tensor | None = None  # 1 - momentum
    direction: Tensor | None = None  # rate x along
    force: Tensor | None = None  # rate


class DenseLayer:
    """y = x w^T + b for w [*m, out, in] and b [*m, 1, out], if there is b; products in `product` precision.

    If it is `rectified`, y = max(x w^T + b, 0).
    """

    def __init__(
        self,
        models: tuple[int, ...],
        inputs: int,
        outputs: int,
        like: Tensor,
        product: torch.dtype,
        last: bool,
        bias: bool,
        rectified: bool,
    ) -> None:
        weights, biases = (*models, outputs, inputs), (*models, 1, outputs)
        self.shapes = (weights, biases) if bias else (weights,)
        self.last, self.rectified = last, rectified
        self.product: Callable[..., Tensor] = torch.bmm if models else torch.mm
        self.add_product: Callable[..., Tensor] = torch.baddbmm if models else torch.addmm
        low = like.to(product)
        self.low = None if product == like.dtype else low.new_empty(weights)
        self.outputs = buffers(low, models, outputs, outputs=last)
        self.below = buffers(low, models, inputs)
        # What a model alone may use instead of torch's BLAS, from so many samples.
        self.onednn_from = math.inf if models else onednn_from(low) / (inputs * outputs)
        self.sum = like.new_empty(biases)
        # The samples that come next as columns [in, n] too, if they are stored so.
        self.columns: Tensor | None = None
        self.parameters: list[Tensor] = []
        self.anchors: list[Tensor] = []
        self.directions: list[Tensor] = []
        self.forces: list[Tensor] = []  # on the models before the step
        self.z: list[Tensor] = []  # with momentum, see Work
        self.into: list[Tensor] | None = None

    def allocate(self) -> list[Tensor]:
        """Tensors for w, and b if there is one, or for their z."""
        return [self.sum.new_empty(shape) for shape in self.shapes]

    def borrow(self, parameters: list[Tensor], into: list[Tensor]) -> None:
        """Parameters that stay as they are: the one step that is taken from them is written to `into`."""
        self.parameters, self.into = parameters, into

    def forward(self, value: Tensor) -> Tensor:
        self.value, n = value, value.shape[-2]
        weight, *bias = self.parameters
        if self.low is not None:
            weight, bias = self.low.copy_(weight), [b.to(self.low.dtype) for b in bias]
        if n >= self.onednn_from and not self.last:
            above = "relu" if self.rectified else "none"
            self.out = _onednn(value, weight, bias[0][0] if bias else None, above, [], "")
        elif n >= self.onednn_from:
            self.out = _onednn(weight, value, None, "none", [], "")
            if bias:
                self.out.add_(bias[0].mT)
        else:
            below = value.mT if self.columns is None else self.columns
            factors, out = (weight, below) if self.last else (value, weight.mT), self.outputs(n)
            if bias:
                self.out = self.add_product(bias[0].mT if self.last else bias[0], *factors, out=out)
            else:
                self.out = self.product(*factors, out=out)
            if self.rectified:
                self.out.clamp_min_(0)
        return self.out

    def backward(self, gradient: Tensor, first: bool) -> Tensor | None:
        """Take `gradient` = d objective / d y and return d objective / d x (not needed by the first layer)."""
        if self.rectified:
            torch.ops.aten.threshold_backward.grad_input(gradient, self.out, 0, grad_input=gradient)
        self.gradient, self.turned = gradient, gradient.mT
        if self.last:
            self.gradient, self.turned = self.turned, self.gradient
        if first:
            return None
        weight, n = self.parameters[0] if self.low is None else self.low, self.gradient.shape[-2]
        if n >= self.onednn_from:
            return _onednn(self.gradient, weight.mT, None, "none", [], "")
        return self.product(self.gradient, weight, out=self.below(n))

    def step(self, terms: Terms) -> None:
        """Step on the gradient of `backward`."""
        # The step of the bias, and of the weight where it is not a product into what is stepped.
        if len(self.shapes) == 2:
            torch.sum(self.gradient, -2, keepdim=True, dtype=self.sum.dtype, out=self.sum)
        away: Tensor | None = None
        if self.value.shape[-2] >= self.onednn_from:
            away = _onednn(self.turned, self.value.mT, None, "none", [], "")
        elif self.low is not None:
            away = self.turned @ self.value
        # The one step from borrowed models.
        if self.into is not None:
            weight, *biases = self.into
            if away is None:
                self.product(self.turned, self.value, out=weight)
            else:
                weight.copy_(away)
            for bias in biases:
                bias.copy_(self.sum)
            return
        # A step of z with momentum, else of y.
        if terms.prox is not None:
            self._pull(terms.prox)
        stepped = self.z or self.parameters
        weight, *biases = stepped
        if away is None:
            self.add_product(weight, self.turned, self.value, alpha=-1, out=weight)
        else:
            weight.sub_(away)
        for bias in biases:
            bias.sub_(self.sum)
        for along, factor in ((self.directions, terms.direction), (self.forces, terms.force)):
            if factor is not None:
                for parameter, towards in zip(stepped, along, strict=True):
                    parameter.addcmul_(towards, factor, value=-1)
        if terms.averaging is not None:
            for y, z in zip(self.parameters, self.z, strict=True):
                y.lerp_(z, terms.averaging)

    def _pull(self, prox: Tensor) -> None:
        """Proximal term: a share of the way back to the anchor."""
        pairs = zip(self.parameters, self.anchors, strict=True)
        if not self.z:
            for y, anchor in pairs:
                y.lerp_(anchor, prox)
        else:
            for z, (y, anchor) in zip(self.z, pairs, strict=True):
                z.addcmul_(anchor - y, prox)


class DelayedLinear(DenseLayer):
    """A first layer whose w is read and written once in several steps, on batches X_0, X_1, ... that it knows ahead.

    With G_r the gradient with respect to the outputs of step r, step s finds w - sum_{r<s} G_r^T X_r, and so

        X_s w_s^T = X_s w^T - sum_{r<s} (X_s X_r^T) G_r

    where X w^T and X X^T of all batches are one product each; at the end w <- w - G^T X. These are the same numbers but
    for rounding. For steps on nothing but the gradient, in full precision.
    """

    def __init__(
        self, models: tuple[int, ...], inputs: int, outputs: int, like: Tensor, *kind: Any
    ) -> None:
        super().__init__(models, inputs, outputs, like, *kind)

        def make(n: int) -> list[Tensor]:
            return [like.new_empty(*models, n, size) for size in (outputs, outputs, n)]

        self.of_size = cache(make)

    def begin(self, samples: Tensor) -> None:
        """Take the samples [*m, n, in] of the next steps."""
        self.samples, self.done = samples, 0
        self.ahead, self.gradients, self.inner = self.of_size(samples.shape[-2])
        self.product(samples, self.parameters[0].mT, out=self.ahead)
        self.product(samples, samples.mT, out=self.inner)

    def forward(self, value: Tensor) -> Tensor:
        done, end = self.done, self.done + value.shape[-2]
        # Contiguous: a product into a part of `ahead` goes model by model.
        out = self.outputs(end - done)
        if len(self.parameters) == 2:
            torch.add(self.ahead[..., done:end, :], self.parameters[1], out=out)
        else:
            out.copy_(self.ahead[..., done:end, :])
        if done:
            inner, before = self.inner[..., done:end, :done], self.gradients[..., :done, :]
            self.add_product(out, inner, before, alpha=-1, out=out)
        self.out = out.clamp_min_(0) if self.rectified else out
        return self.out

    def step(self, terms: Terms) -> None:
        end = self.done + self.gradient.shape[-2]
        self.gradients[..., self.done : end, :] = self.gradient
        self.done = end
        for bias in self.parameters[1:]:
            bias.sub_(torch.sum(self.gradient, -2, keepdim=True, out=self.sum))

    def end(self) -> None:
        """Take the steps."""
        weight = self.parameters[0]
        self.add_product(weight, self.gradients.mT, self.samples, alpha=-1, out=weight)


class Dropout:
    """x times a mask that holds 0 with probability p, else 1 / (1 - p).

    Each model draws from its client's own generator, only for the samples that it really has, exactly as
    torch.nn.Dropout draws when that client trains alone. So both backends see the same masks.
    """

    def __init__(self, p: float) -> None:
        self.p = p
        # Generator and number of samples of each model in the batch that comes next.
        self.draws: Sequence[tuple[torch.Generator, int]] = ()

    def forward(self, value: Tensor) -> Tensor:
        self.mask = torch.zeros_like(value)
        masks = self.mask.view(-1, *value.shape[-2:])
        for mask, (generator, n) in zip(masks, self.draws, strict=True):
            if n:
                own = torch.empty(n, value.shape[-1], dtype=value.dtype)
                mask[:n] = own.bernoulli_(1 - self.p, generator=generator).div_(1 - self.p)
        return value.mul_(self.mask)

    def backward(self, gradient: Tensor, first: bool) -> Tensor:
        return gradient.mul_(self.mask)
