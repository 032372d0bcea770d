"""Server momentum: hand-computed steps; running statistics have none."""

from dataclasses import replace

import pytest
import torch

from fairfl.algorithms.interface import Aggregate
from fairfl.modifiers.server_momentum import Config, ServerMomentum
from tests.unit.algorithms.toy import X, close
from tests.unit.modifiers.updates import federation, tensor


@pytest.mark.parametrize(
    ("form", "first", "second"),
    [("heavy", (0.9, -2.1), (0.61, -2.19)), ("ema", (0.99, -2.01), (0.961, -2.019))],
)
def test_example(form, first, second):
    modifier, x = ServerMomentum(Config(form=form, beta=0.9)), X
    state = modifier.init_state(federation())
    for G, expected in ((tensor(0.1, 0.1), first), (tensor(0.2, 0.0), second)):
        v, state = modifier.modify_sum(state, G, Aggregate(), None)
        assert state.keys() == {"velocity"} and torch.equal(state["velocity"], v)
        x = x - v
        close(x, expected)


def test_running_statistics_have_none():
    federated = replace(federation(x=torch.cat([X, tensor(7, 7)])), parameters=2)
    assert ServerMomentum(Config()).init_state(federated)["velocity"].shape == (2,)
