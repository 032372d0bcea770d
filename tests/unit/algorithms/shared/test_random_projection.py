"""The projection that nobody sends, first models of which each client has its own, inner products of updates."""

import torch

from fairfl.algorithms.interface import Federation
from fairfl.algorithms.shared.random_projection import random_projection, shuffled_models
from fairfl.algorithms.shared.span import gram
from tests.unit.algorithms.toy import close


def test_the_projection():
    P = random_projection(5, 40, 3000, False)
    close(P.norm(dim=1), torch.ones(40), 1e-12)
    close((P * 3000**0.5).var(), 1.0, 0.02)
    assert (P @ P.T - torch.eye(40)).abs().max() > 1e-3
    assert torch.equal(P, random_projection(5, 40, 3000, False))
    assert not torch.equal(P, random_projection(6, 40, 3000, False))


def test_the_orthogonal_projection_is_that_of_gram_and_schmidt():
    plain, P = (random_projection(5, 4, 30, orthogonal) for orthogonal in (False, True))
    close(P @ P.T, torch.eye(4), 1e-12)
    close(P[0], plain[0], 1e-12)
    second = plain[1] - (plain[1] @ P[0]) * P[0]
    close(P[1], second / second.norm(), 1e-12)


def test_models_are_shuffled_within_each_parameter_tensor():
    x, samples = torch.arange(12, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    federation = Federation(samples, x, parameters=10, shapes=((2, 3), (4,)), seed=3)
    models = shuffled_models(federation)
    for model in models:
        for tensor in (slice(0, 6), slice(6, 10)):
            assert torch.equal(model[tensor].sort().values, x[tensor])
    assert torch.equal(models[:, 10:], x[10:].expand(4, 2)), "buffers are no parameters"
    assert len(models.unique(dim=0)) == 4
    assert torch.equal(models, shuffled_models(federation))


def test_gram_takes_columns_in_pieces():
    wide = torch.randn(3, 2**18 + 5, generator=torch.Generator().manual_seed(2))
    close(gram(wide), wide.double() @ wide.double().T, 1e-6)
