"""A plain loop in plain torch, batches by indexing: what one writes without a framework."""

import contextlib

import torch
from torch import Tensor, nn

from benchmarks import models
from benchmarks.worker import Competitor, Job


class Indexed(Competitor):
    """FedAvg over one module that every client trains in turn."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        w = job.workload
        self.inputs, self.labels = job.inputs.to(job.device), job.labels.to(job.device)
        self.model = models.build(w.model, w.shape, w.classes).to(job.device)
        self.center = [p.detach().clone() for p in self.model.parameters()]
        self.loss = nn.CrossEntropyLoss()

    def sampled(self) -> list[int]:
        return torch.randperm(self.job.workload.clients)[: self.job.workload.per_round].tolist()

    def autocast(self) -> contextlib.AbstractContextManager:
        if self.job.workload.precision == "bf16":
            return torch.autocast(self.job.device.type, dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def batches(self, client: int):
        """Inputs and labels of one epoch's batches."""
        w = self.job.workload
        rows = slice(client * w.samples, (client + 1) * w.samples)
        inputs, labels = self.inputs[rows], self.labels[rows]
        if w.batch is None:
            yield inputs, labels
            return
        for batch in torch.randperm(w.samples, device=self.job.device).split(w.batch):
            yield inputs[batch], labels[batch]

    def train(self, client: int) -> None:
        optimizer = torch.optim.SGD(self.model.parameters(), lr=self.job.workload.learning_rate)
        for _ in range(self.job.workload.epochs):
            for inputs, labels in self.batches(client):
                optimizer.zero_grad()
                with self.autocast():
                    loss = self.loss(self.model(inputs), labels)
                loss.backward()
                optimizer.step()

    def step(self) -> None:
        mean = [torch.zeros_like(p) for p in self.center]
        for client in self.sampled():
            self.set(self.center)
            self.train(client)
            for total, p in zip(mean, self.model.parameters(), strict=True):
                total.add_(p.detach(), alpha=1 / self.job.workload.per_round)
        self.center = mean

    def set(self, values: list[Tensor]) -> None:
        with torch.no_grad():
            for p, value in zip(self.model.parameters(), values, strict=True):
                p.copy_(value)

    def parameters(self) -> Tensor:
        self.set(self.center)
        return models.flat(self.model)


def start(job: Job, competitor: str) -> Competitor:
    return Indexed(job)
