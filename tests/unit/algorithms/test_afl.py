"""AFL: sampled rounds; its examples are in test_examples.py, Algorithm 1 in tests/oracle."""

import pytest
import torch

from fairfl.algorithms import afl
from tests.unit.algorithms.toy import close, reports, step, vector


def test_defaults_are_those_of_algorithm_1():
    """lambda moves with x, not before it, and the answer is the mean of the iterates."""
    assert torch.equal(step("afl")[0], step("afl", order="descent_first")[0]) and "mean" in step("afl")[2]


@pytest.mark.parametrize(
    ("given", "w", "lam"),
    [
        ({"sampled": "mass", "order": "ascent_first"}, [0.35, 0.65], [0.175, 0.5, 0.325]),
        ({"sampled": "unit", "order": "ascent_first"}, [0.425, 0.575], [0.425, 0.5, 0.575]),
        ({"sampled": "unit"}, [0.5, 0.5], [0.425, 0.5, 0.575]),  # a whole step; lambda is 1/4 for both, at first
    ],
)
def test_sampled_rounds(given, w, lam):
    _, found, state = step("afl", reports(ids=(0, 2)), **given)
    close(found, w)
    close(state["lambda"], lam)


def test_clients_without_mass_are_averaged_by_size():
    config = afl.Config(eta_lambda=0.7, order="ascent_first", report="last")
    result, state = afl.AFL(config).aggregate({"lambda": vector(0.0, 0.0, 1.0)}, reports(ids=(0, 1)))
    close(result.weights, [1 / 3, 2 / 3])
    close(state["lambda"], [0.0, 0.0, 1.0], 0)
