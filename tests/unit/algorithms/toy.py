"""Toy A of the specification: three clients, two parameters, one full local step of rate 0.1.

x = (1, -2); n = (100, 200, 100); g = (2, 0), (-1, 3), (4, -2); D_k = 0.1 g_k; F = (0.5, 1, 2)
"""

from dataclasses import fields

import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Received, Reports
from tests.unit.registered import MEMBERSHIPS, SHARES

X = torch.tensor([1.0, -2.0], dtype=torch.float64)
G = torch.tensor([[2.0, 0.0], [-1.0, 3.0], [4.0, -2.0]], dtype=torch.float64)
SAMPLES = torch.tensor([100.0, 200.0, 100.0], dtype=torch.float64)
F = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
ETA = 0.1


def reports(ids=(0, 1, 2), losses=F, gradients=G, best=None, scale=None) -> Reports:
    ids = torch.tensor(ids)
    F, delta = losses[ids], ETA * gradients[ids] * (1 if scale is None else scale[:, None])
    twice = {"loss": F, "accuracy": torch.exp(-F), "correct": correct(ids, losses)}
    measured = {f"{name}_{when}": value for name, value in twice.items() for when in ("received", "after")}
    best = torch.zeros_like(F) if best is None else best[ids]
    more = {
        "gradient": gradients[ids],
        "steps": torch.ones_like(F),
        "validation_loss_received": F,
        "local_optimum_loss": best,
    }
    return told(delta, ids.tolist(), SAMPLES[ids], x=X, **measured, **more)


def told(delta, ids=None, samples=None, **more) -> Reports:
    """Reports of clients, by default the first ones, with updates [..., m, P] and by default a sample each."""
    m = delta.shape[-2]
    known = {"learning_rate": ETA, "samples": torch.ones(m, dtype=torch.float64) if samples is None else samples}
    return Reports(clients=torch.arange(m) if ids is None else torch.tensor(ids), delta=delta, **known | more)


def correct(ids, losses) -> torch.Tensor:
    """The first 10 F_k samples of a client are wrong; [m, n_max] int8."""
    sample = torch.arange(int(SAMPLES.max()))
    right = (sample >= 10 * losses[ids, None]).to(torch.int8)
    return right.where(sample < SAMPLES[ids, None], -1)


def received(report: Reports) -> Received:
    return Received(**{field.name: getattr(report, field.name) for field in fields(Received)})


def federation(algorithm, samples=SAMPLES, x=X) -> Federation:
    """The toy before the first round; every model of the server is x, [P + B]."""
    count = algorithm.server_models()
    shares = SHARES[torch.arange(len(samples)) % len(SHARES)]
    return Federation(
        samples=samples,
        x=x if count is None else x.expand(count, -1),
        clients_per_round=len(samples),
        parameters=len(X),
        shapes=(tuple(X.shape),),
        labels=shares * samples[:, None],
        memberships=MEMBERSHIPS[: len(samples)],
    )


def start(name: str, samples=SAMPLES, x=X, **hyperparameters):
    """The algorithm and its first state."""
    algorithm = algorithms.create(name, hyperparameters)
    return algorithm, algorithm.init_state(federation(algorithm, samples, x))


def step(name: str, report: Reports | None = None, **hyperparameters):
    """One round on toy A: (x_new, weights, state)."""
    algorithm, state = start(name, **hyperparameters)
    report = report or reports()
    result, state = algorithm.aggregate(state, report)
    update = result.weights @ report.delta + (0 if result.extra is None else result.extra)
    return X - update, result.weights, state


def close(actual, expected, tolerance=1e-6) -> None:
    torch.testing.assert_close(
        torch.as_tensor(actual, dtype=torch.float64),
        torch.as_tensor(expected, dtype=torch.float64),
        rtol=0,
        atol=tolerance,
    )


def vector(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def weights(name: str, losses: torch.Tensor, samples: torch.Tensor, **hyperparameters) -> torch.Tensor:
    """Weights of the first round, in which everybody takes part: for the tests that `fairfl new` writes."""
    algorithm, state = start(name, samples, **hyperparameters)
    report = told(torch.zeros(len(losses), 1), samples=samples, loss_received=losses)
    return algorithm.aggregate(state, report)[0].weights


def gradient_at_zero(objective) -> torch.Tensor:
    """Numerical gradient of objective(losses [3]) for the losses F + G z of the toy, at z = 0, [2]."""
    h = 1e-6
    return torch.stack([(objective(F + h * g) - objective(F - h * g)) / (2 * h) for g in G.T])
