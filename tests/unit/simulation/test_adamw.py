"""AdamW as local optimizer: torch's own steps, new moments in each round, the plan's terms in the gradient."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from fairfl.algorithms.interface import Plan
from fairfl.simulation import flat_parameters
from fairfl.simulation.simulation import Simulation
from tests.unit.simulation.federations import CPU, close, image_clients, spec_of, work_of

MODELS = {
    "mlp": {"name": "mlp", "hidden": [5]},
    "cnn": {"name": "cnn", "channels": [2], "kernel": 3, "padding": 1, "hidden": 4},
}


def simulation(model="mlp", counts=(7,), **changes):
    spec = {"optimizer": "adamw", "weight_decay": 0.1, "local_epochs": 3, "learning_rate": 0.05, "batch_size": None}
    clients = image_clients(list(counts), shape=(1, 4, 4))
    spec |= {"clients_per_round": len(counts), "model": MODELS[model], "rounds": 2}
    return Simulation(spec_of(**spec | changes), clients, None, CPU)


def trained(run, plan, rounds):
    """Client 0 after so many rounds of its own, by the backend."""
    x = run.x
    for number in range(rounds):
        work = work_of(run, [0], plan)
        x = work.start[0] - run.backend.train(work, run.local, number).delta[0]
        run.x = x
    return x


def torchs(run, rounds, prox, phi):
    """The same with torch.optim.AdamW and autograd."""
    inputs, labels = run.clients.parts["train"].of(0)
    flat = run.x.clone()
    model = copy.deepcopy(run.backend.model)
    for _ in range(rounds):
        anchor = flat.clone()
        owned = flat_parameters.bind(model, flat)
        optimizer = torch.optim.AdamW(owned, lr=0.05, weight_decay=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            phi(loss).backward()
            start = 0
            for p in owned:
                p.grad += prox * (p.detach() - anchor[start : start + p.numel()].view_as(p))
                start += p.numel()
            optimizer.step()
    return flat


@pytest.mark.parametrize(
    ("model", "rounds", "prox", "power"), [("mlp", 2, 0.0, 1.0), ("cnn", 1, 0.0, 1.0), ("mlp", 1, 0.7, 3.0)]
)
@pytest.mark.slow  # torch.optim takes seconds to import
def test_steps_are_those_of_torch(model, rounds, prox, power):
    """Moments begin anew in each round; the proximal term and the slope belong to the gradient."""
    run = simulation(model)
    expected = torchs(run, rounds, prox, lambda loss: loss**power / power)
    slope = None if power == 1 else partial(torch.pow, exponent=power - 1)
    close(trained(run, Plan(prox=prox, slope=slope), rounds), expected)


def test_momentum_is_refused():
    run = simulation()
    work = work_of(run, [0], Plan(momentum=0.5))
    with pytest.raises(ValueError, match="momentum, which optimizer adamw"):
        run.backend.train(work, run.local, 0)
