"""Server momentum: hand-computed steps and limiting cases."""

import pytest
import torch

from fairfl.algorithms.interface import Aggregate
from fairfl.modifiers import server_momentum
from tests.unit.algorithms.toy import X, close
from tests.unit.modifiers.updates import federation, reports, tensor


def velocities(totals, x=X, **given):
    """v of every round."""
    config = server_momentum.Config(**given)
    state, found = server_momentum.ServerMomentum(config).init_state(federation(x=x)), []
    for G in totals:
        v, state = server_momentum.ServerMomentum(config).modify_sum(
            state, G, Aggregate(), reports([0], G[..., None, :])
        )
        assert state.keys() == {"velocity"} and torch.equal(state["velocity"], v)
        found.append(v)
    return found


@pytest.mark.parametrize(
    ("form", "first", "second"),
    [("heavy", (0.9, -2.1), (0.61, -2.19)), ("ema", (0.99, -2.01), (0.961, -2.019))],
)
def test_example(form, first, second):
    v1, v2 = velocities([tensor(0.1, 0.1), tensor(0.2, 0.0)], form=form, beta=0.9)
    close(X - v1, first)
    close(X - v1 - v2, second)
    if form == "heavy":
        close(v2, (0.29, 0.09))


def test_running_statistics_have_none():
    federated = federation(x=torch.cat([X, tensor(7, 7)]))
    federated = type(federated)(**{**federated.__dict__, "parameters": 2})
    assert server_momentum.ServerMomentum(server_momentum.Config()).init_state(federated)["velocity"].shape == (2,)
