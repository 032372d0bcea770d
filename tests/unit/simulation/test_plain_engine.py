"""Runs against the plain engine: every algorithm, and every term of a plan, as fairfl.algorithms.interface has them."""

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Plan
from tests.unit.algorithms.toy import close
from tests.unit.plain_engine import MEASURED, of_simulation, perceptrons
from tests.unit.registered import FEDERATING, MEMBERSHIPS, required
from tests.unit.simulation.federations import simulation
from tests.unit.simulation.test_extension_points import register

MLP = {"name": "mlp", "hidden": [4, 3]}
ALIGNED = {"alpha": 0.6, "tau": 0.2}
CASES = [
    *((name, required(name)) for name in FEDERATING if MEASURED.issuperset(algorithms.load(name).measurements)),
    ("ditto", {"lambda": 0.7, "report": "personal"}),
    ("fedeba_plus", ALIGNED | {"gradient": "full"}),
    ("fedeba_plus", ALIGNED | {"gradient": "full", "theta": 90.0}),
    ("fedeba_plus", ALIGNED | {"gradient": "local_epoch", "fair_weights": "after"}),
    ("fedeba_plus", ALIGNED | {"gradient": "local_epoch", "fair_weights": "after", "theta": 90.0}),
    ("fedma", {"retrain_epochs": 3, "sweeps": 0, "gamma": 0.01}),
    ("fedprox", {"mu": 0.7}),
    ("lp_proj", {"p": 1, "lambda": 3.0, "d_sub": 4, "repeats": 2}),
    ("lp_proj", {"p": 2, "lambda": 3.0, "d_sub": 4, "repeats": 2}),
    ("propfair", {"M": 1.1}),
    ("propfair", {"M": 3.0}),
    ("scaffold", {"option": 1, "eta_g": 0.7}),
]
D = torch.linspace(-1, 1, 15, dtype=torch.float64)
OWN = torch.stack([D, 2 * D, -D.flip(0)])


def pull(Y, places):
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)[places, None] * (Y - D)


def slope(losses):
    return 0.5 + losses


PLANS = [
    {"mix": 0.4, "direction": D, "prox": 0.7, "momentum": 0.5, "slope": slope},
    {"direction": OWN},
    {"direction": OWN, "mix": 0.3},
    {"force": pull},
    {"force": pull, "momentum": 0.5},
    {"single_step": True},
    {"epochs": 3, "lr_scale": torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64), "momentum": 0.9},
    {"epochs": 0, "start": OWN},
]


def losses_of(run, part):
    """Losses of the models, or mixtures, that clients are evaluated with."""
    deployed = run.evaluation_models()
    shares = torch.eye(3) if len(deployed.models) == 3 else torch.ones(3, 1)
    shares = shares.double() if deployed.mixture is None else deployed.mixture
    sizes = [4, *map(len, list(run.backend.model.parameters())[1::2])]
    for share, k in zip(shares, range(3), strict=True):
        inputs, labels = part.of(k)
        probabilities = torch.einsum("r,rnc->nc", share, perceptrons(deployed.models, sizes, inputs).softmax(-1))
        yield -probabilities[torch.arange(len(labels)), labels].log().mean()


@pytest.mark.parametrize(("name", "given"), CASES)
def test_rounds_of_some_clients(name, given):
    run = simulation(name, given, clients_per_round=2, memberships=MEMBERSHIPS, model=MLP)
    engine = of_simulation(run)
    for _ in range(3):
        engine.rounds(1, run.select_clients())
        run.run_round()
    close(run.x, engine.x, 1e-9)
    assert run.state.keys() == engine.state.keys()
    for key, value in engine.state.items():
        close(run.state[key], value, 1e-9)
    close(run.evaluate("test").loss, torch.stack([*losses_of(run, run.clients.parts["test"])]), 1e-9)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
@pytest.mark.parametrize("plan", PLANS)
def test_local_steps(monkeypatch, backend, plan):
    """Clients of 4, 6 and 9 samples train in another order than they are numbered in, on stacks."""
    register(monkeypatch, "toy", configure_clients=lambda self, state, received: Plan(**plan))
    run = simulation("toy", backend=backend)
    engine = of_simulation(run).rounds()
    run.run_round()
    close(run.x, engine.x, 1e-12)
