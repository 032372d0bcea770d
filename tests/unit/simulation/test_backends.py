"""Both backends: hand-computed steps, equality with each other and with torch.optim, unequal sizes, short batches."""

import copy
import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from fairfl.simulation import flat_parameters
from fairfl.simulation.backends import dense_kernels, stacked_block
from fairfl.simulation.backends import stacked as stacked_module
from fairfl.simulation.backends.cpu_tuning import Tuning
from fairfl.simulation.backends.dense_kernels import supports
from fairfl.simulation.backends.interface import LocalTraining, Work, order
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.backends.sequential import Sequential
from fairfl.simulation.backends.stacked import Stacked
from fairfl.simulation.evaluation import client_losses
from fairfl.simulation.losses import LOSSES
from tests.unit.simulation.federations import CPU, clients_of, close, image_clients, spec_of


def both(spec, clients):
    stacked, x = make_backend(spec, clients, "stacked", CPU)
    sequential, y = make_backend(spec, clients, "sequential", CPU)
    assert isinstance(stacked, Stacked) and isinstance(sequential, Sequential)
    assert torch.equal(x, y)
    return stacked, sequential, x


def local(epochs=1, batch_size=None):
    return LocalTraining(epochs, batch_size, seed=3)


def propfair(loss):
    """phi'(l) for phi(l) = -log(1 - l / 4); 1/4 from a loss of 3.8 on."""
    return torch.where(loss < 3.8, 1 / (4 - loss), 0.25)


def work(x, clients, scale=None, prox=None, start=None, momentum=0.0, slope=None):
    """One model per client at rate 0.1 times `scale`, pulled to x by `prox`."""
    anchor = x.expand(len(clients), -1)
    return Work(
        clients=list(clients),
        start=anchor if start is None else start,
        rate=0.1 * torch.tensor(scale or [1.0] * len(clients), dtype=torch.float64),
        prox=None if prox is None else torch.tensor(prox, dtype=torch.float64),
        anchor=None if prox is None else anchor,
        momentum=momentum,
        slope=slope,
    )


# Logistic loss. One sample (1, 2) of label 1: at zeros the gradient is -1/2 (1, 2, 1), the loss log 2. Zero inputs and
# labels in balance: no gradient on the weights, so that what is left of a step is the pull to (1, -2, 0), on y = 3.
SLOPE, PULL = [([1.0, 2.0], 1)], [([0.0, 0.0], 1), ([0.0, 0.0], 0)]
HEAVY = {"prox": [0.5], "momentum": 0.5}


@pytest.mark.parametrize(
    ("samples", "local_term", "epochs", "delta"),
    [
        (SLOPE, {}, 1, [-0.05, -0.1, -0.05]),
        (SLOPE, {"slope": propfair}, 1, [-0.05 * s / (4 - math.log(2)) for s in (1, 2, 1)]),
        # y <- y - eta mu (y - x): 3 -> 1 + 2 (1 - 0.05)^2 = 2.805
        (PULL, {"prox": [0.5]}, 2, [0.195, 0.0, 0.0]),
        # v <- v / 2 + (y - 1) / 2, y <- y - v / 10: v = 1, 1.45, 1.6025 and y = 2.9, 2.755, 2.59475
        (PULL, HEAVY, 1, [0.1, 0.0, 0.0]),
        (PULL, HEAVY, 2, [0.245, 0.0, 0.0]),
        (PULL, HEAVY, 3, [0.40525, 0.0, 0.0]),
    ],
)
def test_steps_by_hand(samples, local_term, epochs, delta):
    spec = spec_of(model={"name": "logistic_regression", "init": "zeros"}, loss="logistic")
    x, start = torch.zeros(3, dtype=torch.float64), None
    if samples is PULL:
        x, start = torch.tensor([1.0, -2.0, 0.0]).double(), torch.tensor([[3.0, -2.0, 0.0]]).double()
    for backend in both(spec, clients_of([samples], classes=2))[:2]:
        found = backend.train(work(x, [0], start=start, **local_term), local(epochs), 0).delta
        close(found, torch.tensor([delta], dtype=torch.float64))


class Reference:
    """Clients that train with torch.optim.SGD on an ordinary model, one after the other, in float64."""

    def __init__(self, backend, clients, loss="cross_entropy"):
        self.backend, self.loss = backend, LOSSES[loss].value
        self.part = clients.parts["train"]

    def delta(self, chosen, training, round, objective):
        """Updates [e, P]; `objective(l)` is what is descended for a batch loss of l."""
        return torch.stack([self._one(chosen, i, training, round, objective) for i in range(len(chosen.clients))])

    def _one(self, chosen, place, training, round, objective):
        model, flat = copy.deepcopy(self.backend.model), chosen.start[place].clone()
        own = flat_parameters.bind(model, flat)
        model.train()
        client, rate = chosen.clients[place], float(chosen.rate[place])
        optimizer = torch.optim.SGD(own, lr=0.1, momentum=chosen.momentum)
        inputs, labels = self.part.of(client)
        for epoch in range(training.epochs):
            for rows in order(len(labels), training, round, client, epoch).split(training.batch(len(labels))):
                with torch.enable_grad():
                    total = objective(self.loss(model(inputs[rows]), labels[rows]).mean())
                    if chosen.prox is not None:
                        anchor = copy.deepcopy(model)
                        anchors = flat_parameters.bind(anchor, chosen.anchor[place].clone())
                        distance = sum((p - a.detach()).square().sum() for p, a in zip(own, anchors, strict=True))
                        total = total + chosen.prox[place] / 2 * distance
                    optimizer.zero_grad()
                    (total * (rate / 0.1)).backward()
                optimizer.step()
        return chosen.start[place] - flat


OBJECTIVES = {
    "loss": (None, lambda loss: loss),
    "propfair": (propfair, lambda loss: -torch.log(1 - loss / 4)),
    "power": (lambda loss: 3 * loss**2, lambda loss: loss**3),
    "tilted": (torch.exp, torch.exp),
}


PROX = [0.7, 0.0, 2.0]
DENSE = [("mlp", *case) for case in itertools.product(OBJECTIVES, (0.0, 0.9), (None, PROX), (None, 4))]
BY_HAND_AND_BY_AUTOGRAD = [("cnn", "power", 0.9, None, 4), ("cnn", "propfair", 0.9, PROX, None)]


@pytest.mark.parametrize(("model", "objective", "momentum", "prox", "batch_size"), DENSE + BY_HAND_AND_BY_AUTOGRAD)
@pytest.mark.slow  # torch.optim takes seconds to import
def test_clients_walk_as_with_an_optimizer_of_torch(model, objective, momentum, prox, batch_size):
    """Three epochs that share the momentum, short last batches, unequal sizes, a rate of each client's own."""
    shape = {"mlp": {"hidden": [5, 4]}, "cnn": {"channels": [2, 3], "padding": 1, "hidden": 4}}[model]
    spec, clients = spec_of(model={"name": model, **shape}), image_clients([3, 9, 14], shape=(1, 4, 4))
    slope, phi = OBJECTIVES[objective]
    reference, x = make_backend(spec, clients, "sequential", CPU)
    chosen = work(x, [0, 1, 2], scale=[1.0, 2.0, 0.5], prox=prox, momentum=momentum, slope=slope)
    expected = Reference(reference, clients).delta(chosen, local(3, batch_size), 5, phi)
    assert expected.abs().amax(1).min() > 1e-3
    for name in ("sequential", "stacked") if model == "mlp" else ("sequential",):
        backend = make_backend(spec, clients, name, CPU)[0]
        close(backend.train(chosen, local(3, batch_size), 5).delta, expected)


@settings(max_examples=30, deadline=None)
@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    batch_size=st.one_of(st.none(), st.integers(1, 13)),
    epochs=st.integers(1, 3),
    models=st.integers(1, 2),
    block=st.sampled_from([1, 2, 100]),
    alone=st.sampled_from([0, 100, 10**9]),
    alone_from=st.sampled_from([0, 20, math.inf]),
    pulled=st.booleans(),
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
    slope=st.sampled_from([None, propfair]),
    seed=st.integers(0, 3),
)
@pytest.mark.slow
def test_any_federation_gives_equal_updates_in_both_backends(
    counts, batch_size, epochs, models, block, alone, alone_from, pulled, momentum, slope, seed
):
    """Unequal sizes, blocks of any size, several models per client, all that a step can have."""
    clients = image_clients(counts, seed=seed)
    stacked, sequential, x = both(spec_of(model={"name": "mlp", "hidden": [3]}), clients)
    ids = list(range(len(counts))) * models
    start = x + 0.1 * torch.randn(len(ids), len(x), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    chosen = work(x, ids, prox=[0.3] * len(ids) if pulled else None, start=start, momentum=momentum, slope=slope)
    with pytest.MonkeyPatch.context() as patch:
        rules = Tuning(alone_from=alone_from, stack_bytes=block * x.numel() * 8)
        patch.setattr(stacked_module, "tuning", lambda: rules)
        patch.setattr(stacked_module, "PADDING", 0)
        patch.setattr(stacked_module, "ALONE_BYTES", alone)
        a = stacked.train(chosen, local(epochs, batch_size), 2).delta
    close(a, sequential.train(chosen, local(epochs, batch_size), 2).delta)


@pytest.mark.parametrize("model", [{"name": "logistic_regression"}, {"name": "mlp", "hidden": [5, 4]}])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("local_term", [{}, {"momentum": 0.6, "prox": [0.7, 0.0, 2.0]}])
def test_other_forms_of_the_products_are_the_same_products(model, batch_size, local_term, monkeypatch):
    """float32, each client alone; oneDNN takes all products, and the evaluation's, or none, or samples are columns."""
    clients = image_clients([3, 9, 14], dtype=torch.float32)
    results, calls = [], []
    onednn = dense_kernels._onednn
    monkeypatch.setattr(dense_kernels, "_onednn", lambda *tensors: calls.append(1) or onednn(*tensors))
    for rules in (Tuning(alone_from=0), Tuning(alone_from=0, onednn_from=0), Tuning(alone_from=0, columns_from=0)):
        monkeypatch.setattr(dense_kernels, "CLASSES_FIRST", rules.columns_from)
        for module in (dense_kernels, stacked_module, stacked_block):
            monkeypatch.setattr(module, "tuning", lambda rules=rules: rules)
        backend, x = make_backend(spec_of(model=model), clients, "stacked", CPU)
        delta = backend.train(work(x, [0, 1, 2], **local_term), local(2, batch_size), 5).delta
        results.append((delta, backend.forward(x, clients.parts["train"].inputs)))
        assert bool(calls) == (rules.onednn_from == 0)
        by_columns = rules.columns_from == 0 and batch_size is None and model["name"] == "logistic_regression"
        assert by_columns == all(block.by_columns for block in backend.blocks.kept.values())
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
    layers = [
        nn.Flatten(),
        nn.Linear(4, 6),
        nn.ReLU(),
        nn.Dropout(0.4),
        nn.Linear(6, 5),
        nn.Dropout(0.2),
        nn.Linear(5, 3),
    ]
    model = nn.Sequential(*layers).double()
    part = clients.parts["train"]
    loss = LOSSES["cross_entropy"]
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
    for backend in both(spec_of(model={"name": "mlp", "hidden": [4]}, loss=loss), clients)[:2]:
        x = make_backend(spec_of(model={"name": "mlp", "hidden": [4]}, loss=loss), clients, "auto", CPU)[1]
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
    calls = [
        ([0, 1, 2], None, {}),
        ([2, 0], 4, {"momentum": 0.9}),
        ([1], 4, {}),
        ([0, 1, 2], 4, {}),
        ([2, 0], 4, {"momentum": 0.5}),
        ([2, 0], None, {"slope": propfair}),
        ([2, 0], None, {}),
        ([2, 0], None, {"slope": torch.ones_like}),
        ([0, 1], None, {"momentum": 0.9, "slope": propfair}),
        ([0, 1], None, {"momentum": 0.9, "slope": propfair}),
        ([0, 1, 2], None, {}),
    ]
    for name in ("stacked", "sequential"):
        kept, x = make_backend(spec, clients, name, CPU)
        returned = []
        for ids, batch_size, local_term in calls:
            fresh = make_backend(spec, clients, name, CPU)[0]
            chosen = work(x, ids, **local_term)
            a, b = (backend.train(chosen, local(2, batch_size), 1).delta for backend in (kept, fresh))
            returned.append((a, b))
            assert all(torch.equal(a, b) for a, b in returned)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("slope", [None, propfair, torch.rsqrt, torch.log])
def test_a_client_without_samples_stands_still(momentum, slope):
    """Whatever the slope says of a loss that does not exist."""
    clients = image_clients([3, 0, 5])
    for backend in both(spec_of(), clients)[:2]:
        x = torch.ones(4 * 3 + 3, dtype=torch.float64)
        chosen = work(x, [0, 1, 2], prox=[1.0] * 3, momentum=momentum, slope=slope)
        delta = backend.train(chosen, local(2, 2), 0).delta
        assert not delta[1].any() and delta[0].any() and delta[2].any()
        assert delta.isfinite().all()


def test_training_does_not_touch_the_received_model():
    clients = image_clients([3, 9])
    for backend in both(spec_of(), clients)[:2]:
        x = torch.ones(4 * 3 + 3, dtype=torch.float64)
        backend.train(work(x, [0, 1]), local(), 0)
        assert torch.equal(x, torch.ones_like(x))


@pytest.mark.parametrize("local_term", [{}, {"slope": propfair, "momentum": 0.9, "prox": [0.5, 0.5]}])
def test_full_batch_gradient_does_not_depend_on_the_chunk(monkeypatch, local_term):
    clients = image_clients([30, 41], shape=(1, 8, 8))
    spec = spec_of(model={"name": "cnn", "channels": [2, 3], "padding": 1, "hidden": 4})
    backend, x = make_backend(spec, clients, "auto", CPU)
    assert isinstance(backend, Sequential)
    whole = backend.train(work(x, [0, 1], **local_term), local(2), 0).delta
    monkeypatch.setattr("fairfl.simulation.evaluation.CHUNK", 7)
    pieces = backend.train(work(x, [0, 1], **local_term), local(2), 0).delta
    torch.testing.assert_close(pieces, whole, rtol=1e-9, atol=1e-12)


def test_bf16_products_stay_near_float32():
    for model in ({"name": "mlp", "hidden": [16]}, {"name": "cnn", "channels": [4], "padding": 1, "hidden": 8}):
        clients = image_clients([40, 25], shape=(1, 4, 4))
        for part in clients.parts.values():
            object.__setattr__(part, "inputs", part.inputs.float())
        ids, exact = [0, 1], None
        for precision in ("fp32", "bf16"):
            backend, x = make_backend(spec_of(model=model, precision=precision), clients, "auto", CPU)
            delta = backend.train(work(x, ids), local(2, 16), 0).delta
            assert delta.dtype == torch.float32
            exact = delta if exact is None else exact
        difference = (delta - exact).norm() / exact.norm()
        assert 1e-5 < difference < 0.05, "bf16 has 8 bits"


def test_stacked_supports_dense_chains_only():
    assert supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2, 2)))
    assert supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 1, bias=False)))
    assert not supports(nn.Sequential(nn.Flatten(), nn.Linear(2, 2), nn.ReLU()))
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
