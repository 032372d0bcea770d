"""Combinations as coefficients against the vectors themselves; updates of the last rounds."""

import torch

from fairfl.algorithms.shared.span import gram
from tests.unit.algorithms.toy import close


def test_gram_takes_columns_in_pieces():
    wide = torch.randn(3, 2**18 + 5, generator=torch.Generator().manual_seed(2))
    close(gram(wide), wide.double() @ wide.double().T, 1e-6)
