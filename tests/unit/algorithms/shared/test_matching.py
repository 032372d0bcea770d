"""Matching of neurons: the specification's numbers, a plain loop and all assignments as oracles."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from fairfl.algorithms.shared import matching
from fairfl.algorithms.shared.matching import Neurons, Prior

# Two clients, one input, one output: rows [incoming weight, bias, outgoing weight], shares 0.3 and 0.7 of the class.
CLIENT_0 = np.array([[1.0, 0.1, 2.0], [-1.0, 0.0, 1.0]])
CLIENT_1 = np.array([[-0.9, 0.1, 1.2], [0.9, 0.2, 1.8]])
PRECISIONS = np.array([[1.0, 1.0, 0.3], [1.0, 1.0, 0.7]])


def prior(size=3, gamma=1.0, variance=1.0):
    mean = np.zeros(size)
    mean[1] = 0.1
    return Prior(mean, variance, gamma, 700)


def draw(seed=0):
    return np.random.default_rng(seed)


def ones(rows):
    return [np.ones(own.shape[1]) for own in rows]


def gain_by_a_loop(w, s, neurons, i, J, given_prior):
    """Of row w in neuron i; N + a - 1 is the a-th new one."""
    N = len(neurons.counts)
    old = i < N
    total = 0.0
    for d in range(len(w)):
        G = neurons.G[i, d] if old else given_prior.mean[d] / given_prior.variance
        S = neurons.S[i, d] if old else 1 / given_prior.variance
        total += (s[d] * w[d] + G) ** 2 / (s[d] + S) - G**2 / S
    if old:
        c = min(neurons.counts[i], 10)
        return total + math.log(c / (J - c))
    return total - 2 * math.log(i - N + 1) + 2 * math.log(given_prior.gamma / J)


# -- the specification's example -----------------------------------------------------------------------------
OF_PFNM = [[0.273210, 1.292236, -0.556236, -1.942530], [2.189544, 0.675903, -0.012412, -1.398706]]
OF_FEDMA = [[-0.486667, 0.711667, 2.920526, 1.534232], [0.736667, -0.471667, 2.945526, 1.559232]]


@pytest.mark.parametrize(
    ("D", "precisions", "gamma", "expected"), [(3, PRECISIONS, 1.0, OF_PFNM), (2, np.ones((2, 2)), 7.0, OF_FEDMA)]
)
def test_example_scores(D, precisions, gamma, expected):
    rows, own = (CLIENT_0[:, :D], CLIENT_1[:, :D]), prior(D, gamma)
    neurons = matching.totals(rows, precisions, {0: np.arange(2)}, own)
    old = matching.score(rows[1], precisions[1], neurons)  # log(c / (J - c)) = log(1 / 1)
    new = matching.score(rows[1], precisions[1], matching.empty(1, own)) + 2 * math.log(gamma / 2)
    assert_allclose(np.hstack([old, new, new - 2 * math.log(2)]), expected, atol=1e-6)


def test_example_of_four_neurons():
    """What a smaller gamma merges: test_pfnm.py and test_fedma.py."""
    rows, own = [CLIENT_0[:, :2], CLIENT_1[:, :2]], prior(2, 7.0)
    assignments, neurons = matching.match(rows, ones(rows), own, 0, draw())
    assert [own.tolist() for own in assignments] == [[0, 1], [2, 3]]
    assert_allclose(neurons, [[0.5, 0.1], [-0.5, 0.05], [-0.45, 0.1], [0.45, 0.15]], atol=1e-6)


# -- oracles -------------------------------------------------------------------------------------------------
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 4), st.floats(0.1, 10), st.floats(0.1, 10))
def test_scores_and_assignments_against_all_of_them(seed, L, N, variance, gamma):
    J, D, numbers = 5, 3, draw(seed)
    own = prior(D, gamma, variance)
    w, s = numbers.normal(size=(L, D)), numbers.uniform(0, 2, size=D)
    s[0] = 0  # known nothing of
    neurons = Neurons(numbers.normal(size=(N, D)), numbers.uniform(0.1, 3, (N, D)), numbers.integers(1, J, N))
    gains = np.array([[gain_by_a_loop(row, s, neurons, i, J, own) for i in range(N + L)] for row in w])
    logs = np.log(neurons.counts / (J - neurons.counts))
    assert_allclose(matching.score(w, s, neurons) + logs, gains[:, :N], rtol=1e-9, atol=1e-9)
    best = max(gains[np.arange(L), list(places)].sum() for places in itertools.permutations(range(N + L), L))
    chosen = matching.assign(w, s, neurons, J, own)
    assert len(set(chosen)) == L
    assert gains[np.arange(L), chosen].sum() == pytest.approx(best)
    new = chosen[chosen >= N]
    assert new.tolist() == list(range(N, N + len(new))), "new neurons are counted in the order of the rows"


# -- the order of clients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_repair_what_the_first_pass_could_not_know(seed):
    """One neuron each of one number: 4 joins the 2s while there is nothing else, and leaves them when 6 has come."""
    rows, own = [np.array([[number]]) for number in (2.0, 2.0, 4.0, 6.0)], Prior(np.zeros(1), 10.0, 1.0, 700)
    first, _ = matching.match(rows, ones(rows), own, 0, draw(seed))
    assert np.concatenate(first).tolist() == [0, 0, 0, 1]
    a, b, c, d = np.concatenate(matching.match(rows, ones(rows), own, 5, draw(seed))[0])
    assert a == b != c == d
