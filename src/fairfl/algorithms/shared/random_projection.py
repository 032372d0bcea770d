"""A random projection that server and clients know without sending it, and first models that differ from each other.

Both follow from the run's seed.
"""

from math import prod

import torch
from torch import Tensor

from fairfl.algorithms.interface import Federation


def random_projection(seed: int, rows: int, parameters: int, orthogonal: bool) -> Tensor:
    """[rows, parameters] float64, on the CPU.

    From N(0, 1), each row of length 1; `orthogonal` to each other by Gram-Schmidt.
    """
    draw = torch.Generator().manual_seed(seed)
    normal = [torch.randn(parameters, generator=draw, dtype=torch.float64) for _ in range(rows)]
    P = torch.stack(normal)
    if orthogonal:
        Q, R = torch.linalg.qr(P.T)
        P = (Q * R.diagonal().sign()).T  # the signs of Gram and Schmidt
    return P / P.norm(dim=1, keepdim=True)


def shuffled_models(federation: Federation) -> Tensor:
    """The initial model x for each client, [K, P + B], the numbers of each parameter tensor in a separate order.

    That is a separate initialisation where the numbers of a tensor are drawn alike.
    """
    draw = torch.Generator().manual_seed(federation.seed ^ 1)  # not the draws of the projection
    x, P = federation.x, federation.parameters
    tensors = x[:P].split([prod(shape) for shape in federation.shapes])
    models = []
    for _ in range(federation.clients):
        orders = [torch.randperm(len(part), generator=draw).to(x.device) for part in tensors]
        shuffled = [part[order] for part, order in zip(tensors, orders, strict=True)]
        models.append(torch.cat([*shuffled, x[P:]]))
    return torch.stack(models)
