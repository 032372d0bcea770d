"""FedProx: the hand-computed local steps, limits of mu, weights, the rate at which the pull alone diverges."""

import pytest
import torch

from fairfl import algorithms
from fairfl.runtime.errors import OptionError
from tests.unit.algorithms.quadratics import Run
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import gradient, simulation


def scalar(mu, steps=2, eta=0.1):
    """x after a round of one client with f(y) = (y - 3)^2 that starts at 0."""
    return Run(algorithms.create("fedprox", {"mu": mu}), vector(0), vector(3)[:, None], steps=steps, eta=eta).rounds().x


def test_example():
    close(scalar(1.0, steps=1), [0.6])
    close(scalar(1.0), [1.02])
    close(scalar(0.0), [1.08])


def test_a_pull_that_diverges_is_refused():
    scalar(19.9)
    with pytest.raises(OptionError, match=r"fedprox: mu: 20.0 diverges at learning_rate 0.1; .* below 2 / 0.1 = 20"):
        scalar(20.0)


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_the_engine_against_a_plain_loop(backend):
    run, mu = simulation("fedprox", {"mu": 0.7, "weighting": "uniform"}, backend, rounds=2, local_epochs=3), 0.7
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
