"""A step by hand against autograd, in float64."""

import pytest
import torch
from torch import nn

from fairfl.simulation.backends import conv_kernels
from fairfl.simulation.losses import LOSSES

CHAINS = {
    "one": lambda: [nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(3 * 36, 4)],
    "small": lambda: [
        *(nn.Conv2d(2, 3, 3, padding=1), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(16, 5), nn.ReLU(), nn.Linear(5, 4)),
    ],
    "odd": lambda: [
        *(nn.Conv2d(2, 3, (3, 2), stride=(1, 2), padding=(2, 0), dilation=(2, 1)), nn.ReLU()),
        *(nn.MaxPool2d((3, 2), stride=(2, 1), padding=(1, 0)), nn.Flatten(), nn.Linear(3 * 4 * 3, 4)),
    ],
}


def check(layers, inputs, labels, loss="cross_entropy", slope=None):
    """The step of a chain is that of plain autograd; the inputs stay as they are."""
    model = nn.Sequential(*layers).double()
    assert conv_kernels.supports(model)
    losses = LOSSES[loss].value(model(inputs), labels)
    factor = 1 if slope is None else slope(losses.detach().mean())
    gradients = torch.autograd.grad(0.3 * factor * losses.sum(), list(model.parameters()))
    expected = [p.detach() - g for p, g in zip(model.parameters(), gradients, strict=True)]
    before = inputs.clone()
    targets = LOSSES[loss].targets(labels[None], model[-1].out_features, torch.float64)[0]
    apart = [p.detach().clone() for p in model.parameters()]
    for moved in (apart, [p.data for p in model.parameters()]):  # elsewhere, and in the model itself
        step = conv_kernels.ManualStep(model, LOSSES[loss], moved)
        total = step(inputs, targets, torch.tensor(0.3).double(), measured=True, slope=slope)
        torch.testing.assert_close(total, losses.detach().sum())
        for a, b in zip(moved, expected, strict=True):
            torch.testing.assert_close(a, b)
    assert torch.equal(inputs, before)


IMAGES = torch.randn(7, 2, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("chain", CHAINS)
def test_a_step_is_that_of_autograd(chain, memory):
    torch.manual_seed(0)
    check(CHAINS[chain](), IMAGES.contiguous(memory_format=memory), torch.arange(7) % 4)


def test_ties_in_a_pool_slopes_and_the_logistic_loss():
    """Equal pixels, as in the background of a digit: the gradient belongs to one of them."""
    torch.manual_seed(0)
    check(CHAINS["small"](), torch.zeros(3, 2, 8, 8).double(), torch.tensor([0, 1, 2]))
    check(CHAINS["small"](), IMAGES, torch.arange(7) % 4, slope=torch.exp)
    layers = [nn.Conv2d(2, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(98, 1)]
    check(layers, IMAGES, torch.tensor([0, 1, 1, 0, 1, 0, 0]), "logistic")


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)],
        [nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1), nn.Flatten(), nn.Linear(1, 1)],
        [nn.Conv2d(2, 2, 1, groups=2), nn.Flatten(), nn.Linear(1, 1)],
        [nn.Conv2d(1, 1, 1), nn.MaxPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(1, 1)],
        [nn.Conv2d(1, 1, 1), nn.Flatten(), nn.Linear(1, 1), nn.ReLU()],
    ],
)
def test_other_chains_are_left_to_autograd(layers):
    assert not conv_kernels.supports(nn.Sequential(*layers))
