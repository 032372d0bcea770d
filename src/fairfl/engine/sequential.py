"""Backend for any torch.nn model: one client after the other on a flat parameter vector."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from fairfl.algorithms.interface import Plan
from fairfl.engine.federation import Part
from fairfl.engine.local import CHUNK, LocalTraining, batches
from fairfl.engine.losses import LOSSES
from fairfl.engine.parameters import bind, flatten


def _channels_last(inputs: Tensor) -> Tensor:
    """Images in the memory order in which CPU and GPU convolutions are fastest (2 x on a CPU)."""
    return inputs.contiguous(memory_format=torch.channels_last) if inputs.dim() == 4 else inputs


class Sequential:
    """See `fairfl.engine.local.Backend`."""

    def __init__(self, model: nn.Module, loss: str, part: Part) -> None:
        self.model = model
        self.loss = LOSSES[loss]
        self.part = replace(part, inputs=_channels_last(part.inputs))
        self.flat = flatten(model)
        self.parameters = bind(model, self.flat)

    def forward(self, x: Tensor, inputs: Tensor) -> Tensor:
        self.flat.copy_(x)
        self.model.eval()
        return self.model(_channels_last(inputs))

    def gradient(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """Gradient [P] of the mean loss at the current parameters, accumulated over chunks."""
        total = torch.zeros_like(self.flat)
        for x, y in zip(inputs.split(CHUNK), labels.split(CHUNK), strict=True):
            objective = self.loss(self.model(x), y).sum() / len(labels)
            gradients = torch.autograd.grad(objective, self.parameters)
            total += torch.cat([g.reshape(-1) for g in gradients])
        return total

    def train(self, x: Tensor, clients: Tensor, plan: Plan, local: LocalTraining, round: int) -> Tensor:
        updates = torch.empty(clients.numel(), x.numel(), dtype=x.dtype, device=x.device)
        for position, client in enumerate(clients.tolist()):
            scale = 1.0 if plan.lr_scale is None else float(plan.lr_scale[position])
            inputs, labels = self.part.of(client)
            self.flat.copy_(x)
            self.model.train()
            for batch in batches(len(labels), local, round, client):
                if batch is None:
                    gradient = self.gradient(inputs, labels)
                else:
                    batch = batch.to(labels.device)
                    gradient = self.gradient(inputs[batch], labels[batch])
                if plan.prox:
                    gradient += plan.prox * (self.flat - x)
                self.flat.sub_(gradient, alpha=local.learning_rate * scale)
            updates[position] = x - self.flat
        return updates
