"""Rounds by hand: the engine's part of an algorithm, on clients with losses ||y - centre||^2 and few parameters."""

import torch

from fairfl.algorithms.interface import Federation, Plan, Received, Reports


def starts(plan, x, m):
    """Where m clients start: at the model [P], or models [M, P], that they received, or where the plan says."""
    return x.unsqueeze(-2).expand(*x.shape[:-1], m, -1) if plan.start is None else plan.start


def stepped(x, result, delta):
    """x <- x - sum_k w_k D_k - extra, or the model that the server made."""
    if result.model is not None:
        return result.model
    if result.weights is None:
        return x
    extra = 0 if result.extra is None else result.extra
    if x.dim() == 2:  # [M, m] weights of D [M, m, P], or of D [m, P] if clients train one model each
        return x - torch.einsum("cm,cmp->cp", result.weights, delta.expand(len(x), *delta.shape[-2:])) - extra
    return x - result.weights.flatten() @ delta.reshape(-1, delta.shape[-1]) - extra


class Run:
    """An algorithm on clients with F_k(y) = curvature_k ||y - centre_k||^2 / 2: `centres` [K, P], `curvatures` [K, 1].

    `x` is the first model, or the first models; clients take `steps` local steps on all of F_k.
    """

    def __init__(self, algorithm, x, centres, samples=None, curvatures=2.0, eta=0.1, steps=2, **known):
        K = len(centres)
        self.algorithm, self.centres, self.eta, self.steps = algorithm, centres, eta, steps
        self.samples = torch.ones(K, dtype=torch.float64) if samples is None else samples
        self.curvatures = torch.as_tensor(curvatures, dtype=torch.float64).expand(K, 1)
        self.x, self.round, self.result = x, 0, None
        self.state = algorithm.init_state(Federation(self.samples, x, **known))

    def losses(self, y, ids):
        """F_k of models y [..., m, P] of the clients `ids`, [..., m]."""
        return (self.curvatures[ids] * (y - self.centres[ids]).square() / 2).sum(-1)

    def trained(self, plan, start, ids):
        """y after the local steps that the interface promises, of the shape of `start`."""
        y, prox = start, torch.as_tensor(plan.prox, dtype=torch.float64)
        direction = 0 if plan.direction is None else plan.direction  # added whole
        for _ in range(self.steps):
            pull = prox[..., None, None] * (y - starts(Plan(), self.x, len(ids))) if prox.any() else 0
            y = y - self.eta * (self.curvatures[ids] * (y - self.centres[ids]) + pull + direction)
        return y

    def rounds(self, count=1, clients=None):
        """So many rounds, of all clients or of some."""
        ids = torch.arange(len(self.centres)) if clients is None else torch.tensor(clients)
        for _ in range(count):
            known = {"clients": ids, "samples": self.samples[ids], "learning_rate": self.eta}
            known |= {"x": self.x, "round": self.round}
            known["loss_received"] = self.losses(starts(Plan(), self.x, len(ids)), ids)
            plan = self.algorithm.configure_clients(self.state, Received(**known))
            start = starts(plan, self.x, len(ids))
            delta = start - self.trained(plan, start, ids)
            gradient = self.curvatures[ids] * (starts(Plan(), self.x, len(ids)) - self.centres[ids])
            steps = torch.full((len(ids),), float(self.steps), dtype=torch.float64)
            reports = Reports(**known, delta=delta, start=start, steps=steps, gradient=gradient, mix=plan.mix)
            self.result, self.state = self.algorithm.aggregate(self.state, reports)
            self.x, self.round = stepped(self.x, self.result, delta), self.round + 1
        return self
