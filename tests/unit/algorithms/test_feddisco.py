"""FedDisco: the hand-computed weights, all metrics against SciPy, fall-backs."""

import torch
from scipy.spatial.distance import cosine
from scipy.stats import entropy

from fairfl.algorithms import feddisco
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import X, close, reports

COUNTS = torch.tensor([[90.0, 10.0], [100.0, 100.0], [20.0, 80.0]], dtype=torch.float64)


def weights(counts=COUNTS, clients=None, **hyperparameters):
    config, n = feddisco.Config(**hyperparameters), counts.sum(1)
    ids = torch.arange(len(n)) if clients is None else torch.tensor(clients)
    told = reports(ids=(0,) * len(ids))
    told = type(told)(**told.__dict__ | {"clients": ids, "samples": n[ids]})
    return (
        feddisco.FedDisco(config)
        .aggregate(feddisco.FedDisco(config).init_state(Federation(n, labels=counts)), told)[0]
        .weights
    )


def test_example():
    close(feddisco.discrepancies(COUNTS, vector(0.5, 0.5), "kl"), [0.368064, 0, 0.192745])
    w = weights()
    close(w, [0.027307, 0.75, 0.222693])
    close(X - w @ reports().delta, [0.980461, -2.180461])


def test_example_of_negative_weights():
    close(weights(a=2.0), [0, 1, 0])


def test_metrics_against_scipy():
    draw = torch.Generator().manual_seed(1)
    counts = torch.randint(0, 9, (6, 5), generator=draw).double() + torch.eye(6, 5)
    u = torch.tensor([0.1, 0.3, 0.2, 0.15, 0.25], dtype=torch.float64)
    q = counts / counts.sum(1, keepdim=True)
    for metric, expected in {
        "kl": lambda own: entropy(own, u),
        "cosine": lambda own: cosine(own, u),
        "l1": lambda own: abs(own - u).sum(),
        "l2": lambda own: (own - u).norm(),
    }.items():
        close(feddisco.discrepancies(counts, u, metric), [float(expected(own)) for own in q], 1e-12)


def test_all_weights_cut_off_fall_back_to_sizes():
    skewed = torch.tensor([[10.0, 0.0], [0.0, 30.0]], dtype=torch.float64)
    close(weights(skewed, a=9.0, b=0.0), [0.25, 0.75])


def test_the_pooled_target():
    """Two clients that together are balanced as the pool is; the third is the pool."""
    counts = torch.tensor([[8.0, 2.0], [1.0, 3.0], [9.0, 5.0]], dtype=torch.float64)
    close(
        feddisco.FedDisco(feddisco.Config(target="pooled")).init_state(Federation(counts.sum(1), labels=counts))["d"][
            2
        ],
        0.0,
        1e-12,
    )
    unseen = torch.tensor([[8.0, 2.0, 0.0], [1.0, 3.0, 0.0]], dtype=torch.float64)  # a class that nobody has
    assert weights(unseen, target="pooled").isfinite().all() and weights(unseen).isfinite().all()


def test_the_divisor_is_of_the_clients_of_the_round():
    d = vector(0.656309, 0.343691)
    w = (vector(0.5, 0.5) - 0.5 * d + 0.1).clamp(min=0)
    close(weights(clients=[0, 2]), w / w.sum())
