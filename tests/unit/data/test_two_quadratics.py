"""The toy of FedEBA+, figure 1: losses, and the way of one row per client through partition and engine."""

import pytest

from fairfl.data import two_quadratics


def losses(tensors, x):
    """Squared error of each row under the model a x."""
    return (tensors["inputs"][:, 0].astype(float) * x - tensors["labels"].astype(float)) ** 2


@pytest.mark.parametrize(("x", "expected"), [(0, (8, 8)), (2, (0, 18)), (-1, (18, 4.5)), (0.5, (4.5, 10.125))])
def test_losses_of_the_figure(x, expected):
    tensors = two_quadratics.prepare(None, two_quadratics.Config(), 0).tensors
    assert losses(tensors, x) == pytest.approx(expected, abs=1e-5)
    assert tensors["client"].tolist() == [0, 1]
