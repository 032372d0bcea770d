"""Local self-regularisation: the specification's example, limits, the augmentation, a run."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F_v2
from torchvision.transforms.v2.functional import rotate

from fairfl.modifiers import lsr
from fairfl.modifiers.interface import Samples
from tests.unit.algorithms.toy import close
from tests.unit.modifiers.updates import tensor

SHAPE = (3, 8, 8)
STILL = {"augmentation": "none"}
MEAN, STD = (torch.tensor(values).view(3, 1, 1) for values in ([0.5, 0.4, 0.3], [0.25, 0.2, 0.5]))
LOGITS = st.lists(st.floats(-30, 30), min_size=3, max_size=3)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def images(n=40, shape=SHAPE):
    return torch.randn(n, *shape, generator=generator(1), dtype=torch.float64)


def flat(scale=1.0):
    """Logits of images, a model without parameters."""
    return lambda inputs: scale * inputs.flatten(1)[:, :3]


def objective(rounds=10, **given):
    return lsr.LSR(lsr.Config(**given)).objective("cross_entropy", Samples(SHAPE, MEAN, STD), rounds)


def terms(z1=(2.0, 1.0, 0.0), z2=(1.0, 1.5, 0.0), c=0.5, **given):
    z1, z2 = tensor(z1), tensor(z2)
    return [term.item() for term in lsr.terms(z1, z2, torch.tensor([0]), tensor(c)[0], lsr.Config(**given))]


def test_example():
    Lcls, Lreg, Lent = terms()
    close(Lcls, 0.516084)
    close(Lreg, 0.350219)
    close(Lent, 0.364578)
    close(Lcls + 0.4 * Lreg, 0.656172)


def test_example_of_the_released_code():
    Lcls, Lreg, Lent = terms(official_code=True)
    close(Lcls, 0.861861)
    close(Lreg, 0.116740)
    close(Lent, 0.992881)
    close(Lcls + 0.4 * Lreg + 0.6 * Lent, 1.504285, 2e-6)  # of rounded terms


def test_example_of_the_mixture():
    """pm without sharpening, and ps."""
    close(math.exp(-terms(sharpening=1.0)[0]), 0.498370)
    close(math.exp(-terms()[0]), 0.596853)


@pytest.mark.parametrize("official_code", [False, True])
def test_the_loss_adds_the_terms_up(official_code):
    """Two images whose logits are their pixels; the second view is the first one."""
    x, y = images(2), torch.tensor([0, 2])
    for names, rounds_done, gamma in (("ce+reg", 5, 0.4), ("ce+reg+ent", 5, 0.4), ("ce+reg+ent", 1, 0.2)):
        mine = objective(terms=names, official_code=official_code, **STILL)
        z = flat()(x)
        parts = lsr.terms(z, z, y, tensor(0.3)[0], mine.config)
        expected = parts[0] + gamma * parts[1] + (0.6 * parts[2] if names.endswith("ent") else 0)
        close(mine.losses(flat(), x, y, rounds_done, generator()), expected, 1e-12)


def test_without_regularisation_identical_views_and_sharpening_it_is_the_cross_entropy():
    x, y = images(), torch.arange(40) % 3
    plain = objective(gamma=0.0, sharpening=1.0, **STILL)
    close(plain.losses(flat(9.0), x, y, 9, generator()), F.cross_entropy(flat(9.0)(x), y, reduction="none"), 1e-9)


@given(LOGITS, st.floats(0, 1))
@settings(max_examples=30)
def test_identical_views_have_nothing_to_distil(z, c):
    assert abs(terms(z, z, c)[1]) < 1e-12


@given(LOGITS, LOGITS, st.floats(0, 1), st.sampled_from([1 / 3, 1.0]))
@settings(max_examples=50)
def test_bounds_of_the_terms(z1, z2, c, Td):
    Lcls, Lreg, Lent = terms(z1, z2, c, Td=Td)
    assert Lcls >= -1e-12
    assert -1e-12 <= Lreg <= math.log(2) + 1e-5  # clamped predictions sum to a little more than 1
    assert 0 <= Lent <= math.log(3) + 1e-5
    official = terms(z1, z2, c, Td=Td, official_code=True)
    assert math.log(1 + 2 / math.e) - 1e-9 <= official[0] <= math.log(math.e + 2) + 1e-9
    close(official[1], Lreg / 3, 1e-12)


@pytest.mark.parametrize("c", [0.0, 1.0])
def test_a_view_without_a_share_has_no_gradient(c):
    z1, z2 = (tensor(z).requires_grad_() for z in ((2.0, 1.0, 0.0), (1.0, 1.5, 0.0)))
    Lcls = lsr.terms(z1, z2, torch.tensor([0]), tensor(c)[0], lsr.Config())[0]
    unused, used = torch.autograd.grad(Lcls.sum(), (z1, z2) if c == 0 else (z2, z1))
    assert not unused.any() and used.isfinite().all() and used.any()


def test_hopeless_labels_keep_a_gradient():
    """-log of a clamped probability would have none."""
    z = tensor([60.0, 0.0, 0.0]).requires_grad_()
    Lcls = lsr.terms(z, z, torch.tensor([1]), tensor(0.5)[0], lsr.Config())[0]
    close(Lcls.detach(), [120.0], 1e-6)
    close(torch.autograd.grad(Lcls.sum(), z)[0], [[2.0, -2.0, 0.0]], 1e-6)


def test_half_precision_is_computed_in_single():
    z = torch.tensor([[30.0, 1.0, 0.0]], dtype=torch.bfloat16)
    for term in lsr.terms(z, -z, torch.tensor([0]), torch.tensor(0.5, dtype=torch.float64), lsr.Config()):
        assert term.dtype is torch.float32 and term.isfinite().all()


@pytest.mark.parametrize(
    ("warmup", "expected"), [(0.2, [0.0, 0.2, 0.4, 0.4, 0.4]), (0.0, [0.4] * 5), (1.0, [0.0, 0.04, 0.08, 0.12, 0.16])]
)
def test_warm_up(warmup, expected):
    close([objective(warmup=warmup).gamma(t) for t in range(5)], expected, 1e-12)


def test_draws_follow_the_generator():
    x, y = images(), torch.arange(40) % 3
    a, b, c = (objective().losses(flat(), x, y, 9, generator(seed)) for seed in (3, 3, 4))
    assert torch.equal(a, b) and not torch.equal(a, c)


@pytest.mark.parametrize("shape", [(5,), (8, 8)])
def test_text_and_features_are_refused(shape):
    with pytest.raises(ValueError, match="modifier lsr needs images"):
        lsr.LSR(lsr.Config()).objective("cross_entropy", Samples(shape, MEAN, STD), 10)


def test_colours_of_one_channel_are_refused():
    with pytest.raises(
        ValueError, match="lsr.augmentation: 'colour' needs images of 3 channels, these have 1; use 'rota"
    ):
        lsr.LSR(lsr.Config(augmentation="colour")).objective("cross_entropy", Samples((1, 8, 8), MEAN, STD), 10)


# -- the second view ------------------------------------------------------------------------------
def pixels(n=400):
    return torch.rand(n, *SHAPE, generator=generator(1), dtype=torch.float64)


def second_view(raw, augmentation, seed=0):
    """Pixels in [0, 1] of the second view of pixels in [0, 1], which the objective sees scaled."""
    x = (raw - MEAN) / STD
    return objective(augmentation=augmentation).second_view(x, generator(seed)) * STD + MEAN


def test_no_augmentation():
    x = images()
    assert objective(**STILL).second_view(x, generator()) is x


@pytest.mark.parametrize("augmentation", ["rotation", "colour"])
def test_pixels_stay_pixels_and_draws_are_each_images_own(augmentation):
    raw = pixels(1).expand(200, *SHAPE)
    views = second_view(raw, augmentation)
    assert views.shape == raw.shape and views.dtype == raw.dtype
    assert views.min() > -1e-6 and views.max() < 1 + 1e-6
    different = {tuple(view.flatten().tolist()) for view in views.round(decimals=6)}
    assert len(different) > (150 if augmentation == "colour" else 30), "rotations take the nearest of few pixels"
    assert objective(augmentation=augmentation).second_view(raw.float(), generator()).dtype is torch.float32
    assert torch.equal(second_view(raw, augmentation), views)
    assert not torch.equal(second_view(raw, augmentation, 1), views)


@pytest.mark.parametrize("shape", [SHAPE, (1, 28, 28), (2, 9, 12)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_rotations_are_torchvisions_by_30_degrees_at_most(shape, dtype):
    images = torch.rand(400, *shape, dtype=dtype, generator=generator(1))
    angles = (30 * (2 * torch.rand(400, dtype=torch.float64, generator=generator(2)) - 1)).tolist()
    assert -30 <= min(angles) < -29 and 29 < max(angles) <= 30 and abs(sum(angles) / 400) < 3
    expected = [rotate(image, angle) for image, angle in zip(images, angles, strict=True)]
    assert torch.equal(lsr.rotated(images, generator(2)), torch.stack(expected))


def test_black_comes_in_as_images_are_rotated():
    views = lsr.rotated(torch.ones(400, *SHAPE), generator())
    assert views[:, :, 4, 4].eq(1).all() and views[:, :, 0, 0].eq(0).any()


def test_shares_of_the_images_that_are_mirrored_jittered_and_grey(monkeypatch):
    raw = pixels()
    monkeypatch.setattr(lsr, "JITTER", (lambda x, amount: x,) * 4)
    views = second_view(raw, "colour")
    grey = (views - views.mean(1, keepdim=True)).abs().amax((1, 2, 3)) < 1e-6
    assert 50 < grey.sum() < 110
    mirrored = (views - raw.flip(3)).abs().amax((1, 2, 3)) < 1e-6
    same = (views - raw).abs().amax((1, 2, 3)) < 1e-6
    assert torch.equal(mirrored | same, ~grey) and 120 < mirrored.sum() < 200
    calls = []
    monkeypatch.setattr(lsr, "JITTER", tuple(lambda x, amount, n=n: calls.append((n, amount)) or x for n in range(4)))
    second_view(raw, "colour")
    jittered = len(calls) // 4
    assert 290 < jittered < 350
    orders = {tuple(n for n, _ in calls[4 * i : 4 * i + 4]) for i in range(jittered)}
    assert len(orders) == 24, "in random order"
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
