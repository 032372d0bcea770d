"""Dirichlet mixture of classes per client ("LDA"). Hsu, Qi and Brown 2019; FedEBA+ appendix M.2.

All clients have floor(N / K) samples. Client after client draws q_k ~ Dir(alpha C p), where p [C] are the shares of the
classes in the data (so that alpha is per class: Dir(alpha, ..., alpha) for balanced classes), and then the class of
each of its samples from q_k, without replacement. A class that is used up gets probability 0, and q_k is renormalised.
The last clients take what is left. N - K floor(N / K) samples have no owner.
"""

import numpy as np
from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.partition.interface import Assignment, PartitionError, Table


class Config(Strict):
    alpha: float = Field(
        gt=0, description="concentration per class; small: clients of few classes, large: near IID"
    )


def assign(table: Table, clients: int, config: Config, rng: np.random.Generator) -> Assignment:
    """Raises PartitionError if there are fewer samples than clients."""
    labels = table.classes
    size = len(labels) // clients
    if size < 1:
        raise PartitionError(f"{len(labels)} samples are too few for {clients} clients")
    classes, left = np.unique(labels, return_counts=True)
    alpha = config.alpha * len(classes) * left / len(labels)
    stacks = [rng.permutation(np.flatnonzero(labels == c)) for c in classes]
    rows = []
    for _ in range(clients):
        counts_drawn = counts(rng.dirichlet(alpha), alpha, left, size, rng)
        ends = left - counts_drawn
        rows.append(
            np.sort(np.concatenate([s[a:b] for s, a, b in zip(stacks, ends, left, strict=True)]))
        )
        left = ends
    unused = int(left.sum())
    remarks = [f"{unused} samples are left over from equal shares of {size}"] if unused else []
    return Assignment(rows, remarks, changed=remarks)


def counts(
    q: np.ndarray, alpha: np.ndarray, left: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    """Samples of each class [C], `size` in all, drawn with q ~ Dir(alpha) from the `left` ones.

    Drawing all that are missing at once and keeping of each class what there is has the distribution of drawing one
    after the other: draws of a used-up class are what renormalising takes out.
    """
    counts_drawn = np.zeros_like(left)
    while (missing := size - counts_drawn.sum()) > 0:
        q = np.where(counts_drawn < left, q, 0.0)
        if q.sum() == 0:
            # Tiny alpha: q had underflowed. A renormalised part of a Dirichlet variable is one too, so it is drawn.
            q[counts_drawn < left] = rng.dirichlet(alpha[counts_drawn < left])
        q /= q.sum()
        counts_drawn = np.minimum(counts_drawn + rng.multinomial(missing, q), left)
    return counts_drawn
