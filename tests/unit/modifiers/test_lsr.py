"""Local self-regularisation: the specification's example, limits, the augmentation, a run."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.modifiers import lsr
from tests.unit.algorithms.toy import close
from tests.unit.modifiers.updates import tensor

SHAPE = (2, 8, 8)
STILL = {"flip": False, "shift": 0.0, "jitter": 0.0}
LOGITS = st.lists(st.floats(-30, 30), min_size=3, max_size=3)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def images(n=40, shape=SHAPE):
    return torch.randn(n, *shape, generator=generator(1), dtype=torch.float64)


def flat(scale=1.0):
    """Logits of images, a model without parameters."""
    return lambda inputs: scale * inputs.flatten(1)[:, :3]


def objective(rounds=10, **given):
    return lsr.LSR(lsr.Config(**given)).objective("cross_entropy", 3, SHAPE, rounds)


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
        lsr.LSR(lsr.Config()).objective("cross_entropy", 3, shape, 10)


# -- the second view ------------------------------------------------------------------------------
def augmented(x, **given):
    return lsr.augmented(x, lsr.Config(**{**STILL, **given}), generator())


def test_no_augmentation():
    assert torch.equal(augmented(images()), images())


def test_the_default_changes_images_mildly():
    x = images()
    y = lsr.augmented(x, lsr.Config(), generator())
    assert y.shape == x.shape and y.dtype == x.dtype
    assert all(not torch.equal(a, b) for a, b in zip(x, y, strict=True))
    assert lsr.augmented(x.float(), lsr.Config(), generator()).dtype is torch.float32


def test_flips_mirror_about_half_of_the_images():
    x = images()
    y = augmented(x, flip=True)
    mirrored = [torch.equal(b, a.flip(2)) for a, b in zip(x, y, strict=True)]
    assert 10 <= sum(mirrored) <= 30
    assert all(turned or torch.equal(a, b) for turned, a, b in zip(mirrored, x, y, strict=True))


@pytest.mark.parametrize(("shape", "most"), [((1, 8, 8), 1), ((1, 28, 28), 3), ((3, 32, 32), 4), ((1, 7, 7), 0)])
def test_shifts_are_crops_of_the_padded_image(shape, most):
    x = images(60, shape)
    y = augmented(x, shift=0.125)
    padded, found = F.pad(x, [most] * 4), set()
    for number, image in enumerate(y):
        moves = {
            (i, j)
            for i in range(2 * most + 1)
            for j in range(2 * most + 1)
            if torch.equal(image, padded[number, :, i : i + shape[1], j : j + shape[2]])
        }
        assert len(moves) == 1
        found |= moves
    assert {i for i, _ in found} == {j for _, j in found} == set(range(2 * most + 1))


def test_moves_of_each_image_and_axis():
    x = torch.arange(1.0, 7.0).view(1, 1, 2, 3).repeat(2, 1, 1, 1)
    right_left = lsr.moved(x, torch.tensor([1, -2]), 3)
    assert right_left[:, 0].tolist() == [[[0, 1, 2], [0, 4, 5]], [[3, 0, 0], [6, 0, 0]]]
    assert lsr.moved(x, torch.tensor([1, 0]), 2)[:, 0].tolist() == [[[0, 0, 0], [1, 2, 3]], x[1, 0].tolist()]


def test_jitter_changes_contrast_and_brightness_within_bounds():
    x = images(200)
    y = augmented(x, jitter=0.3)
    means, others = x.mean((1, 2, 3)), y.mean((1, 2, 3))
    contrast = (y - others.view(-1, 1, 1, 1)) / (x - means.view(-1, 1, 1, 1))
    close(contrast.amax((1, 2, 3)), contrast.amin((1, 2, 3)), 1e-6)  # one factor for each image
    for value, middle in ((contrast[:, 0, 0, 0], 1.0), (others - means, 0.0)):
        assert (value - middle).abs().max() <= 0.3 and (value - middle).min() < -0.25 and (value - middle).max() > 0.25
