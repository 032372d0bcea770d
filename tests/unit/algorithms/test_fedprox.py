"""FedProx: the hand-computed local steps, limits of mu, weights, the rate at which the pull alone diverges."""

import pytest
import torch
from pydantic import ValidationError

from fairfl import algorithms
from fairfl.runtime.errors import OptionError
from fairfl.simulation.simulation import Simulation
from tests.unit.algorithms.quadratics import Run
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close, step
from tests.unit.simulation.federations import gradient, image_clients, spec_of


def scalar(mu, steps=2, eta=0.1):
    """x after a round of one client with f(y) = (y - 3)^2 that starts at 0."""
    return Run(algorithms.create("fedprox", {"mu": mu}), vector(0), vector(3)[:, None], steps=steps, eta=eta).rounds().x


def test_example():
    close(scalar(1.0, steps=1), [0.6])
    close(scalar(1.0), [1.02])
    close(scalar(0.0), [1.08])


def test_the_first_local_step_does_not_feel_mu():
    assert torch.equal(scalar(7.0, steps=1), scalar(0.0, steps=1))


def test_a_stronger_pull_keeps_local_models_nearer():
    far = [scalar(mu, steps=50) for mu in (0.0, 1.0, 9.0)]
    assert far[0] > far[1] > far[2] > 0
    close(far[1], [2 * 3 / (2 + 1)], 1e-5)  # where f'(y) + mu y = 0
    assert scalar(0.0, steps=2000, eta=1e-3) > 2.9
    assert scalar(1e3, steps=2000, eta=1e-3) < 0.01, "in the limit nobody leaves x"


def test_weights_are_those_of_fedavg():
    for weighting in ("size", "uniform"):
        assert torch.equal(step("fedprox", weighting=weighting)[1], step("fedavg", weighting=weighting)[1])
    close(step("fedprox")[1], [0.25, 0.5, 0.25])


def test_a_pull_that_diverges_is_refused():
    scalar(19.9)
    with pytest.raises(OptionError, match=r"fedprox: mu: 20.0 diverges at learning_rate 0.1; .* below 2 / 0.1 = 20"):
        scalar(20.0)


@pytest.mark.parametrize("keys", [{"mu": -0.1}, {"mu": float("inf")}, {"weighting": "loss"}])
def test_impossible_values_are_refused(keys):
    with pytest.raises(ValidationError):
        algorithms.create("fedprox", keys)


def simulation(algorithm, hyperparameters, backend="auto", **changes):
    spec = spec_of(algorithm=algorithm, hyperparameters=hyperparameters, **{"local_epochs": 3, "rounds": 3} | changes)
    return Simulation(spec, image_clients([4, 6, 9]), None, torch.device("cpu"), backend)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_in_the_engine_no_pull_is_fedavg_and_a_pull_holds_clients_back(backend):
    plain = simulation("fedavg", {"weighting": "size"}, backend, batch_size=3)
    first = plain.x.clone()
    plain.run()
    free = simulation("fedprox", {"mu": 0.0}, backend, batch_size=3)
    held = simulation("fedprox", {"mu": 5.0}, backend, batch_size=3)
    close(free.run().x, plain.x, 1e-12)
    assert (held.run().x - first).norm() < 0.8 * (plain.x - first).norm()


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_the_engine_against_a_plain_loop(backend):
    run, mu = simulation("fedprox", {"mu": 0.7, "weighting": "uniform"}, backend, rounds=2), 0.7
    x = run.x.clone()
    run.run()

    for _ in range(2):
        models = []
        for k in range(3):
            y = x
            for _ in range(3):
                y = y - 0.1 * (gradient(run, y, k) + mu * (y - x))
            models.append(y)
        x = torch.stack(models).mean(0)
    close(run.x, x, 1e-12)
