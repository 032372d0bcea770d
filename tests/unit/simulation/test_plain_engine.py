"""Runs against the plain engine: every algorithm, and every term of a plan, as fairfl.algorithms.interface has them."""

import pytest
import torch

from fairfl.algorithms.interface import Plan
from tests.unit.algorithms.toy import close
from tests.unit.plain_engine import of_simulation, perceptrons
from tests.unit.registered import FEDERATING, MEMBERSHIPS, required
from tests.unit.simulation.federations import simulation
from tests.unit.simulation.test_extension_points import BOTH, register

LINEAR, MLP = {"name": "logistic_regression", "init": "pytorch"}, {"name": "mlp", "hidden": [4, 3]}
ALIGNED = {"alpha": 0.6, "tau": 0.2}
CASES = [
    *((name, required(name)) for name in FEDERATING),
    ("fedfa", {"acc_of": "global"}),
    ("ditto", {"lambda": 0.7, "report": "personal"}),
    ("fedeba_plus", ALIGNED | {"gradient": "full"}),
    ("fedeba_plus", ALIGNED | {"gradient": "full", "theta": 90.0}),
    ("fedeba_plus", ALIGNED | {"gradient": "local_epoch", "fair_weights": "after"}),
    ("fedeba_plus", ALIGNED | {"gradient": "local_epoch", "fair_weights": "after", "theta": 90.0}),
    ("fedma", {"retrain_epochs": 3, "sweeps": 0, "gamma": 0.01}),
    ("fedprox", {"mu": 0.7}),
    ("fedsgd", {"gradient": "batch"}),
    ("lp_proj", {"p": 1, "lambda": 3.0, "d_sub": 4, "repeats": 2}),
    ("lp_proj", {"p": 2, "lambda": 3.0, "d_sub": 4, "repeats": 2}),
    ("propfair", {"M": 1.1}),
    ("propfair", {"M": 3.0}),
    ("scaffold", {"option": 1, "eta_g": 0.7}),
]


def along(P):
    return torch.linspace(-1, 1, P, dtype=torch.float64)


def own(P):
    """A direction, or a model, for each client."""
    return torch.stack([along(P), 2 * along(P), -along(P)])


def pull(Y, places):
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)[places, None] * (Y - along(Y.shape[1]))


def slope(losses):
    return 0.5 + losses


SCALE = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
PLANS = [
    lambda P: Plan(mix=0.4, direction=along(P), prox=0.7, momentum=0.5, slope=slope),
    lambda P: Plan(direction=own(P)),
    lambda P: Plan(direction=own(P), mix=0.3),
    lambda P: Plan(force=pull),
    lambda P: Plan(force=pull, momentum=0.5),
    lambda P: Plan(single_step=True),
    lambda P: Plan(single_step=True, full_batch=True),
    lambda P: Plan(epochs=3, lr_scale=SCALE, momentum=0.9, slope=torch.rsqrt),
    lambda P: Plan(epochs=0, start=own(P)),
    lambda P: Plan(direction=own(P), force=pull, lr_scale=SCALE, prox=0.3, momentum=0.5, frozen=2 * (P > 15)),
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


@pytest.mark.parametrize("backend", ["auto", "sequential"])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize(("name", "given"), CASES)
def test_rounds_of_some_clients(name, given, batch_size, backend):
    changes = {"memberships": MEMBERSHIPS, "model": MLP, "batch_size": batch_size, "backend": backend}
    run = simulation(name, given, clients_per_round=2, **changes)
    engine = of_simulation(run)
    for _ in range(3):
        engine.rounds(1, run.select_clients())
        run.run_round()
    close(run.x, engine.x, 1e-9)
    assert run.state.keys() == engine.state.keys()
    for key, value in engine.state.items():
        close(run.state[key], value, 1e-9)
    close(run.evaluate("test").loss, torch.stack([*losses_of(run, run.clients.parts["test"])]), 1e-9)


@BOTH
@pytest.mark.parametrize(
    ("model", "batch_size", "counts"), [(LINEAR, 4, (60, 0, 2)), (MLP, None, (4, 6, 9)), (MLP, 4, (60, 0, 2))]
)
@pytest.mark.parametrize("plan", PLANS)
def test_local_steps(monkeypatch, backend, plan, model, batch_size, counts):
    """Clients of 4, 6 and 9 samples train in another order than they are numbered in, on stacks."""
    register(monkeypatch, "toy", configure_clients=lambda self, state, received: plan(received.x.numel()))
    run = simulation("toy", backend=backend, batch_size=batch_size, model=model, counts=counts)
    engine = of_simulation(run).rounds()
    run.run_round()
    close(run.x, engine.x, 1e-12)


@pytest.mark.parametrize(
    "setting",
    [
        {"weight_decay": 0.5},
        {"optimizer": "adamw", "weight_decay": 0.1, "learning_rate": 0.05},
        {"lr_decay": {"factor": 0.5, "every": 2}},
    ],
)
@pytest.mark.parametrize(("name", "given"), [("fedprox", {"mu": 0.7}), ("propfair", {"M": 3.0})])
def test_decays_and_optimizers(name, given, setting):
    """AdamW's moments begin anew in each round; the proximal term and the slope belong to the gradient."""
    run, rates = simulation(name, given, model=MLP, batch_size=4, **setting), []
    for _ in range(3):
        rates.append(run.learning_rate)
        engine = of_simulation(run).rounds()
        run.run_round()
        close(run.x, engine.x, 1e-9)
    assert rates == ([0.1, 0.1, 0.05] if "lr_decay" in setting else [run.spec.learning_rate] * 3)


def test_adamw_has_no_momentum():
    with pytest.raises(ValueError, match="momentum, which optimizer adamw"):
        simulation("fedfa", {}, optimizer="adamw").run()
