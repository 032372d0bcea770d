"""Combinations sum_j c_j v_j of a few given vectors, kept as their coefficients c.

An algorithm that only adds, scales and multiplies client updates [m, P] needs no vector of P numbers before its end:
every inner product of combinations follows from the inner products of the v_j.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


def gram(*stacks: Tensor) -> Tensor:
    """Inner products of the rows of all stacks [n_i, P], [n, n] float64 on the CPU, where small problems are solved.

    The columns are taken in pieces: a float64 copy of all rows could be as large as twice the models of a round.
    """
    n = sum(len(stack) for stack in stacks)
    total = torch.zeros(n, n, dtype=torch.float64, device=stacks[0].device)
    for pieces in zip(*(stack.split(2**18, dim=1) for stack in stacks), strict=True):
        piece = torch.cat(pieces).double()
        total.addmm_(piece, piece.T)
    return total.cpu()


@dataclass(frozen=True)
class Span:
    """Span of v_1, ..., v_n. A combination is its coefficients, [n]; several are [count, n]."""

    products: Tensor  # [n, n] float64, v_i . v_j

    def vectors(self) -> Tensor:
        """The v_j themselves, [n, n]."""
        return torch.eye(len(self.products), dtype=self.products.dtype)

    def first(self, count: int) -> "Span":
        """Span of v_1, ..., v_count."""
        return Span(self.products[:count, :count])

    def extend(self, combination: Tensor) -> Tensor:
        """A combination of the first vectors as one of all, [n]."""
        extended = torch.zeros(len(self.products), dtype=self.products.dtype)
        extended[: len(combination)] = combination
        return extended

    def square(self, combination: Tensor) -> Tensor:
        """||u||^2 of a combination u [n], []."""
        return combination @ self.products @ combination

    def parts(self, combination: Tensor) -> Tensor:
        """(sum_j |c_j| ||v_j||)^2 of a combination [n], []: its squared length if its parts did not cancel."""
        return (combination.abs() @ self.products.diagonal().sqrt()).square()
