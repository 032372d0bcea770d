"""The yardstick of memory: the samples of a round, read once in each epoch from where they lie.

A "round" draws its clients anew, so that caches hold what they hold for a simulator. Full batches are read client by
client (a sum of all numbers, which takes as long as reading them), smaller ones are gathered step by step for all
clients, in an order that is drawn in the same time (a twentieth of it for a linear model in batches of 10).
"""

from functools import cache

import torch

from benchmarks.worker import Competitor, Job


class Reading(Competitor):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.inputs = job.inputs.flatten(1)
        self.gathered = cache(lambda rows: self.inputs.new_empty(rows, self.inputs.shape[1]))
        self.draw = torch.Generator().manual_seed(0)

    def step(self) -> None:
        w = self.job.workload
        clients = torch.randperm(w.clients, generator=self.draw)[: w.per_round].tolist()
        for _ in range(w.epochs):
            if len(w.batches) == 1:
                for client in clients:
                    self.inputs[client * w.samples : (client + 1) * w.samples].sum()
                continue
            orders = [
                torch.randperm(w.samples, generator=self.draw) + client * w.samples
                for client in clients
            ]
            for rows in torch.stack(orders).split(w.batch or w.samples, 1):
                rows = rows.flatten().to(self.inputs.device)
                torch.index_select(self.inputs, 0, rows, out=self.gathered(len(rows)))


def start(job: Job, competitor: str) -> Competitor:
    return Reading(job)
