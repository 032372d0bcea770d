"""The roofline of a row: the products of a round and nothing else, each in its quickest form.

A product is the forward pass, the gradient of the weights or (but for the first layer) the gradient of the inputs of
one layer. It runs as often as in a round: for all models and batches, over as many different tensors as there are
models, and samples. Forms are mm, addmm and bmm (of all models or groups of them), baddbmm and oneDNN, with every
operand in either layout, and the result or its transpose. The same three of a convolution are torch's own, on images
in rows or with channels last, with one weight for all models. The quickest is chosen for each product on its own, so a
whole round can be slower than this, but hardly quicker: only by a form that is not among them.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmarks.peers.gemm import onednn, onednn_fits
from benchmarks.worker import Competitor, Job

TRIAL_S = 0.02  # of each form at first; the best of these then run on all batches
FINALISTS = 6
SMALL = 2**-20  # keeps sums in place finite


@dataclass(frozen=True)
class Product:
    """left [m, rows, inner] times right [m, inner, columns] for each model, in each batch."""

    name: str
    left: str  # "samples": other ones in each batch; "weights" or "values": the same in each
    right: str

    def sizes(self, n: int, inputs: int, outputs: int) -> tuple[int, int, int]:
        """Rows, inner, columns for a batch of n."""
        return {
            "forward": (n, inputs, outputs),
            "gradient of weights": (outputs, n, inputs),
            "gradient of inputs": (n, outputs, inputs),
        }[self.name]


def products_of(first: bool) -> list[Product]:
    """The products of a layer."""
    below = "samples" if first else "values"
    found = [Product("forward", below, "weights"), Product("gradient of weights", "values", below)]
    return found if first else [*found, Product("gradient of inputs", "values", "weights")]


@dataclass(frozen=True)
class Form:
    """How a product is computed."""

    kind: str  # mm | addmm | onednn, one model after the other; bmm | baddbmm, groups of models
    group: int
    flipped: tuple[bool, bool]  # operands that are stored column after column
    transposed: bool  # the transpose of the result is what is computed

    def __str__(self) -> str:
        return self.kind + (f" of {self.group} models" if self.kind in ("bmm", "baddbmm") else "")


def forms(models: int, by_onednn: bool) -> Iterator[Form]:
    groups = [g for g in range(2, models + 1) if models % g == 0]
    kinds = [
        ("mm", 1),
        ("addmm", 1),
        *itertools.product(("bmm", "baddbmm"), groups),
        *[("onednn", 1)] * by_onednn,
    ]
    layouts = list(itertools.product((False, True), repeat=2))
    for (kind, group), flipped, transposed in itertools.product(kinds, layouts, (False, True)):
        yield Form(kind, group, flipped, transposed)


class Operands:
    """The operands of a product of a layer, for `models` models and batches of these sizes, in either layout."""

    def __init__(
        self,
        product: Product,
        layer: tuple[int, int],
        models: int,
        batches: list[int],
        like: Tensor,
    ) -> None:
        self.product, self.layer, self.models, self.batches, self.like = (
            product,
            layer,
            models,
            batches,
            like,
        )
        self.kept: dict[tuple[int, int, bool], Tensor] = {}

    def of(self, side: int, place: int, flipped: bool) -> Tensor:
        """The left (0) or right (1) one of the batch at a place, [m, ., .]."""
        what, n = (self.product.left, self.product.right)[side], self.batches[place]
        key = (side, {"samples": place, "weights": -1, "values": -n}[what], flipped)
        if key not in self.kept:
            rows, inner, columns = self.product.sizes(n, *self.layer)
            shape = [(rows, inner), (inner, columns)][side]
            made = self.like.new_empty(self.models, *(shape[::-1] if flipped else shape)).uniform_(
                -1, 1
            )
            self.kept[key] = made.mT if flipped else made
        return self.kept[key]


class Repeated:
    """One product in one form, for all models and batches of an epoch."""

    def __init__(self, form: Form, operands: Operands) -> None:
        self.form = form
        sums: dict[int, Tensor] = {}
        self.calls: list[tuple[Tensor, Tensor, Tensor]] = []
        for first in range(0, operands.models, form.group):
            for place, n in enumerate(operands.batches):
                sides = (operands.of(side, place, form.flipped[side]) for side in (0, 1))
                left, right = (tensor[first : first + form.group] for tensor in sides)
                if form.transposed:
                    left, right = right.mT, left.mT
                if n not in sums:
                    sums[n] = left.new_zeros(operands.models, left.shape[1], right.shape[2])
                own = (
                    first if form.kind in ("addmm", "baddbmm") else 0
                )  # results that are not kept share a place
                out = sums[n][own : own + form.group]
                single = form.kind in ("mm", "addmm", "onednn")
                self.calls.append((left[0], right[0], out[0]) if single else (left, right, out))

    def run(self, calls: slice = slice(None)) -> None:
        kind, chosen = self.form.kind, self.calls[calls]
        if kind == "onednn":
            for left, right, _ in chosen:
                onednn(left, right)
        elif kind in ("mm", "bmm"):
            multiply: Callable[..., Any] = getattr(torch, kind)
            for left, right, out in chosen:
                multiply(left, right, out=out)
        else:
            multiply = getattr(torch, kind)
            for left, right, out in chosen:
                multiply(out, left, right, alpha=SMALL, out=out)

    def seconds(self, calls: int) -> float:
        """Of an epoch, from the first so many calls."""
        self.wait()
        begun = time.perf_counter()
        self.run(slice(calls))
        self.wait()
        return (time.perf_counter() - begun) * len(self.calls) / min(calls, len(self.calls))

    def wait(self) -> None:
        if self.calls[0][0].is_cuda:
            torch.cuda.synchronize()


def quickest(operands: Operands, by_onednn: bool) -> Repeated:
    """The best form: all of them on a few batches, then the best of these on all, in turns."""
    rough: list[tuple[float, Form]] = []
    for form in forms(operands.models, by_onednn):
        made = Repeated(form, operands)
        once = made.seconds(1) / len(made.calls)
        calls = max(1, min(len(made.calls), math.ceil(TRIAL_S / max(once, 1e-7))))
        rough.append((min(made.seconds(calls) for _ in range(2)), form))
    rough.sort(key=lambda pair: pair[0])
    finalists = [Repeated(form, operands) for _, form in rough[:FINALISTS]]
    times = [math.inf] * len(finalists)
    for _ in range(3):
        for place, made in enumerate(finalists):
            times[place] = min(times[place], made.seconds(len(made.calls)))
    return finalists[times.index(min(times))]


class Convolution:
    """One product of a convolution in one layout, for all models and batches of an epoch."""

    KEPT = ("gradient of inputs", "gradient of weights")

    def __init__(
        self,
        name: str,
        layer: tuple[int, int, int, int],
        channels_last: bool,
        job: Job,
        like: Tensor,
    ) -> None:
        inputs, outputs, height, width = layer
        model, w = job.workload.model, job.workload
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.form = "convolution, channels last" if channels_last else "convolution, in rows"
        self.asked = [name == kept for kept in self.KEPT] + [False]  # and of the bias
        self.padding = [model["padding"]] * 2
        grow = 2 * model["padding"] - model["kernel"] + 1

        def made(*shape: int) -> Tensor:
            return like.new_empty(shape).uniform_(-1, 1).to(memory_format=layout)

        weight = made(outputs, inputs, model["kernel"], model["kernel"])
        results = {n: made(n, outputs, height, width) for n in set(w.batches)}
        self.calls = [
            (results[n], made(n, inputs, height - grow, width - grow), weight)
            for n in w.batches * w.per_round
        ]

    def run(self, calls: slice = slice(None)) -> None:
        for result, value, weight in self.calls[calls]:
            if any(self.asked):
                torch.ops.aten.convolution_backward(
                    result,
                    value,
                    weight,
                    None,
                    [1, 1],
                    self.padding,
                    [1, 1],
                    False,
                    [0, 0],
                    1,
                    self.asked,
                )
            else:
                torch.conv2d(value, weight, None, 1, self.padding)

    seconds, wait = Repeated.seconds, Repeated.wait


def quickest_layout(
    name: str, layer: tuple[int, int, int, int], job: Job, like: Tensor
) -> Convolution:
    """The better of both on a tenth of the calls, in turns."""
    made = [Convolution(name, layer, last, job, like) for last in (False, True)]
    calls = math.ceil(len(made[0].calls) / 10)
    times = [
        min(times)
        for times in zip(*([one.seconds(calls) for one in made] for _ in range(3)), strict=True)
    ]
    return made[times.index(min(times))]


class Products(Competitor):
    """A "round" is all products of all layers, each in its quickest form, product after product."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        w = job.workload
        like = torch.empty(
            0, device=job.device, dtype=torch.bfloat16 if w.precision == "bf16" else torch.float32
        )
        self.chosen: list[Repeated | Convolution] = []
        self.versions = {}
        for place, images in enumerate(w.convolutions):
            for product in products_of(first=place == 0):
                convolution = quickest_layout(product.name, images, job, like)
                self.chosen.append(convolution)
                self.versions[f"{images[0]}-{images[1]} {product.name}"] = convolution.form
        for place, layer in enumerate(w.layers, start=len(w.convolutions)):
            for product in products_of(first=place == 0):
                operands = Operands(product, layer, w.per_round, w.batches, like)
                best = quickest(operands, onednn_fits(job))
                self.chosen.append(best)
                self.versions[f"{layer[0]}-{layer[1]} {product.name}"] = str(best.form)

    def step(self) -> None:
        for _ in range(self.job.workload.epochs):
            for product in self.chosen:
                product.run()


def start(job: Job, competitor: str) -> Competitor:
    return Products(job)
