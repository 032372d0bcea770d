"""FedDisco: the hand-computed weights, all metrics against SciPy, fall-backs."""

import torch
from scipy.spatial.distance import cosine
from scipy.stats import entropy

from fairfl.algorithms import feddisco
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import X, close, reports, told, vector

COUNTS = vector([90.0, 10.0], [100.0, 100.0], [20.0, 80.0])


def weights(counts=COUNTS, clients=None, **hyperparameters):
    algorithm, n = feddisco.FedDisco(feddisco.Config(**hyperparameters)), counts.sum(1)
    ids = list(range(len(n))) if clients is None else clients
    state = algorithm.init_state(Federation(n, labels=counts))
    return algorithm.aggregate(state, told(torch.zeros(len(ids), 1), ids, n[ids]))[0].weights


def test_example():
    close(feddisco.discrepancies(COUNTS, vector(0.5, 0.5), "kl"), [0.368064, 0, 0.192745])
    close(weights(), [0.027307, 0.75, 0.222693])
    close(X - weights() @ reports().delta, [0.980461, -2.180461])
    close(weights(a=2.0), [0, 1, 0])  # negative weights
    close(weights(vector([10.0, 0.0], [0.0, 30.0]), a=9.0, b=0.0), [0.25, 0.75])  # all cut off: sizes


def test_metrics_against_scipy():
    draw = torch.Generator().manual_seed(1)
    counts = torch.randint(0, 9, (6, 5), generator=draw).double() + torch.eye(6, 5)
    u, q = vector(0.1, 0.3, 0.2, 0.15, 0.25), counts / counts.sum(1, keepdim=True)
    for metric, expected in {
        "kl": lambda own: entropy(own, u),
        "cosine": lambda own: cosine(own, u),
        "l1": lambda own: abs(own - u).sum(),
        "l2": lambda own: (own - u).norm(),
    }.items():
        close(feddisco.discrepancies(counts, u, metric), [float(expected(own)) for own in q], 1e-12)


def test_the_pooled_target():
    """Two clients that together are balanced as the pool is; the third is the pool."""
    counts = vector([8.0, 2.0], [1.0, 3.0], [9.0, 5.0])
    algorithm = feddisco.FedDisco(feddisco.Config(target="pooled"))
    close(algorithm.init_state(Federation(counts.sum(1), labels=counts))["d"][2], 0.0, 1e-12)
    unseen = vector([8.0, 2.0, 0.0], [1.0, 3.0, 0.0])  # a class that nobody has
    assert weights(unseen, target="pooled").isfinite().all() and weights(unseen).isfinite().all()


def test_the_divisor_is_of_the_clients_of_the_round():
    w = (vector(0.5, 0.5) - 0.5 * vector(0.656309, 0.343691) + 0.1).clamp(min=0)
    close(weights(clients=[0, 2]), w / w.sum())
