"""FedVARP and server momentum: hand-computed rounds, limiting cases, decaying rates, running statistics."""

from dataclasses import replace

import pytest
import torch

from fairfl.algorithms.interface import Aggregate
from fairfl.modifiers import fedvarp
from fairfl.modifiers.server_momentum import Config, ServerMomentum
from tests.unit.algorithms.toy import X, close, vector
from tests.unit.modifiers.updates import D, federation, reports, summed

# -- FedVARP: hand-computed rounds, limiting cases, what becomes of decaying rates.
BOTH = pytest.mark.parametrize("corrected", ["sum", "updates"])


def rounds(told, **given):
    """(G of every round, memory) for reports [(ids, D, rate)] with equal weights."""
    modifier = fedvarp.FedVARP(fedvarp.Config(**given))
    state, totals = modifier.init_state(federation()), []
    for ids, delta, rate in told:
        w = torch.full((len(ids),), 1 / len(ids), dtype=torch.float64)
        G, state = summed(modifier, state, reports(ids, delta, rate), w)
        totals.append(G)
    return totals, state["memory"]


@BOTH
def test_example(corrected):
    told = [([0, 1], D[:2], 0.1), ([1, 2], vector([0.1, 0.1], [0.4, -0.2]), 0.1)]
    (v1, v2), memory = rounds(told, weighting="uniform", corrected=corrected)
    close(v1, (0.05, 0.15))
    close(v2, (1 / 3, -0.1))
    close(0.1 * memory, ((0.2, 0.0), (0.1, 0.1), (0.4, -0.2)))
    # Weighted by samples: y_1 = D_1 after round 1, pi_1 = 1/4.
    (_, v2), _ = rounds([([0], D[:1], 0.1), ([1], D[1:2], 0.1)], corrected=corrected)
    close(v2, (-0.1 + 0.25 * 0.2, 0.3))


def test_memory_keeps_step_with_a_decaying_rate():
    """Gradients that stay the same: D shrinks with the rate, and so must what is remembered of it."""
    g, rates = D / 0.1, (0.1, 0.1, 0.1, 0.01)
    told = [([k % 3], rate * g[k % 3 : k % 3 + 1], rate) for k, rate in enumerate(rates)]
    totals, _ = rounds(told, weighting="uniform")
    close(totals[-1], 0.01 * g.mean(0), 1e-12)
    totals, memory = rounds(told, weighting="uniform", per_rate=False)
    close(totals[-1], 0.01 * g[0] - 0.1 * g[0] + 0.1 * g.mean(0), 1e-12)
    close(memory, torch.stack([0.01 * g[0], *(0.1 * g[1:])]), 1e-12)


def test_the_algorithm_sees_corrected_updates_only_if_asked():
    seen = {"sum": D[1:], "updates": D[1:] - torch.stack([D[1], 0 * X]) + (D[0] + D[1]) / 3}
    for corrected, expected in seen.items():
        modifier = fedvarp.FedVARP(fedvarp.Config(weighting="uniform", corrected=corrected))
        _, state = summed(modifier, modifier.init_state(federation()), reports([0, 1], D[:2]), vector(0.5, 0.5))
        close(modifier.modify_reports(state, reports([1, 2], D[1:])).delta, expected, 1e-12)


# -- Server momentum: hand-computed steps; running statistics have none.
@pytest.mark.parametrize(
    ("form", "first", "second"), [("heavy", (0.9, -2.1), (0.61, -2.19)), ("ema", (0.99, -2.01), (0.961, -2.019))]
)
def test_example_of_momentum(form, first, second):
    modifier, x = ServerMomentum(Config(form=form, beta=0.9)), X
    state = modifier.init_state(federation())
    for G, expected in ((vector(0.1, 0.1), first), (vector(0.2, 0.0), second)):
        v, state = modifier.modify_sum(state, G, Aggregate(), None)
        assert state.keys() == {"velocity"} and torch.equal(state["velocity"], v)
        x = x - v
        close(x, expected)


def test_running_statistics_have_none():
    federated = replace(federation(x=torch.cat([X, vector(7, 7)])), parameters=2)
    assert ServerMomentum(Config()).init_state(federated)["velocity"].shape == (2,)
