"""Both backends: hand-computed steps, equality with each other, unequal sizes, short batches."""

import pytest
import torch
from federations import clients_of, image_clients, spec_of
from torch import nn

from fairfl.algorithms.interface import Plan
from fairfl.engine.local import LocalTraining
from fairfl.engine.rounds import make_backend
from fairfl.engine.sequential import Sequential
from fairfl.engine.stacked import Stacked, supports

CPU = torch.device("cpu")


def both(spec, clients):
    stacked, x = make_backend(spec, clients, "stacked", CPU)
    sequential, y = make_backend(spec, clients, "sequential", CPU)
    assert isinstance(stacked, Stacked) and isinstance(sequential, Sequential)
    assert torch.equal(x, y)
    return stacked, sequential, x


def test_one_step_of_a_linear_model_by_hand():
    """Logistic loss, one sample (1, 2) with label 1, zeros: gradient -1/2 (1, 2, 1)."""
    clients = clients_of([[([1.0, 2.0], 1)]], classes=2)
    spec = spec_of(model={"name": "logistic_regression", "init": "zeros"}, loss="logistic")
    for backend in both(spec, clients)[:2]:
        delta = backend.train(torch.zeros(3, dtype=torch.float64), torch.tensor([0]), Plan(), local(epochs=1), 0)
        torch.testing.assert_close(delta, 0.1 * torch.tensor([[-0.5, -1.0, -0.5]], dtype=torch.float64))


def local(epochs=1, batch_size=None):
    return LocalTraining(epochs, batch_size, 0.1, seed=3)


@pytest.mark.parametrize(
    "model", [{"name": "logistic_regression", "init": "pytorch"}, {"name": "mlp", "hidden": [5, 4]}]
)
@pytest.mark.parametrize("batch_size", [None, 1, 4, 7, 100])
@pytest.mark.parametrize("plan", [Plan(), Plan(prox=0.7), Plan(lr_scale=torch.tensor([1.0, -0.5, 2.0]).double())])
def test_backends_agree(model, batch_size, plan):
    """float64, clients of 3, 9 and 14 samples, three epochs, short last batches."""
    clients = image_clients([3, 9, 14])
    stacked, sequential, x = both(spec_of(model=model), clients)
    ids = torch.arange(3)
    a = stacked.train(x, ids, plan, local(3, batch_size), 5)
    b = sequential.train(x, ids, plan, local(3, batch_size), 5)
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    assert a.abs().max() > 0


def test_a_sampled_round_trains_the_sampled_clients_only():
    clients = image_clients([3, 9, 14])
    stacked, _, x = both(spec_of(), clients)
    every = stacked.train(x, torch.arange(3), Plan(), local(), 0)
    some = stacked.train(x, torch.tensor([2, 0]), Plan(), local(), 0)
    torch.testing.assert_close(some, every[[2, 0]])


def test_training_does_not_touch_the_received_model():
    clients = image_clients([3, 9])
    for backend in both(spec_of(), clients)[:2]:
        x = torch.ones(4 * 3 + 3, dtype=torch.float64)
        backend.train(x, torch.arange(2), Plan(), local(), 0)
        assert torch.equal(x, torch.ones_like(x))


def test_full_batch_gradient_does_not_depend_on_the_chunk(monkeypatch):
    clients = image_clients([30, 41], shape=(1, 8, 8))
    spec = spec_of(model={"name": "cnn", "channels": [2, 3], "padding": 1, "hidden": 4})
    backend, x = make_backend(spec, clients, "auto", CPU)
    assert isinstance(backend, Sequential)
    whole = backend.train(x, torch.arange(2), Plan(), local(2), 0)
    monkeypatch.setattr("fairfl.engine.sequential.CHUNK", 7)
    torch.testing.assert_close(backend.train(x, torch.arange(2), Plan(), local(2), 0), whole, rtol=1e-9, atol=1e-12)


def test_stacked_supports_dense_chains_only():
    assert supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 2), nn.ReLU()))
    assert not supports(nn.Sequential(nn.Conv2d(1, 1, 1)))
    assert not supports(nn.Linear(2, 2))


def test_asking_for_stacked_convolutions_says_so():
    spec = spec_of(model={"name": "cnn", "channels": [2], "padding": 1, "hidden": 4})
    with pytest.raises(ValueError, match="stacked cannot run model cnn"):
        make_backend(spec, image_clients([3], shape=(1, 4, 4)), "stacked", CPU)


def test_initial_model_depends_on_the_seed_alone():
    clients = image_clients([3])
    first = make_backend(spec_of(seed=1), clients, "auto", CPU)[1]
    torch.manual_seed(99)
    again = make_backend(spec_of(seed=1), clients, "auto", CPU)[1]
    other = make_backend(spec_of(seed=2), clients, "auto", CPU)[1]
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
