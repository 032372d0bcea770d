"""The engine once more, slowly: rounds as fairfl.algorithms.interface describes them, by autograd.

Hand-computed examples run on it with quadratic losses; fairfl.simulation takes the same steps on networks
(tests/unit/simulation/test_plain_engine.py).
"""

from functools import partial
from math import prod

import torch
import torch.nn.functional as F

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Plan, Received, Reports
from fairfl.algorithms.shared import wide_mlp
from fairfl.simulation.backends.interface import order
from fairfl.simulation.seeds import seed_of


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


def quadratic(y, rows, centre, curvature):
    """curvature ||y - centre||^2 / 2 of models [..., P], whatever the rows."""
    return curvature * (y - centre).square().sum(-1) / 2


def perceptrons(y, sizes, inputs):
    """Outputs [..., n, C] of perceptrons with ReLU of `sizes` units, whose weights are y [..., P]."""
    outputs, layers = inputs.flatten(1), wide_mlp.layers(y, sizes)
    for place, (weight, bias) in enumerate(layers, 1):
        outputs = outputs @ weight.mT + bias.unsqueeze(-2)
        outputs = outputs.relu() if place < len(layers) else outputs
    return outputs


def cross_entropy(y, rows, sizes, inputs, labels):
    """Mean loss of these perceptrons on some rows, [...]."""
    logs, labels = perceptrons(y, sizes, inputs[rows]).log_softmax(-1), labels[rows]
    return -logs[..., torch.arange(len(labels)), labels].mean(-1)


def right(y, sizes, inputs, labels):
    """Which samples they classify right, [..., n]."""
    return perceptrons(y, sizes, inputs).argmax(-1) == labels


ALL = slice(None)


class PlainEngine:
    """An algorithm on clients with `losses` F_k, functions of models [..., P] and the rows of samples.

    `batches(round, k, epochs)` are the rows of each local step; without it clients take `steps` steps on all rows.
    `right[k]` are the samples that a model classifies right; `validation` are other losses, and `best` their minima;
    `decay` is the weight decay, with `adamw` that of AdamW.
    `x`, `plan`, `reports`, `result` and `state` are those of the newest exchange.
    """

    def __init__(self, algorithm, federation, losses, eta=0.1, steps=2, state=None, **data):
        self.algorithm, self.federation, self.losses, self.eta = algorithm, federation, losses, eta
        self.x, self.samples, self.round = federation.x, federation.samples, 0
        self.steps, self.data = torch.as_tensor(steps).expand(len(losses)), data
        self.state = algorithm.init_state(federation) if state is None else state

    def loss(self, y, ids, rows=None, losses=None):
        """F_k of models [..., m, P] of the clients `ids`, [..., m]."""
        rows, losses = rows or [ALL] * len(ids), losses or self.losses
        return torch.stack([losses[k](y[..., i, :], rows[i]) for i, k in enumerate(ids)], dim=-1)

    def gradient(self, y, ids, rows=None, slope=None):
        y = y.clone().requires_grad_()
        losses = self.loss(y, ids, rows)
        factor = 1 if slope is None else slope(losses.detach())[..., None]
        return factor * torch.autograd.grad(losses.sum(), y)[0]

    def schedule(self, plan, k):
        """The rows of each local step of client k."""
        if "batches" not in self.data or plan.full_batch:
            rows = [ALL] * int(self.steps[k] if plan.epochs is None else plan.epochs)
        else:
            rows = self.data["batches"](self.round, k, plan.epochs)
        return rows[:1] if plan.single_step else rows

    def step(self, plan, y, ids, rows):
        """h, what a local step goes along, without momentum and rate."""
        h = self.gradient(y, ids, rows, plan.slope)
        if plan.mix is not None:
            h = (1 - plan.mix) * h
        if plan.direction is not None:
            h = h + (1 if plan.mix is None else plan.mix) * plan.direction
        prox = torch.as_tensor(plan.prox, dtype=torch.float64)[..., None, None]
        h = h + prox * (y - starts(Plan(), self.x, len(ids)))
        if plan.force is not None:
            models = y.reshape(-1, y.shape[-1])
            h = h + plan.force(models, torch.arange(len(models))).view_as(y)
        h[..., : sum(prod(shape) for shape in self.federation.shapes[: plan.frozen])] = 0
        return h

    def train(self, plan, ids):
        """(start, trained models, steps taken)."""
        start = y = starts(plan, self.x, len(ids))
        schedules = [self.schedule(plan, k) for k in ids]
        taken = torch.tensor([len(rows) for rows in schedules])
        eta = self.eta if plan.lr_scale is None else self.eta * plan.lr_scale[:, None]
        v, square, decay = torch.zeros_like(start), torch.zeros_like(start), self.data.get("decay", 0.0)
        for number in range(int(taken.max())):
            rows = [own[number] if number < len(own) else ALL for own in schedules]
            h = self.step(plan, y, ids, rows)
            if self.data.get("adamw"):  # Loshchilov and Hutter, algorithm 2
                v, square = 0.9 * v + 0.1 * h, 0.999 * square + 0.001 * h.square()
                unbiased = v / (1 - 0.9 ** (number + 1)), square / (1 - 0.999 ** (number + 1))
                move = unbiased[0] / (unbiased[1].sqrt() + 1e-8) + decay * y
            else:
                move = v = plan.momentum * v + h + decay * y
            y = torch.where((number < taken)[:, None], y - eta * move, y)
        return start, y, taken.double()

    def measure(self, when, y, ids):
        """What the algorithm needs to know of models [..., m, P] of the clients `ids`."""
        found = {f"loss_{when}": self.loss(y, ids)}
        if "right" in self.data:
            right, most = [self.data["right"][k](y[..., i, :]) for i, k in enumerate(ids)], int(self.samples.max())
            padded = [F.pad(own.to(torch.int8), (0, most - own.shape[-1]), value=-1) for own in right]
            found[f"accuracy_{when}"] = torch.stack([own.double().mean(-1) for own in right], dim=-1)
            found[f"correct_{when}"] = torch.stack(padded, dim=-2)
        return {name: value for name, value in found.items() if name in self.algorithm.required_measurements()}

    def exchange(self, number, ids):
        needs, received = self.algorithm.required_measurements(), starts(Plan(), self.x, len(ids))
        known = {"clients": torch.tensor(ids), "samples": self.samples[ids], "learning_rate": self.eta, "x": self.x}
        known |= {"round": self.round, "exchange": number}
        known["seed"] = seed_of(1, "server", self.round, *[number] * (number > 0))
        known |= self.measure("received", received, ids)
        if "validation_loss_received" in needs:
            known["validation_loss_received"] = self.loss(received, ids, losses=self.data["validation"])
            known["local_optimum_loss"] = self.data["best"][ids]
        if "gradient_full" in needs:
            known["gradient"] = self.gradient(received, ids)
        if "gradient_batch" in needs:
            known["gradient"] = self.gradient(received, ids, [self.schedule(Plan(), k)[0] for k in ids])
        self.plan = self.algorithm.configure_clients(self.state, Received(**known))
        start, y, taken = self.train(self.plan, ids)
        known |= self.measure("after", y, ids)
        self.reports = Reports(**known, delta=start - y, start=start, steps=taken, mix=self.plan.mix)
        self.result, self.state = self.algorithm.aggregate(self.state, self.reports)
        self.x = stepped(self.x, self.result, self.reports.delta)

    def rounds(self, count=1, clients=None):
        """So many rounds, of all clients or of some."""
        for _ in range(count):
            for number in range(self.algorithm.exchanges_per_round(self.federation)):
                self.exchange(number, list(range(len(self.losses)) if clients is None else clients))
            self.round += 1
        return self


def on_quadratics(name, x=(0,), centres=((1,), (-3,)), curvatures=1.0, samples=None, state=None, known=None, **given):
    """An algorithm on F_k = curvature_k ||y - centre_k||^2 / 2; `given` are hyper-parameters, `eta` or `steps`."""
    x, centres, curvatures = (torch.tensor(values, dtype=torch.float64) for values in (x, centres, curvatures))
    curvatures = curvatures.expand(len(centres))
    losses = [partial(quadratic, centre=c, curvature=a) for c, a in zip(centres, curvatures, strict=True)]
    samples = torch.ones_like(curvatures) if samples is None else torch.tensor(samples, dtype=torch.float64)
    options = {key: given.pop(key) for key in ("eta", "steps") if key in given}
    engine = PlainEngine(algorithms.create(name, given), Federation(samples, x, **known or {}), losses, **options)
    engine.state |= {key: torch.tensor(value, dtype=torch.float64) for key, value in (state or {}).items()}
    return engine


def of_simulation(run):
    """The engine once more for a run on perceptrons, from where it stands."""
    parameters = list(run.backend.model.parameters())
    sizes = [parameters[0].shape[1], *map(len, parameters[1::2])]
    data = {name: [part.of(k) for k in range(run.clients.count)] for name, part in run.clients.parts.items()}

    def of_each(function, part="train"):
        return [partial(function, sizes=sizes, inputs=inputs, labels=labels) for inputs, labels in data[part]]

    def batches(round, k, epochs):
        n, count = len(data["train"][k][1]), run.spec.local_epochs if epochs is None else epochs
        orders = [order(n, run.local, round, k, epoch) for epoch in range(count)]
        return [rows for own in orders if n for rows in own.split(run.local.batch(n))]

    known = {"steps": run.spec.local_epochs, "state": dict(run.state), "batches": batches, "best": run.best}
    known |= {"right": of_each(right), "validation": of_each(cross_entropy, "validation")}
    federation = Federation(run.samples, run.x, shapes=tuple(tuple(p.shape) for p in parameters))
    known |= {"decay": run.spec.weight_decay, "adamw": run.spec.optimizer == "adamw"}
    engine = PlainEngine(run.algorithm, federation, of_each(cross_entropy), run.learning_rate, **known)
    engine.round = run.round
    return engine
