"""cgsv: the hand-computed two rounds, rewards per tensor, buffers, the engine."""

import pytest
import torch

from fairfl.algorithms import cgsv
from fairfl.algorithms.interface import Federation, Received, Reports
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import simulation

SAMPLES = vector(100, 200, 100)
FIRST = vector(1, 2, 3, 4)


def config_of(**hyperparameters):
    return cgsv.Config(**{"gamma": 0.5} | hyperparameters)


def begin(config, samples=SAMPLES, first=FIRST, **known):
    return cgsv.CGSV(config).init_state(Federation(samples, first, **{"shapes": ((len(first),),)} | known))


def step(state, moves, config, clients=None, samples=SAMPLES, buffers=None):
    """(update of the server's model, next state); `moves` [m, P] are y_k - w_k."""
    ids = torch.arange(len(samples)) if clients is None else torch.tensor(clients)
    known = {"clients": ids, "samples": samples[ids], "learning_rate": 0.1}
    start = cgsv.CGSV(config).configure_clients(state, Received(**known)).start
    assert torch.equal(start, state["w"][ids]), "training begins at the client's own model"
    reports = Reports(**known, delta=-moves, start=start, buffers=buffers)
    result, state = cgsv.CGSV(config).aggregate(state, reports)
    return result.weights @ moves, state


ROUND_1 = torch.tensor([[0.3, 0.4, 0, 0], [0, 0.6, 0.8, 0], [-0.6, 0, 0, 0.8]], dtype=torch.float64)
ROUND_2 = torch.tensor([[0.6, 0.8, 0, 0], [0, 0.6, 0.8, 0], [0, 0, 0.6, 0.8]], dtype=torch.float64)


# -- the example -------------------------------------------------------------------------------------------
def test_example():
    config = config_of()
    U, state = step(begin(config), ROUND_1, config)
    close(U, [0, 0.25, 0.2, 0.1])
    close(state["r"], [0.338983, 0.525424, 0.135593])
    close(cgsv.shares(state["r"], config), [0.677705, 1, 0.279675])
    close(state["w"] - FIRST, [[0, 0.25, 0.2, 0.1], [0, 0.25, 0.2, 0.1], [0, 0.25, 0.2, 0]])
    before = state["w"]
    U, state = step(state, ROUND_2, config)
    close(U, [0.101695, 0.293220, 0.250847, 0.054237])
    close(state["r"], [0.339218, 0.516212, 0.144570])
    close(cgsv.shares(state["r"], config), [0.688287, 1, 0.302400])
    close(state["w"][0] - before[0], [0.101695, 0.293220, 0.250847, 0])
    close(state["w"][1] - before[1], U)
    close(state["w"][2] - before[2], [0, 0.293220, 0.250847, 0])
    assert torch.equal(cgsv.CGSV(config).evaluation_models(state, FIRST).models, state["w"])


def test_example_of_a_client_that_keeps_its_own_update():
    """U, r and the rewards are those of the example; w_k = y_k + reward, and the next round starts there."""
    config = config_of(top_up=True)
    U, state = step(begin(config), ROUND_1, config)
    close(U, [0, 0.25, 0.2, 0.1])
    close(state["r"], [0.338983, 0.525424, 0.135593])
    close(state["w"] - FIRST, [[0.3, 0.65, 0.2, 0.1], [0, 0.85, 1.0, 0.1], [-0.6, 0.25, 0.2, 0.8]])
    before = state["w"]
    _, state = step(state, ROUND_2, config)
    close(state["w"][2] - before[2], [0, 0.293220, 0.850847, 0.8])


# -- rewards -----------------------------------------------------------------------------------------------


def test_tensors_are_those_of_the_parameters():
    config = config_of(beta=1.0)
    state = begin(config, shapes=((1, 2), (), (1,)))
    assert state["sizes"].tolist() == [2, 1, 1]
    _, state = step(state, ROUND_1, config)
    # U = (0, .25, .2, .1), q = (.68, 1, .28): of a tensor of one entry everybody gets it.
    close(state["w"] - FIRST, [[0, 0.25, 0.2, 0.1], [0, 0.25, 0.2, 0.1], [0, 0.25, 0.2, 0.1]])


# -- buffers -----------------------------------------------------------------------------------------------
def test_only_parameters_are_rewarded_and_buffers_are_those_of_the_trained_model():
    config = config_of()
    plain, with_buffers = begin(config), begin(config, first=vector(1, 2, 3, 4, 9, 8), parameters=4, shapes=((4,),))
    assert with_buffers["w"].shape == (3, 6)
    buffers = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=torch.float64)
    U, plain = step(plain, ROUND_1, config)
    V, with_buffers = step(with_buffers, ROUND_1, config, buffers=buffers)
    assert torch.equal(U, V) and torch.equal(plain["r"], with_buffers["r"])
    assert torch.equal(with_buffers["w"], torch.cat([plain["w"], buffers], dim=1))


# -- the engine --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["stacked", "sequential"])
def test_in_the_engine_every_client_trains_its_own_model_and_is_evaluated_with_it(backend):
    run = simulation("cgsv", {"Gamma": 0.5}, backend=backend)
    first = run.x.clone()
    run.run_round()
    own = run.state["w"].clone()
    assert run.state["sizes"].tolist() == [12, 3]
    assert not torch.equal(own[0], own[1]), "rewards differ"
    best = run.state["r"].argmax()
    close(own[best], run.x, 1e-12)  # the whole update, that of the server
    assert ((own - first) != 0).sum(1).min() < 15
    measured = run.evaluate("test").loss
    for k in range(3):
        inputs, labels = run.clients.parts["test"].of(k)
        outputs = run.backend.forward(own[k], inputs)
        close(measured[k], torch.nn.functional.cross_entropy(outputs, labels), 1e-12)
    plan = run.algorithm.configure_clients(run.state, run.measure_received([0, 1, 2]))
    assert torch.equal(plan.start, own)
