"""Rank-Core-Fed: candidates, the vote, buffers."""

from dataclasses import replace

import pytest
import torch

from fairfl.algorithms import rank_core_fed
from fairfl.algorithms.shared.core_stability import core_weights
from tests.unit.algorithms.toy import SAMPLES, F, X, close, received, reports, start, vector


def candidates(report=None, **hyperparameters):
    """[J, P + B], and what is known then: (algorithm, state)."""
    algorithm, state = start("rank_core_fed", **hyperparameters)
    result, state = algorithm.aggregate(state, report or reports())
    assert result.weights is None and result.model is None, "x stands until the vote"
    return state["candidates"], (algorithm, state)


@pytest.mark.parametrize("J", [2, 3, 16])
def test_candidates(J):
    found, _ = candidates(J=J)
    D, p = reports().delta, SAMPLES / SAMPLES.sum()
    close(found[[0, -1]], torch.stack([X - p @ D, X]), 1e-12)
    if J > 2:
        close(found[1], X - core_weights(vector(5.0)[0], F, torch.ones(3), 0.2) @ D, 1e-12)
    assert found.shape == (J, 2) and len(found.unique(dim=0)) == J


def test_drawn_candidates_are_convex_combinations():
    config = rank_core_fed.Config(J=400)
    lam = rank_core_fed.combinations(reports(), vector(5.0)[0], config)
    assert lam.shape == (399, 3) and (lam >= 0).all()
    close(lam.sum(1), torch.ones(399), 1e-12)
    close(lam[2:].mean(0), [1 / 3] * 3, 0.05)
    close(lam[2:].var(0), [1 / 18] * 3, 0.01)  # of Dirichlet(1, 1, 1)
    other = rank_core_fed.combinations(replace(reports(), seed=1), vector(5.0)[0], config)
    assert torch.equal(lam[:2], other[:2]) and not torch.equal(lam[2:], other[2:])


def test_a_model_of_the_core_wins():
    """The four models of test_veto_core: clients found these losses of the candidates, [J, m]."""
    L = vector([0.2, 0.8, 0.5], [0.5, 0.3, 0.7], [0.4, 0.4, 0.45], [0.9, 0.6, 0.3])
    found, (algorithm, state) = candidates(J=4)
    report = replace(reports(), exchange=1)
    plan = algorithm.configure_clients(state, received(report))
    assert plan.epochs == 0
    close(plan.start, found[:, None].expand(-1, 3, -1))
    result, state = algorithm.aggregate(state, replace(report, start=plan.start, loss_after=L))
    assert state.keys() == {"M"}, "candidates are not kept after the round"
    assert torch.equal(result.model, found[2])


def test_candidates_have_the_mean_buffers_and_the_old_model_its_own():
    x, buffers = torch.cat([X, vector(7.0)]), vector(1.0, 2.0, 5.0)[:, None]
    found, _ = candidates(replace(reports(), x=x, buffers=buffers), J=3)
    close(found[:, 2], [0.25 * 1 + 0.5 * 2 + 0.25 * 5, 2.5, 7])
    close(found[:, :2], candidates(J=3)[0])
