"""Draws by purpose."""

import pytest
import torch

from fairfl.simulation.seeds import first_of_permutation, generator


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1000, 100_003])
@pytest.mark.parametrize("m", [1, 2, 9, 1000])
def test_the_first_of_a_permutation_are_those_of_the_whole(count, m):
    m = min(m, count)
    for seed in range(5):
        whole = torch.randperm(count, generator=generator(seed, count))
        assert first_of_permutation(count, m, generator(seed, count)) == whole[:m].tolist()
