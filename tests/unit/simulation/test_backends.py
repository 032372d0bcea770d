"""Both backends: hand-computed steps, equality with each other and with torch.optim, unequal sizes, short batches."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from fairfl.simulation.backends import dense_kernels, stacked_block
from fairfl.simulation.backends import stacked as stacked_module
from fairfl.simulation.backends.cpu_tuning import CpuTuning
from fairfl.simulation.backends.dense_kernels import supports
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.backends.sequential import Sequential
from fairfl.simulation.backends.stacked import Stacked
from fairfl.simulation.evaluation import client_losses
from fairfl.simulation.losses import LOSSES
from tests.unit.simulation.federations import CPU, clients_of, close, image_clients, spec_of


def both(spec, clients):
    (stacked, x), (sequential, y) = (make_backend(spec, clients, name, CPU) for name in ("stacked", "sequential"))
    assert isinstance(stacked, Stacked) and isinstance(sequential, Sequential) and torch.equal(x, y)
    return stacked, sequential, x


def local(epochs=1, batch_size=None):
    return LocalTraining(epochs, batch_size, seed=3)


def propfair(loss):
    """phi'(l) for phi(l) = -log(1 - l / 4); 1/4 from a loss of 3.8 on."""
    return torch.where(loss < 3.8, 1 / (4 - loss), 0.25)


def work(x, clients, scale=None, prox=None, start=None, momentum=0.0, slope=None):
    """One model per client at rate 0.1 times `scale`, pulled to x by `prox`."""
    anchor, rate = x.expand(len(clients), -1), 0.1 * torch.tensor(scale or [1.0] * len(clients), dtype=torch.float64)
    pull = {} if prox is None else {"prox": torch.tensor(prox, dtype=torch.float64), "anchor": anchor}
    return Work(list(clients), anchor if start is None else start, rate, momentum=momentum, slope=slope, **pull)


@settings(max_examples=30)
@given(st.data())
@pytest.mark.slow
def test_any_federation_gives_equal_updates_in_both_backends(data):
    """Unequal sizes, blocks of any size, several models per client, all that a step can have."""

    def one_of(*values):
        return data.draw(st.sampled_from(values))

    counts, seed = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=5)), one_of(0, 1, 2, 3)
    stacked, sequential, x = both(spec_of(model={"name": "mlp", "hidden": [3]}), image_clients(counts, seed=seed))
    ids = list(range(len(counts))) * one_of(1, 2)
    start = x + 0.1 * torch.randn(len(ids), len(x), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    prox, slope = one_of(None, [0.3] * len(ids)), one_of(None, propfair)
    chosen = work(x, ids, prox=prox, start=start, momentum=one_of(0.0, 0.5, 0.9), slope=slope)
    steps = local(one_of(1, 2, 3), one_of(None, *range(1, 14)))
    block, pass_share = one_of(1, 2, 100) * x.numel() * 8, one_of(0, 2, 100)
    rules = CpuTuning(alone_from=one_of(0, 20, math.inf), stack_bytes=block, pass_share=pass_share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stacked_module, "tuning", lambda: rules)
        for name, value in (("PADDING", 0), ("FEWEST_SHARING", 2), ("ALONE_BYTES", one_of(0, 100, 10**9))):
            patch.setattr(stacked_module, name, value)
        a = stacked.train(chosen, steps, 2).delta
    close(a, sequential.train(chosen, steps, 2).delta)


@pytest.mark.parametrize("model", [{"name": "logistic_regression"}, {"name": "mlp", "hidden": [5, 4]}])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("local_term", [{}, {"momentum": 0.6, "prox": [0.7, 0.0, 2.0]}])
def test_other_forms_of_the_products_are_the_same_products(model, batch_size, local_term, monkeypatch):
    """float32, each client alone; oneDNN takes all products, and the evaluation's, or none, or samples are columns, or
    two steps share a pass over the first layer."""
    clients = image_clients([3, 9, 14], dtype=torch.float32)
    results, calls = [], []
    onednn = dense_kernels._onednn
    monkeypatch.setattr(stacked_module, "FEWEST_SHARING", 2)
    monkeypatch.setattr(dense_kernels, "_onednn", lambda *tensors: calls.append(1) or onednn(*tensors))
    for changes in ({}, {"onednn_from": 0}, {"columns_from": 0}, {"pass_share": 2}):
        rules = CpuTuning(alone_from=0, **changes)
        monkeypatch.setattr(dense_kernels, "CLASSES_FIRST", rules.columns_from)
        for module in (dense_kernels, stacked_module, stacked_block):
            monkeypatch.setattr(module, "tuning", lambda rules=rules: rules)
        backend, x = make_backend(spec_of(model=model), clients, "stacked", CPU)
        delta = backend.train(work(x, [0, 1, 2], **local_term), local(2, batch_size), 5).delta
        results.append((delta, backend.forward(x, clients.parts["train"].inputs)))
        assert bool(calls) == (rules.onednn_from == 0)
        by_columns = rules.columns_from == 0 and batch_size is None and model["name"] == "logistic_regression"
        assert by_columns == all(block.by_columns for block in backend.blocks.kept.values())
        delayed = [type(block.stack.dense[0]) is dense_kernels.DelayedLinear for block in backend.blocks.kept.values()]
        # Only of clients with more than one batch.
        shares = rules.pass_share > 0 and batch_size is not None and model["name"] == "mlp" and not local_term
        assert sum(delayed) == (2 if shares else 0)
        calls.clear()
    expected = results[0]
    assert all(tensor.abs().max() > 0 for tensor in expected)
    for result in results[1:]:
        for one, other in zip(result, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("batch_size", [None, 1, 4, 100])
@pytest.mark.parametrize("local_term", [{}, {"momentum": 0.8, "slope": propfair}])
def test_blocks_as_a_gpu_gets_them_give_the_same_updates(batch_size, local_term):
    """All clients in one block, its width rounded up so that few graphs serve all rounds."""
    clients = image_clients([3, 9, 0, 14])
    stacked, sequential, x = both(spec_of(model={"name": "mlp", "hidden": [5]}), clients)
    stacked.kind = "cuda"
    for ids in ([0, 1, 2, 3], [1, 3], [0, 2]):
        a = stacked.train(work(x, ids, **local_term), local(2, batch_size), 5)
        close(a.delta, sequential.train(work(x, ids, **local_term), local(2, batch_size), 5).delta)
    assert all(block.shape.models in (2, 4) for block in stacked.blocks.kept.values())


def test_kept_blocks_are_bounded_by_their_memory(monkeypatch):
    clients = image_clients([3, 9, 14])
    monkeypatch.setattr(stacked_module, "KEPT_BYTES", {"cpu": 0})
    backend, x = make_backend(spec_of(), clients, "stacked", CPU)
    for ids in ([0], [1], [0, 1], [2]):
        backend.train(work(x, ids), local(1, 2), 0)
        assert len(backend.blocks.kept) == 1


ALL_AT_ONCE = {"momentum": 0.7, "slope": propfair, "prox": [0.2] * 6}


@pytest.mark.parametrize("local_term", [{}, ALL_AT_ONCE])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_dropout_draws_the_same_masks_in_both_backends(batch_size, local_term):
    clients = image_clients([3, 9, 14])
    torch.manual_seed(0)
    hidden = [nn.Flatten(), nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.4), nn.Linear(6, 5), nn.Dropout(0.2)]
    model = nn.Sequential(*hidden, nn.Linear(5, 3)).double()
    part, loss = clients.parts["train"], LOSSES["cross_entropy"]
    stacked, sequential = Stacked(copy.deepcopy(model), loss, part), Sequential(model, loss, part)
    x = sequential.flat.clone()
    before = torch.random.get_rng_state()
    twice = work(x, [0, 1, 2, 0, 1, 2], start=torch.stack([x, x, x, -x, -x, -x]), **local_term)
    a = stacked.train(twice, local(2, batch_size), 5).delta
    b = sequential.train(twice, local(2, batch_size), 5).delta
    close(a, b)
    assert torch.equal(before, torch.random.get_rng_state())
    next_round = stacked.train(twice, local(2, batch_size), 6).delta
    assert not torch.allclose(a, next_round), "masks change by round"
    inputs = part.inputs[:5]
    close(stacked.forward(x, inputs), sequential.forward(x, inputs))


@pytest.mark.parametrize("loss", ["cross_entropy", "logistic"])
def test_the_first_full_batch_tells_the_losses_at_the_start(loss):
    clients = image_clients([3, 0, 9, 14], classes=2)
    *backends, x = both(spec_of(model={"name": "mlp", "hidden": [4]}, loss=loss), clients)
    for backend in backends:
        trained = backend.train(work(x, [0, 1, 2, 3], scale=[1, 1, 0, 2]), local(2), 0, losses=True)
        expected = client_losses(backend.forward, LOSSES[loss], x, clients.parts["train"])
        torch.testing.assert_close(trained.loss, expected, rtol=1e-12, atol=0, equal_nan=True)
        assert backend.train(work(x, [0, 2]), local(2), 0).loss is None


def test_a_large_first_loss_stays_finite():
    """-log of an underflown probability would be infinite."""
    clients = clients_of([[([1000.0, 0.0], 0), ([1000.0, 0.0], 1)]], classes=2)
    for backend in both(spec_of(), clients)[:2]:
        x = torch.tensor([1.0, 0.0, -1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
        close(backend.train(work(x, [0]), local(), 0, losses=True).loss, torch.tensor([1000.0]).double())


def test_calls_do_not_depend_on_each_other():
    """Buffers are kept between calls; what they held must not matter, and what was returned stays."""
    clients = image_clients([3, 9, 14])
    spec = spec_of(model={"name": "mlp", "hidden": [5]})
    heavy = {"momentum": 0.9, "slope": propfair}
    calls = [([0, 1, 2], None, {}), ([2, 0], 4, {"momentum": 0.9}), ([1], 4, {}), ([0, 1, 2], 4, {})]
    calls += [([2, 0], None, {"slope": slope}) for slope in (propfair, None, torch.ones_like)]
    calls += [([2, 0], 4, {"momentum": 0.5}), ([0, 1], None, heavy), ([0, 1], None, heavy), ([0, 1, 2], None, {})]
    for name in ("stacked", "sequential"):
        kept, x = make_backend(spec, clients, name, CPU)
        returned = []
        for ids, batch_size, local_term in calls:
            fresh = make_backend(spec, clients, name, CPU)[0]
            chosen = work(x, ids, **local_term)
            a, b = (backend.train(chosen, local(2, batch_size), 1).delta for backend in (kept, fresh))
            returned.append((a, b))
            assert all(torch.equal(a, b) for a, b in returned)


@pytest.mark.parametrize("local_term", [{}, {"slope": propfair, "momentum": 0.9, "prox": [0.5, 0.5]}])
def test_full_batch_gradient_does_not_depend_on_the_chunk(monkeypatch, local_term):
    clients = image_clients([30, 41], shape=(1, 8, 8))
    backend, x = make_backend(spec_of(model=CNN | {"channels": [2, 3]}), clients, "sequential", CPU)
    whole = backend.train(work(x, [0, 1], **local_term), local(2), 0).delta
    monkeypatch.setattr("fairfl.simulation.evaluation.CHUNK", 7)
    pieces = backend.train(work(x, [0, 1], **local_term), local(2), 0).delta
    close(pieces, whole)


CNN = {"name": "cnn", "channels": [4], "padding": 1, "hidden": 8}


@pytest.mark.parametrize("model", [{"name": "mlp", "hidden": [16]}, CNN])
def test_bf16_products_stay_near_float32(model):
    clients, deltas = image_clients([40, 25], shape=(1, 4, 4), dtype=torch.float32), []
    for precision in ("fp32", "bf16"):
        backend, x = make_backend(spec_of(model=model, precision=precision), clients, "auto", CPU)
        deltas.append(backend.train(work(x, [0, 1]), local(2, 16), 0).delta)
        assert deltas[-1].dtype == torch.float32
    exact, rounded = deltas
    assert 1e-5 < (rounded - exact).norm() / exact.norm() < 0.05, "bf16 has 8 bits"


def test_stacked_supports_dense_chains_only():
    assert supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2, 2)))
    assert supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 1, bias=False)))
    assert not supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 2), nn.ReLU()))
    assert not supports(nn.Sequential(nn.Conv2d(1, 1, 1))) and not supports(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="stacked cannot run model cnn"):
        make_backend(spec_of(model=CNN), image_clients([3], shape=(1, 4, 4)), "stacked", CPU)
