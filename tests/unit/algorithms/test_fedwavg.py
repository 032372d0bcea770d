"""FedWAvg: the hand-computed round, what counts as forgotten, state of clients that are not drawn."""

import pytest
import torch

from fairfl.algorithms import fedwavg
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import SAMPLES, X, close, reports, told, vector


def bits(*rows):
    """int8 [m, n_max] from strings of 1, 0 and - for padding."""
    return torch.tensor([[{"1": 1, "0": 0, "-": -1}[c] for c in row] for row in rows], dtype=torch.int8)


def played(samples, before, after, clients=None, state=None, **hyperparameters):
    """Weights and state after a round."""
    algorithm = fedwavg.FedWAvg(fedwavg.Config(**hyperparameters))
    labels = torch.stack([samples, 0 * samples], dim=1)
    state = algorithm.init_state(Federation(samples, labels=labels)) if state is None else state
    ids = list(range(len(samples))) if clients is None else clients
    report = told(torch.zeros(len(ids), 1), ids, samples[ids], correct_received=before, correct_after=after)
    result, state = algorithm.aggregate(state, report)
    return result.weights, state


@pytest.mark.parametrize(
    ("mode", "w"), [("count", [0.363636, 0.090909, 0.545455]), ("scaled", [0.252451, 0.490196, 0.257353])]
)
def test_example(mode, w):
    """s = (3, 0, 5) of 100, 200 and 100 samples."""
    right = bits("000" + 97 * "1" + 100 * "-", 200 * "1", "00000" + 95 * "1" + 100 * "-")
    weights, _ = played(SAMPLES, right, right, mode=mode)
    close(weights, w)
    if mode == "count":
        close(X - weights @ reports().delta, [0.718182, -1.918182])


def test_what_is_forgettable():
    """Samples: never right; learned; forgotten in a round, then learned again; forgotten between rounds."""
    n = vector(4.0, 1.0)
    w, state = played(n, bits("0010", "1---"), bits("0101", "1---"))
    close(w, [3 / 4, 1 / 4])  # the first and the third
    w, state = played(n, bits("0100", "1---"), bits("0111", "1---"), state=state)
    close(w, [4 / 5, 1 / 5])  # and the fourth, for ever
    assert state["forgotten"][0].tolist() == [False, False, True, True]
    assert state["right_ever"][0].tolist() == [False, True, True, True]
    w, state = played(n, bits("1111", "1---"), bits("1111", "1---"), state=state)
    close(w, [3 / 4, 1 / 4])  # the first is learned now
    assert not state["right_ever"][1, 1:].any()


def test_clients_that_are_not_drawn_keep_their_bits():
    n = vector(2.0, 2.0)
    _, state = played(n, bits("10", "01"), bits("11", "01"))
    w, after = played(n, bits("00"), bits("00"), clients=[1], state=state)
    close(w, [1.0])
    assert all(torch.equal(state[name][0], after[name][0]) for name in state)
    assert after["forgotten"][1].tolist() == [False, True]
