"""The proportional veto core and veto by consumption: hand-computed elections, both ways to an excess, promises."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.algorithms.shared import veto_core
from tests.unit.algorithms.toy import close

inf, nan = float("inf"), float("nan")


def losses(*clients):
    return torch.tensor(clients, dtype=torch.float64)


def excess(L):
    """max |T|/K + |B|/J - 1 of each model, over coalitions T and sets of models B, not empty, that T prefers to it."""
    K, J = L.shape
    found = []
    for a in range(J):
        best = -inf
        for T in range(1, 2**K):
            ks = [k for k in range(K) if T >> k & 1]
            better = sum(all(L[k, b] < L[k, a] for k in ks) for b in range(J))
            best = max(best, len(ks) / K + better / J - 1 if better else -inf)
        found.append(best)
    return found


# Losses, excess of each model, when it vanishes, the elected one.
EXAMPLES = [
    (losses((0.2, 0.5, 0.4, 0.9), (0.8, 0.3, 0.4, 0.6), (0.5, 0.7, 0.45, 0.3)), [1 / 6, 1 / 6, -5 / 12, 1 / 6],
     [1, 1, Fraction(4, 3), 1], 2),
    (losses((0.1, 0.2, 0.3, 0.4, 0.5), (0.5, 0.4, 0.3, 0.2, 0.1)), None, [1, 2, Fraction(5, 2), 2, 1], 2),
    # Of the two that vanish last the first has the smaller mean.
    (losses((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), (0.3, 0.2, 0.1)), [0, 0, 1 / 3], [1, 1, Fraction(1, 2)], 0),
]  # fmt: skip


@pytest.mark.parametrize(("L", "excesses", "vanishing", "elected"), EXAMPLES)
def test_examples(L, excesses, vanishing, elected):
    if excesses:
        close(excess(L), excesses)
    assert (veto_core.vanishing(L), veto_core.elected(L)) == (vanishing, elected)


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_no_number_is_the_worst_loss(bad):
    assert veto_core.elected(losses((bad, 9.0), (bad, 9.0))) == 1
    assert veto_core.elected(losses((bad, bad))) == 1, "of equal losses the first one is the worst"


LOSSES = st.integers(1, 5).flatmap(
    lambda J: st.lists(st.lists(st.integers(0, 6), min_size=J, max_size=J), min_size=1, max_size=6)
)


@settings(max_examples=50)
@given(LOSSES)
def test_the_winner_is_in_the_core(own):
    L = losses(*own)
    assert excess(L)[veto_core.elected(L)] <= 1e-9, "no coalition blocks it"
    if L.shape[1] > 1:
        assert max(veto_core.vanishing(L)) <= Fraction(L.shape[1])
