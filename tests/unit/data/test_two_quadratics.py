"""The toy of FedEBA+, figure 1: losses, and the way of one row per client through partition and engine."""

import pytest
import torch

from fairfl.data import two_quadratics
from fairfl.models import linear_regression
from fairfl.simulation.losses import LOSSES
from tests.unit.partition.partition_tables import dealt, loaded


def losses(tensors, x):
    """Squared error of each row under the model a x."""
    return (tensors["inputs"][:, 0].astype(float) * x - tensors["labels"].astype(float)) ** 2


@pytest.mark.parametrize(("x", "expected"), [(0, (8, 8)), (2, (0, 18)), (-1, (18, 4.5)), (0.5, (4.5, 10.125))])
def test_losses_of_the_figure(x, expected):
    tensors = two_quadratics.prepare(None, two_quadratics.Config(), 0).tensors
    assert losses(tensors, x) == pytest.approx(expected, abs=1e-5)
    assert tensors["client"].tolist() == [0, 1]


@pytest.mark.parametrize("order", ["stored", "shuffled"])
def test_from_data_to_gradients(tmp_path, order):
    """Split train 1, validation 0, test 0: a step of 1/4 from x = 0 takes the clients to 2 and -1."""
    split = {"train": 1.0, "validation": 0.0, "test": 0.0, "order": order}
    dealt(tmp_path, two_quadratics.prepare(None, two_quadratics.Config(), 0), clients=2, split=split)
    clients = loaded(tmp_path, torch.float64)
    assert [clients.parts[part].sizes for part in ("train", "validation", "test")] == [[1, 1], [0, 0], [0, 0]]
    reached = []
    for client in range(2):
        model = linear_regression.build(linear_regression.Config(init="zeros"), clients.shape, 1).double()
        clients.check(model, "squared_error")
        inputs, labels = clients.parts["train"].of(client)
        loss = LOSSES["squared_error"].value(model(inputs), labels).mean()
        assert loss.item() == pytest.approx(8, abs=1e-5)
        loss.backward()
        (weight,) = model.parameters()
        reached.append((weight - 0.25 * weight.grad).item())
    assert reached == pytest.approx([2, -1], abs=1e-6)
