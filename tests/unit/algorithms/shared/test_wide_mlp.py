"""Narrow perceptrons in a wide one: they train alike, first nets, units extracted."""

import pytest
import torch

from fairfl.algorithms.interface import Plan
from fairfl.algorithms.shared import wide_mlp
from fairfl.simulation.simulation import Simulation
from tests.unit.algorithms.perceptrons import flat, random_nets
from tests.unit.algorithms.toy import close
from tests.unit.simulation.federations import image_clients, spec_of, work_of

WIDE, NARROW = [4, 7, 6, 3], [4, 3, 2, 3]
STATE = {"wide": torch.tensor(WIDE), "narrow": torch.tensor(NARROW)}


@pytest.mark.parametrize(
    ("backend", "momentum", "changes"),
    [
        ("stacked", 0.0, {}),
        ("stacked", 0.9, {"batch_size": 2}),
        ("sequential", 0.9, {}),
        ("sequential", 0.0, {"batch_size": 2, "optimizer": "adamw", "weight_decay": 0.1}),
    ],
)
def test_a_padded_net_trains_exactly_as_the_narrow_one(backend, momentum, changes):
    own = random_nets(NARROW, 3, scale=0.5)

    def trained(sizes):
        state = STATE | {"wide": torch.tensor(sizes)}
        spec = spec_of(model={"name": "mlp", "hidden": sizes[1:-1]}, local_epochs=4, **changes)
        run = Simulation(spec, image_clients([4, 6, 9]), None, torch.device("cpu"), backend)
        work = work_of(run, [0, 1, 2], Plan(start=flat(own, state), momentum=momentum))
        return work.start - run.backend.train(work, run.local, 0).delta

    wide, narrow = trained(WIDE), trained(NARROW)
    for (a, b), (w, v) in zip(wide_mlp.compact(wide, WIDE, NARROW), wide_mlp.layers(narrow, NARROW), strict=True):
        close(a, w, 1e-12)
        close(b, v, 1e-12)
    for weight, bias in wide_mlp.compact(wide, WIDE, NARROW):
        weight.zero_()
        bias.zero_()
    assert (wide == 0).all(), "what the narrow net lacks stays exactly zero"
    assert not torch.equal(narrow, flat(own, STATE | {"wide": torch.tensor(NARROW)}))


def test_first_nets():
    """Weights of a standard deviation of 0.1, biases of 0.1; every client has its own."""
    wide, narrow = [50, 60, 20], [50, 40, 20]
    nets = wide_mlp.drawn(2, wide, narrow, torch.zeros(50 * 60 + 60 + 60 * 20 + 20), 1)
    (w, b), (v, _) = wide_mlp.compact(nets, wide, narrow)
    assert abs(w.std() - 0.1) < 0.005 and abs(w.mean()) < 0.005 and abs(v.std() - 0.1) < 0.01
    close(b, torch.full_like(b, 0.1), 1e-7)
    assert not torch.equal(nets[0], nets[1]) and int((nets[0] != 0).sum()) == 50 * 40 + 40 + 40 * 20 + 20


def test_a_net_is_flattened_and_its_own_units_extracted():
    (net,) = random_nets(NARROW, 1)
    narrow = flat([net], STATE)[0]
    for pair, own in zip(wide_mlp.compact(narrow, WIDE, NARROW), net, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(pair, own, strict=True))
    assert narrow.count_nonzero() == sum(numbers.numel() for pair in net for numbers in pair)
    units = [torch.tensor([[0, 1, 2], [2, 0, 1]]), torch.tensor([[0, 1], [1, 0]])]
    same, turned = wide_mlp.extract(narrow, units, WIDE, NARROW)
    assert torch.equal(same, narrow)
    layers = wide_mlp.compact(turned, WIDE, NARROW)
    for (weight, bias), (w, b), below, here in zip(
        layers, net, [[0, 1, 2, 3], [2, 0, 1], [1, 0]], [[2, 0, 1], [1, 0], [0, 1, 2]], strict=True
    ):
        assert torch.equal(weight, w[here][:, below]) and torch.equal(bias, b[here])
