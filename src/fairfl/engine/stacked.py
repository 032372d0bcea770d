"""Backend for dense models: all clients of a round in one batched product.

The round's models are one stack [m, P]. A Linear layer is one `baddbmm` over the stack, so the gradient of
the summed client losses with respect to the stack holds every client's own gradient. Unequal sizes are
padded index tables with a weight of 0 for the padding.
"""

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Plan
from fairfl.engine.federation import Part
from fairfl.engine.local import LocalTraining, batches
from fairfl.engine.losses import LOSSES


def supports(model: nn.Module) -> bool:
    """True for a chain of Flatten, Linear and ReLU."""
    return isinstance(model, nn.Sequential) and all(
        isinstance(layer, nn.Flatten | nn.ReLU) or (isinstance(layer, nn.Linear) and layer.bias is not None)
        for layer in model
    )


class Stacked:
    """See `fairfl.engine.local.Backend`."""

    def __init__(self, model: nn.Sequential, loss: str, part: Part) -> None:
        self.layers = [(type(layer), getattr(layer, "weight", None)) for layer in model]
        self.shapes = [(w.shape[0], w.shape[1]) for kind, w in self.layers if kind is nn.Linear]
        self.loss = LOSSES[loss]
        self.part = part
        self._full: tuple[tuple[int, ...], tuple[Tensor, Tensor, Tensor]] | None = None

    def outputs(self, stack: Tensor, inputs: Tensor) -> Tensor:
        """Outputs [m, n, C] of a stack of models [m, P] on inputs [m, n, ...]."""
        value, start = inputs.flatten(2), 0
        for kind, weight in self.layers:
            if kind is nn.Linear:
                rows, columns = weight.shape
                w = stack[:, start : start + rows * columns].view(-1, rows, columns)
                start += rows * columns
                b = stack[:, start : start + rows].unsqueeze(1)
                start += rows
                value = torch.baddbmm(b, value, w.transpose(1, 2))
            elif kind is nn.ReLU:
                value = value.relu()
        return value

    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        return self.outputs(x.unsqueeze(0), inputs.unsqueeze(0)).squeeze(0)

    def train(self, x: Tensor, clients: Tensor, plan: Plan, local: LocalTraining, round: int) -> Tensor:
        m = clients.numel()
        rate = torch.full((m, 1), local.learning_rate, dtype=x.dtype, device=x.device)
        if plan.lr_scale is not None:
            rate = rate * plan.lr_scale.to(rate).unsqueeze(1)
        stack = x.expand(m, -1).clone()
        for inputs, labels, weights in self._steps(clients, local, round):
            stack.requires_grad_(True)
            objective = (self.loss(self.outputs(stack, inputs), labels) * weights).sum()
            (gradient,) = torch.autograd.grad(objective, stack)
            stack = stack.detach()
            if plan.prox:
                gradient = gradient + plan.prox * (stack - x)
                # A client whose epochs are over (all its weights are 0) must stand still.
                gradient = gradient * (weights.sum(dim=1, keepdim=True) > 0)
            stack.addcmul_(rate, gradient, value=-1)
        return x - stack

    def _steps(self, clients: Tensor, local: LocalTraining, round: int):
        """Inputs [m, b, ...], labels [m, b] and weights [m, b] (1/batch size, 0 for padding) of each step."""
        ids = tuple(clients.tolist())
        counts = [int(self.part.counts[k]) for k in ids]
        if local.batch_size is None:
            full = self._full_batch(ids, counts)
            for _ in range(local.epochs):
                yield full
            return
        schedules = [list(batches(n, local, round, k)) for k, n in zip(ids, counts, strict=True)]
        for step in range(max(map(len, schedules))):
            tables = []
            for schedule, n in zip(schedules, counts, strict=True):
                batch = schedule[step] if step < len(schedule) else torch.empty(0, dtype=torch.int64)
                tables.append(torch.arange(n) if batch is None else batch)
            yield self._gather(ids, tables)

    def _full_batch(self, ids: tuple[int, ...], counts: list[int]) -> tuple[Tensor, Tensor, Tensor]:
        """The whole training part of the clients, kept while the same clients take part."""
        if self._full is None or self._full[0] != ids:
            self._full = (ids, self._gather(ids, [torch.arange(n) for n in counts]))
        return self._full[1]

    def _gather(self, ids: tuple[int, ...], tables: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        width = max(1, max(len(table) for table in tables))
        index = torch.zeros(len(ids), width, dtype=torch.int64)
        weights = torch.zeros(len(ids), width, dtype=self.part.inputs.dtype)
        offsets = self.part.offsets
        for position, (client, table) in enumerate(zip(ids, tables, strict=True)):
            index[position, : len(table)] = table + offsets[client]
            weights[position, : len(table)] = 1 / max(1, len(table))
        index = index.to(self.part.labels.device)
        return self.part.inputs[index], self.part.labels[index], weights.to(index.device)
