"""Power-of-choice: who is a candidate, what it costs, what is refused; more of it in tests/oracle."""

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Selection
from fairfl.runtime.errors import OptionError
from fairfl.simulation.seeds import generator
from tests.unit.algorithms.toy import vector
from tests.unit.simulation.federations import simulation

COUNTS = (4, 6, 9, 3, 5)


def chosen(losses, samples, m, round=0, **hyperparameters):
    """(A in the order in which it was asked, S)."""
    algorithm, asked = algorithms.create("power_of_choice", hyperparameters), []
    selection = Selection(
        order=torch.randperm(len(samples), generator=generator("order", round)),
        clients_per_round=m,
        samples=samples,
        losses=lambda ids: (asked.extend(ids.tolist()), losses[ids])[1],
        generator=lambda *path: generator("select", round, *path),
    )
    return asked, algorithm.select({}, selection).tolist()


def test_candidates_are_drawn_by_their_samples_without_replacement():
    """P(k in A) of two out of three: p_k + sum_j p_j p_k / (1 - p_j)."""
    n, draws, found = vector(1, 2, 7), 1000, torch.zeros(3)
    p = n / n.sum()
    for t in range(draws):
        found[chosen(n, n, 2, round=t, d=2)[0]] += 1
    expected = [p[k] + sum(p[j] * p[k] / (1 - p[j]) for j in range(3) if j != k) for k in range(3)]
    assert all(abs(found[k] / draws - expected[k]) < 0.05 for k in range(3))


def test_more_candidates_than_clients_are_all_and_fewer_than_m_are_refused():
    given = {"counts": COUNTS, "clients_per_round": 3}
    runs = [simulation("power_of_choice", {"d": d}, **given).run() for d in (5, 50)]
    assert torch.equal(runs[0].x, runs[1].x)
    with pytest.raises(OptionError, match="power_of_choice: d: 2 candidates for 3 clients in a round; .* at least 3"):
        simulation("power_of_choice", {"d": 2}, **given)
