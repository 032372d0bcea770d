"""Algorithms that weigh clients by their losses: hand-computed rounds of the toy, gradients of objectives."""

import pytest
import torch

from tests.unit.algorithms.reweighting import gradient_at_zero
from tests.unit.algorithms.toy import SAMPLES, G, close, reports, step

P = SAMPLES / SAMPLES.sum()
# (algorithm, hyper-parameters, weights, x), from the specification
EXAMPLES = [
    ("aaggff", {"form": "code"}, [0.325578, 0.331389, 0.343032], [0.830810, -2.030810]),
    ("aaggff", {"form": "centred"}, [0.318156, 0.329529, 0.352315], [0.828396, -2.028396]),
    ("fedavg", {"weighting": "size"}, [0.25, 0.5, 0.25], [0.900000, -2.100000]),
    ("fedavg", {"weighting": "uniform"}, [1 / 3, 1 / 3, 1 / 3], [0.833333, -2.033333]),
    ("fedsgd", {"weighting": "size"}, [0.25, 0.5, 0.25], [0.900000, -2.100000]),
    ("gifair", {"bound_share": 1}, [0.0, 0.5, 0.5], [0.850000, -2.050000]),
    ("gifair", {"bound_share": 0.1}, [0.225, 0.5, 0.275], [0.895000, -2.095000]),
    ("qffl", {"q": 0}, [1 / 3, 1 / 3, 1 / 3], [0.833333, -2.033333]),
    ("qffl", {"q": 1}, [0.072464, 0.144928, 0.289855], [0.884058, -1.985507]),
    ("qffl", {"q": 2}, [0.015974, 0.063898, 0.255591], [0.900958, -1.968051]),
    ("semi_vred", {"beta": 0.1}, [0.2390625, 0.478125, 0.2828125], [0.886875, -2.086875]),
    ("term", {"alpha": 0.5}, [0.175900, 0.451720, 0.372380], [0.861040, -2.061040]),
    ("vred", {"beta": 0.1}, [0.218750, 0.487500, 0.293750], [0.887500, -2.087500]),
]
# (algorithm, hyper-parameters, what it minimises, of the clients' losses)
OBJECTIVES = [
    ("gifair", {"lambda": 0.05}, lambda F: P @ F + 0.05 * torch.pdist(F[:, None], p=1).sum()),
    ("semi_vred", {"beta": 0.4}, lambda F: P @ F + 0.4 * P @ (F - P @ F).clamp(min=0).square()),
    ("term", {"alpha": 0.5}, lambda F: (P.log() + 0.5 * F).logsumexp(0) / 0.5),
    ("vred", {"beta": 0.4}, lambda F: P @ F + 0.4 * P @ (F - P @ F).square()),
]


@pytest.mark.parametrize(("name", "given", "w", "x"), EXAMPLES)
def test_example(name, given, w, x):
    found, weights, _ = step(name, **given)
    close(weights, w)
    close(found, x)


@pytest.mark.parametrize("name", ["fedavg", "fedprox", "fedsgd", "propfair"])
def test_sizes_are_those_of_the_clients_of_the_round(name):
    close(step(name, reports(ids=(0, 1)))[1], [1 / 3, 2 / 3])


@pytest.mark.parametrize(("name", "given", "objective"), OBJECTIVES)
def test_weights_are_the_gradient_of_the_objective(name, given, objective):
    close(step(name, **given)[1] @ G, gradient_at_zero(objective), 1e-7)
