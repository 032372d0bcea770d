"""AFL: projection, the hand-computed examples, sampled rounds."""

import pytest
import torch

from fairfl.algorithms import afl
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import close, reports, step


@pytest.mark.parametrize(
    ("order", "x"),
    [("ascent_first", [0.878333, -2.078333]), ("descent_first", [0.900000, -2.100000])],
)
def test_example(order, x):
    actual, _, state = step("afl", eta_lambda=0.1, start="size", order=order)
    close(actual, x)
    close(state["lambda"], [0.183333, 0.483333, 0.333333])


def test_defaults_are_those_of_algorithm_1():
    """lambda moves with x, not before it, and the answer is the mean of the iterates."""
    assert torch.equal(step("afl", eta_lambda=0.1)[0], step("afl", eta_lambda=0.1, order="descent_first")[0])
    assert "mean" in step("afl")[2]


def test_sampled_mass():
    x, w, state = step("afl", reports(ids=(0, 2)), eta_lambda=0.1, sampled="mass", order="ascent_first")
    close(w, [0.35, 0.65])
    close(x, [0.670000, -1.870000])
    close(state["lambda"], [0.175, 0.5, 0.325])


def test_sampled_unit():
    _, w, state = step("afl", reports(ids=(0, 2)), eta_lambda=0.1, sampled="unit", order="ascent_first")
    close(w, [0.425, 0.575])
    close(state["lambda"], [0.425, 0.5, 0.575])


def test_sampled_unit_that_descends_first_makes_a_whole_step():
    _, w, state = step("afl", reports(ids=(0, 2)), eta_lambda=0.1, sampled="unit")
    close(w, [0.5, 0.5])  # lambda is 1/4 for both, at first
    close(state["lambda"], [0.425, 0.5, 0.575])


def test_clients_without_mass_are_averaged_by_size():
    """lambda = (0, 0, 1) and only clients 0 and 1 take part."""
    state = {"lambda": vector(0.0, 0.0, 1.0)}
    result, state = afl.AFL(afl.Config(eta_lambda=0.7, order="ascent_first", report="last")).aggregate(
        state, reports(ids=(0, 1))
    )
    close(result.weights, [1 / 3, 2 / 3])
    close(state["lambda"], [0.0, 0.0, 1.0], 0)
