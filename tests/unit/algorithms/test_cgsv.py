"""CGSV: the hand-computed two rounds, rewards per tensor, buffers."""

from dataclasses import replace

import torch

from fairfl.algorithms import cgsv
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.toy import close, told, vector

SAMPLES, FIRST = vector(100, 200, 100), vector(1, 2, 3, 4)
ROUND_1 = vector([0.3, 0.4, 0, 0], [0, 0.6, 0.8, 0], [-0.6, 0, 0, 0.8])
ROUND_2 = vector([0.6, 0.8, 0, 0], [0, 0.6, 0.8, 0], [0, 0, 0.6, 0.8])


def begin(first=FIRST, known=None, **given):
    algorithm = cgsv.CGSV(cgsv.Config(Gamma=0.5, **given))
    return algorithm, algorithm.init_state(Federation(SAMPLES, first, **{"shapes": ((4,),)} | (known or {})))


def step(algorithm, state, moves, buffers=None):
    """(update of the server's model, next state); `moves` [m, P] are y_k - w_k."""
    report = told(-moves, samples=SAMPLES, buffers=buffers)
    start = algorithm.configure_clients(state, report).start
    assert torch.equal(start, state["w"]), "training begins at the client's own model"
    result, state = algorithm.aggregate(state, replace(report, start=start))
    return result.weights @ moves, state


def test_example():
    algorithm, state = begin()
    U, state = step(algorithm, state, ROUND_1)
    close(U, [0, 0.25, 0.2, 0.1])
    close(state["r"], [0.338983, 0.525424, 0.135593])
    close(cgsv.shares(state["r"], algorithm.config), [0.677705, 1, 0.279675])
    close(state["w"] - FIRST, [[0, 0.25, 0.2, 0.1], [0, 0.25, 0.2, 0.1], [0, 0.25, 0.2, 0]])
    before = state["w"]
    U, state = step(algorithm, state, ROUND_2)
    close(U, [0.101695, 0.293220, 0.250847, 0.054237])
    close(state["r"], [0.339218, 0.516212, 0.144570])
    close(state["w"] - before, [[0.101695, 0.293220, 0.250847, 0], U.tolist(), [0, 0.293220, 0.250847, 0]])


def test_example_of_a_client_that_keeps_its_own_update():
    """U, r and the rewards are those of the example; w_k = y_k + reward, and the next round starts there."""
    algorithm, state = begin(top_up=True)
    U, state = step(algorithm, state, ROUND_1)
    close(U, [0, 0.25, 0.2, 0.1])
    close(state["w"] - FIRST, [[0.3, 0.65, 0.2, 0.1], [0, 0.85, 1.0, 0.1], [-0.6, 0.25, 0.2, 0.8]])
    before = state["w"]
    close(step(algorithm, state, ROUND_2)[1]["w"][2] - before[2], [0, 0.293220, 0.850847, 0.8])


def test_tensors_are_those_of_the_parameters():
    algorithm, state = begin(known={"shapes": ((1, 2), (), (1,))})
    assert state["sizes"].tolist() == [2, 1, 1]
    # U = (0, .25, .2, .1), q = (.68, 1, .28): of a tensor of one entry everybody gets it.
    close(step(algorithm, state, ROUND_1)[1]["w"] - FIRST, [[0, 0.25, 0.2, 0.1]] * 3)


def test_only_parameters_are_rewarded_and_buffers_are_those_of_the_trained_model():
    buffers = vector([1.0, 2.0], [3.0, 4.0], [5.0, 6.0])
    U, plain = step(*begin(), ROUND_1)
    V, state = step(*begin(vector(1, 2, 3, 4, 9, 8), {"parameters": 4}), ROUND_1, buffers)
    assert torch.equal(U, V) and torch.equal(plain["r"], state["r"])
    assert torch.equal(state["w"], torch.cat([plain["w"], buffers], dim=1))


def test_absent_clients_keep_their_importance():
    algorithm, state = begin()
    two = told(-ROUND_1[:2], (0, 1), SAMPLES[:2], start=state["w"][:2])
    after = algorithm.aggregate(state, two)[1]["r"]
    close(after[2], 0.25, 0)
    close(after.sum(), 1.0, 1e-12)
