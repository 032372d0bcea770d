"""Clients with losses (y - centre_k)^2 / 2 of one number, by default two, at 1 and -3, that start at 0 with rate 0.1.

They report gradients and losses before and after training, and take the local steps of a plan, by hand.
"""

from dataclasses import replace

import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Received, Reports
from tests.unit.algorithms.quadratics import stepped


class Run:
    """An algorithm on these clients. `x`, `plan`, `reports`, `result` and `state` are those of the newest round."""

    def __init__(self, name, centres=(1, -3), samples=None, eta=0.1, steps=2, x=0, **hyperparameters):
        self.algorithm = algorithms.create(name, hyperparameters)
        self.centres = torch.tensor(centres, dtype=torch.float64)[:, None]
        self.samples = torch.ones_like(self.centres[:, 0]) if samples is None else samples
        self.steps = torch.as_tensor(steps, dtype=torch.float64).expand(len(centres))
        self.x, self.eta, self.round = torch.tensor([x], dtype=torch.float64), eta, 0
        self.state = self.algorithm.init_state(Federation(self.samples, self.x))

    def losses(self, y):
        return (y - self.centres).square().sum(1) / 2

    def trained(self):
        y = self.x.expand_as(self.centres)
        if self.plan.epochs == 0:
            return y
        direction = 0 if self.plan.direction is None else self.plan.direction
        for step in range(1 if self.plan.single_step else int(self.steps.max())):
            along = 1 if self.plan.mix is None else self.plan.mix
            h = (1 - (self.plan.mix or 0)) * (y - self.centres) + along * direction + self.plan.prox * (y - self.x)
            y = y - self.eta * h * (step < self.steps)[:, None]
        return y

    def rounds(self, count=1):
        for _ in range(count):
            for exchange in range(self.algorithm.exchanges_per_round(Federation(self.samples, self.x))):
                self.exchange(exchange)
            self.round += 1
        return self

    def exchange(self, number):
        known = {
            "clients": torch.arange(len(self.centres)),
            "samples": self.samples,
            "learning_rate": self.eta,
            "x": self.x,
            "round": self.round,
            "exchange": number,
            "loss_received": self.losses(self.x),
        }
        if "gradient_local_epoch" not in self.algorithm.required_measurements():
            known["gradient"] = self.x - self.centres
        self.plan = self.algorithm.configure_clients(self.state, Received(**known))
        y = self.trained()
        self.reports = Reports(**known, delta=self.x - y, loss_after=self.losses(y), steps=self.steps)
        self.reports = replace(self.reports, mix=self.plan.mix)
        self.result, self.state = self.algorithm.aggregate(self.state, self.reports)
        self.x = stepped(self.x, self.result, self.reports.delta)
