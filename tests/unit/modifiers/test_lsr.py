"""Local self-regularisation: the specification's example, limits, the augmentation, a run."""

import pytest
import torch
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F_v2

from fairfl.modifiers import lsr
from fairfl.modifiers.interface import Samples
from tests.unit.algorithms.toy import close, vector

SHAPE = (3, 8, 8)
STILL = {"augmentation": "none"}
MEAN, STD = (torch.tensor(values).view(3, 1, 1) for values in ([0.5, 0.4, 0.3], [0.25, 0.2, 0.5]))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def flat(inputs):
    """Logits of images, a model without parameters."""
    return inputs.flatten(1)[:, :3]


def objective(rounds=10, **given):
    return lsr.LSR(lsr.Config(**given)).objective("cross_entropy", Samples(SHAPE, MEAN, STD), rounds)


def terms(c=0.5, **given):
    z1, z2, c = vector([2.0, 1.0, 0.0]), vector([1.0, 1.5, 0.0]), torch.tensor(c).double()
    return [term.item() for term in lsr.terms(z1, z2, torch.tensor([0]), c, lsr.Config(**given))]


def test_example():
    close(terms(), [0.516084, 0.350219, 0.364578])
    close(terms(official_code=True), [0.861861, 0.116740, 0.992881])
    close(terms(c=0.3, sharpening=1.0)[0], 0.840206)  # -log(0.3 x 0.665241 + 0.7 x 0.331499)


@pytest.mark.parametrize("official_code", [False, True])
def test_the_loss_adds_the_terms_up(official_code):
    """Two images whose logits are their pixels; the second view is the first one."""
    x, y = torch.randn(2, *SHAPE, generator=generator(1), dtype=torch.float64), torch.tensor([0, 2])
    for names, rounds_done, gamma in (("ce+reg", 5, 0.4), ("ce+reg+ent", 5, 0.4), ("ce+reg+ent", 1, 0.2)):
        mine = objective(terms=names, official_code=official_code, **STILL)
        z = flat(x)
        parts = lsr.terms(z, z, y, torch.tensor(0.3).double(), mine.config)
        expected = parts[0] + gamma * parts[1] + (0.6 * parts[2] if names.endswith("ent") else 0)
        close(mine.losses(flat, x, y, rounds_done, generator()), expected, 1e-12)


def test_the_weight_of_the_regularisation_rises_in_the_first_rounds():
    """To 0.4 over a fifth of ten rounds."""
    assert [objective().gamma(t) for t in (0, 1, 2, 9)] == [0.0, 0.2, 0.4, 0.4]


# -- the second view ------------------------------------------------------------------------------
def pixels(n=400):
    return torch.rand(n, *SHAPE, generator=generator(1), dtype=torch.float64)


def test_shares_of_the_images_that_are_mirrored_jittered_and_grey(monkeypatch):
    """Of 400 images a half, four fifths and a fifth; all orders of the four changes, amounts from -1 to 1."""
    raw, calls = pixels(), []
    monkeypatch.setattr(lsr, "JITTER", tuple(lambda x, amount, n=n: calls.append((n, amount)) or x for n in range(4)))
    views = objective(augmentation="colour").second_view((raw - MEAN) / STD, generator()) * STD + MEAN
    grey, mirrored, same = (
        (views - other).abs().amax((1, 2, 3)) < 1e-6 for other in (views.mean(1, keepdim=True), raw.flip(3), raw)
    )
    assert 50 < grey.sum() < 110 and 120 < mirrored.sum() < 200 and torch.equal(mirrored | same, ~grey)
    assert 290 < len(calls) // 4 < 350
    assert len({tuple(n for n, _ in calls[at : at + 4]) for at in range(0, len(calls), 4)}) == 24, "in random order"
    amounts = [amount for _, amount in calls]
    assert -1 <= min(amounts) < -0.99 and 0.99 < max(amounts) <= 1


def test_jitter_is_torchvisions_of_fedlsr():
    """ColorJitter(0.8, 0.8, 0.8, 0.2) draws between the changes that amounts of -1 and 1 stand for."""
    theirs, image = v2.ColorJitter(0.8, 0.8, 0.8, 0.2), pixels(1)[0]
    ranges = (theirs.brightness, theirs.contrast, theirs.saturation, theirs.hue)
    changes = (F_v2.adjust_brightness, F_v2.adjust_contrast, F_v2.adjust_saturation, F_v2.adjust_hue)
    for mine, change, (low, high) in zip(lsr.JITTER, changes, ranges, strict=True):
        close(mine(image, -1.0), change(image, low), 1e-9)
        close(mine(image, 1.0), change(image, high), 1e-9)
