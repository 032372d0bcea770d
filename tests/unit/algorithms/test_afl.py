"""AFL: projection, hand-computed examples, limiting cases, sampled rounds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from toy import F, close, reports, step

from fairfl.algorithms.afl import project


def vector(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_projection_examples():
    close(project(vector(0.9, 0.5, -0.2)), [0.7, 0.3, 0.0])
    close(project(vector(1.5, 0.4)), [1.0, 0.0])
    close(project(vector(0.30, 0.45), 0.5), [0.175, 0.325])


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=12), st.floats(0.01, 3))
def test_projection_is_the_nearest_point_of_the_simplex(values, total):
    y = vector(*values)
    v = project(y, total)
    assert (v >= 0).all()
    close(v.sum(), total, 1e-9)
    # Optimality: y - v is constant where v > 0 and not larger elsewhere.
    slack = y - v
    theta = slack[v > 0].max()
    assert ((slack - theta).abs()[v > 0] < 1e-9).all()
    assert (slack <= theta + 1e-9).all()


@pytest.mark.parametrize(
    ("order", "x"),
    [("ascent_first", [0.878333, -2.078333]), ("descent_first", [0.900000, -2.100000])],
)
def test_example(order, x):
    actual, _, state = step("afl", eta_lambda=0.1, start="size", order=order)
    close(actual, x)
    close(state["lambda"], [0.183333, 0.483333, 0.333333])


def test_sampled_mass():
    x, w, state = step("afl", reports(ids=(0, 2)), eta_lambda=0.1, sampled="mass")
    close(w, [0.35, 0.65])
    close(x, [0.670000, -1.870000])
    close(state["lambda"], [0.175, 0.5, 0.325])


def test_sampled_unit():
    close(step("afl", reports(ids=(0, 2)), eta_lambda=0.1, sampled="unit")[1], [0.425, 0.575])


def test_step_zero_is_fedavg():
    close(step("afl", eta_lambda=0.0)[0], step("fedavg")[0])


def test_equal_losses_leave_lambda():
    close(step("afl", reports(losses=torch.ones_like(F)), eta_lambda=5.0)[2]["lambda"], [0.25, 0.5, 0.25])


def test_huge_step_puts_all_weight_on_the_largest_loss():
    close(step("afl", eta_lambda=1e6)[1], [0.0, 0.0, 1.0])


def test_a_constant_on_all_losses_changes_nothing():
    close(step("afl", reports(losses=F + 7.0))[1], step("afl")[1], 1e-12)
