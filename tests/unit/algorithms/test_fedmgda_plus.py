"""FedMGDA+ and its solver: the hand-computed examples, optimality; more of it in tests/oracle."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.algorithms import fedmgda_plus
from fairfl.algorithms.shared.min_norm import GAP, frank_wolfe_gap, min_norm
from tests.unit.algorithms.toy import close, told, vector

G, SAMPLES = vector([3.0, 0.0], [-1.0, 2.0], [0.0, -0.5]), vector(50.0, 30.0, 20.0)
LENGTHS = G.norm(dim=1)


def weights(updates=G, samples=SAMPLES, eta=1.0, **hyperparameters):
    config = fedmgda_plus.Config(eta_global=eta, **hyperparameters)
    return fedmgda_plus.FedMGDAPlus(config).aggregate({}, told(updates, samples=samples))[0].weights


@pytest.mark.parametrize(
    ("epsilon", "lam", "d"),
    [
        (0.0, [0.5, 0.3, 0.2], [0.365836, 0.068328]),
        (0.05, [0.450000, 0.328115, 0.221885], [0.303262, 0.071591]),
        (0.1, [0.400000, 0.347214, 0.252786], [0.244721, 0.057771]),
        (0.5, [0.190983, 0.427051, 0.381966], [0.0, 0.0]),
    ],
)
def test_example(epsilon, lam, d):
    w = weights(epsilon=epsilon)
    close(w * LENGTHS, lam)
    close(w @ G, d)


def test_a_decaying_step_is_one_at_first_and_falls_with_the_local_rate():
    algorithm = fedmgda_plus.FedMGDAPlus(fedmgda_plus.Config(eta_global="decaying"))
    state = algorithm.init_state(None)
    for rate, step in ((0.2, 1.0), (0.2, 1.0), (0.05, 0.25)):
        aggregate, state = algorithm.aggregate(state, told(G, samples=SAMPLES, learning_rate=rate))
        close(aggregate.weights, step * weights(eta=1.0), 1e-12)


def test_a_client_that_did_not_move_keeps_its_place_among_the_weights():
    """u = 0 attracts weight up to lam0 + epsilon: the rest is shared by the others."""
    updates = torch.cat([G[:2], torch.zeros(1, 2, dtype=torch.float64)])
    w = weights(updates, epsilon=0.1)
    assert w[2] == 0
    close((w[:2] * LENGTHS[:2]).sum(), 0.7)
    close(weights(torch.zeros_like(G)), [0.0, 0.0, 0.0], 0)


# -- the solver -----------------------------------------------------------------------------------------------
def problem(seed: int, m: int, P: int, kind: str, epsilon: float):
    """Inner products of unit vectors, bounds and centre: independent, alike, equal, or in pairs that differ by 1e-7."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(m, P))
    if kind == "alike":
        u = u + 5 * rng.normal(size=P)
    elif kind == "equal":
        u = u[rng.integers(0, m, m)]
    elif kind == "nearly equal":
        u = u[rng.integers(0, m, m)] + 1e-7 * u
    elif kind == "opposite":
        u[-1], u[m // 2] = -u[0], 0
    u = u / np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-12)
    n = rng.uniform(0.1, 1, m)
    lam0 = torch.from_numpy(n / n.sum())
    return torch.from_numpy(u @ u.T), (lam0 - epsilon).clamp(min=0), (lam0 + epsilon).clamp(max=1), lam0


PROBLEMS = st.builds(
    problem,
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.integers(1, 15),
    st.sampled_from(["independent", "alike", "equal", "nearly equal", "opposite"]),
    st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]),
)


@settings(max_examples=50)
@given(PROBLEMS)
def test_the_solution_is_feasible_and_optimal(given_problem):
    Q, lower, upper, lam0 = given_problem
    lam = min_norm(Q, lower, upper, lam0)
    assert (lam >= lower).all() and (lam <= upper).all()
    close(lam.sum(), 1.0, 1e-9)
    assert frank_wolfe_gap(lam, Q, lower, upper) <= GAP
    # Optimality: nobody who may grow has a smaller slope than somebody who may shrink.
    slope = Q @ lam
    may_grow, may_shrink = lam < upper - 1e-6, lam > lower + 1e-6
    if may_grow.any() and may_shrink.any():
        assert slope[may_grow].min() >= slope[may_shrink].max() - 1e-6


def test_the_gap_is_the_best_first_order_gain():
    Q = torch.diag(torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64))
    lam = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    # Slopes 0.5, 0.15, 0; the best point of the box is (0.3, 0.3, 0.4): 2 (0.5 - 0.3) 0.5.
    assert frank_wolfe_gap(lam, Q, lam - 0.2, lam + 0.2) == pytest.approx(0.2)
