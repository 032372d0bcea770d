"""FedWAvg: the hand-computed round, what counts as forgotten, state of clients that are not drawn."""

from dataclasses import replace

import pytest
import torch

from fairfl.algorithms import fedwavg
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import SAMPLES, X, close, reports


def bits(*rows):
    """int8 [m, n_max] from strings of 1, 0 and - for padding."""
    return torch.tensor([[{"1": 1, "0": 0, "-": -1}[c] for c in row] for row in rows], dtype=torch.int8)


def first(samples, **hyperparameters):
    config = fedwavg.Config(**hyperparameters)
    labels = torch.stack([samples, 0 * samples], dim=1)
    return fedwavg.FedWAvg(config).init_state(Federation(samples, labels=labels)), config


def played(samples, checks, clients=None, state=None, **hyperparameters):
    """Weights and state after rounds, each (received, after)."""
    fresh, config = first(samples, **hyperparameters)
    state = fresh if state is None else state
    ids = list(range(len(samples))) if clients is None else clients
    for received, after in checks:
        told = replace(
            reports(ids=(0,) * len(ids)), clients=torch.tensor(ids), samples=samples[ids],
            correct_received=received, correct_after=after,
        )  # fmt: skip
        result, state = fedwavg.FedWAvg(config).aggregate(state, told)
    return result.weights, state


@pytest.mark.parametrize(
    ("mode", "w", "x"),
    [
        ("count", [0.363636, 0.090909, 0.545455], [0.718182, -1.918182]),
        ("scaled", [0.252451, 0.490196, 0.257353], None),
    ],
)
def test_example(mode, w, x):
    """s = (3, 0, 5) of 100, 200 and 100 samples."""
    right = torch.full((3, 200), -1, dtype=torch.int8)
    for k, (n, s) in enumerate(zip((100, 200, 100), (3, 0, 5), strict=True)):
        right[k, :n] = 1
        right[k, :s] = 0
    weights, _ = played(SAMPLES, [(right, right)], mode=mode)
    close(weights, w)
    if x is not None:
        close(X - weights @ reports().delta, x)


def test_what_is_forgettable():
    """Samples: never right; learned; forgotten in a round, then learned again; forgotten between rounds."""
    n = vector(4, 1)
    one = (bits("0010", "1---"), bits("0101", "1---"))
    two = (bits("0100", "1---"), bits("0111", "1---"))
    w, state = played(n, [one])
    close(w, [3 / 4, 1 / 4])  # the first and the third
    w, state = played(n, [two], state=state)
    close(w, [4 / 5, 1 / 5])  # and the fourth, for ever
    assert state["forgotten"][0].tolist() == [False, False, True, True]
    assert state["right_ever"][0].tolist() == [False, True, True, True]
    w, state = played(n, [(bits("1111", "1---"), bits("1111", "1---"))], state=state)
    close(w, [3 / 4, 1 / 4])  # the first is learned now
    assert not state["right_ever"][1, 1:].any()


def test_clients_that_are_not_drawn_keep_their_bits():
    n = vector(2, 2)
    _, state = played(n, [(bits("10", "01"), bits("11", "01"))])
    w, after = played(n, [(bits("00"), bits("00"))], clients=[1], state=state)
    close(w, [1.0])
    for name in state:
        assert torch.equal(state[name][0], after[name][0])
    assert after["forgotten"][1].tolist() == [False, True]
