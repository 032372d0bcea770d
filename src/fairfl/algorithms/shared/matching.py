"""Neurons of several clients matched to each other. Yurochkin et al., ICML 2019, section 3; FedMA matches the same way.

A neuron of client j is a row w of numbers, [D], that client j knows with precision s_j, [D]; 0 where it knows nothing.
Which rows of J clients are one global neuron is drawn from a Beta-Bernoulli process of mass gamma; the numbers of a
global neuron are drawn from N(mu, sigma0), sigma0 a variance. With c_i rows, at most one of each client, in neuron i

    G_i = mu / sigma0 + sum s_j w,    S_i = 1 / sigma0 + sum s_j,    estimate w_i = G_i / S_i
    score(w, i) = sum_d (s w + G_i)^2 / (s + S_i) - G_i^2 / S_i

    gain of neuron i           score(w, i) + log(c_i / (J - c_i)),    c_i at most 10
    gain of the a-th new one   score(w, empty) - 2 log a + 2 log(gamma / J)

Each client in turn is taken out and matched again, by the assignment of largest total gain. In the paper the logarithm
of the popularity is doubled; here as in the authors' code (IBM/probabilistic-federated-neural-matching). At its bound
of 700 neurons that code still lets each client add one; here the bound holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from fairfl.runtime.errors import OptionError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Rows = Sequence[Array] | Array  # of each client
Assignments = dict[int, Indices]  # client -> the neuron of each of its rows

POPULAR = 10  # rows, above which a neuron is no more popular: the authors' code


@dataclass(frozen=True)
class Prior:
    """Prior of a global neuron."""

    mean: Array  # mu, [D]
    variance: float  # sigma0
    gamma: float
    width: int  # global neurons at most; not less than any client has


@dataclass
class Neurons:
    """N global neurons."""

    G: Array  # [N, D]
    S: Array  # [N, D]
    counts: Indices  # c, [N]

    def add(self, neurons: Indices, rows: Array, precision: Array, sign: int = 1) -> None:
        """Put row l into neuron neurons[l], or take it out with sign -1."""
        self.G[neurons] += sign * precision * rows
        self.S[neurons] += sign * precision
        self.counts[neurons] += sign

    def joined(self, other: "Neurons") -> "Neurons":
        return Neurons(
            np.vstack([self.G, other.G]),
            np.vstack([self.S, other.S]),
            np.concatenate([self.counts, other.counts]),
        )


def empty(count: int, prior: Prior) -> Neurons:
    """Global neurons that hold no row."""
    shape = (count, len(prior.mean))
    G, S = np.full(shape, prior.mean / prior.variance), np.full(shape, 1 / prior.variance)
    return Neurons(G, S, np.zeros(count, dtype=np.int64))


def score(rows: Array, precision: Array, neurons: Neurons) -> Array:
    """sum_d (s w + G)^2 / (s + S) - G^2 / S of rows [L, D], all of precision s [D], and N neurons, [L, N].

    Multiplied out, so that no array is [L, N, D].
    """
    G, S, weighted = neurons.G, neurons.S, precision * rows
    inverse = 1 / (precision + S)
    return (
        weighted**2 @ inverse.T
        + 2 * weighted @ (G * inverse).T
        - (G**2 * precision * inverse / S).sum(1)
    )


def assign(rows: Array, precision: Array, neurons: Neurons, clients: int, prior: Prior) -> Indices:
    """Neuron of each row, [L], for the largest total gain; from N on they are new, counted in the order of the rows.

    `neurons` hold rows of the other ones of the J = `clients` only.
    """
    N = len(neurons.counts)
    popular = np.minimum(neurons.counts, POPULAR)
    old = score(rows, precision, neurons) + np.log(popular / (clients - popular))
    a = np.arange(1, min(len(rows), prior.width - N) + 1)
    new = (
        score(rows, precision, empty(1, prior)) - 2 * np.log(a) + 2 * np.log(prior.gamma / clients)
    )
    _, chosen = linear_sum_assignment(np.hstack([old, new]), maximize=True)
    fresh = chosen >= N
    chosen[fresh] = N + np.arange(fresh.sum())
    return chosen


def totals(rows: Rows, precisions: Rows, assignments: Assignments, prior: Prior) -> Neurons:
    """The global neurons with the rows that are assigned."""
    neurons = empty(
        max((int(neuron.max()) + 1 for neuron in assignments.values()), default=0), prior
    )
    for j, assigned in assignments.items():
        neurons.add(assigned, rows[j], precisions[j])
    return neurons


def sweep(
    order: Iterable[int], rows: Rows, precisions: Rows, assignments: Assignments, prior: Prior
) -> Assignments:
    """Match the clients of `order` again, or for the first time, one after the other.

    rows[j] is [L_j, D], precisions[j] [D], assignments[j] [L_j], distinct. Neurons that hold no row are deleted.
    """
    assignments = dict(assignments)
    neurons = totals(rows, precisions, assignments, prior)
    for j in order:
        if j in assignments:
            neurons.add(assignments.pop(j), rows[j], precisions[j], sign=-1)
            full = neurons.counts > 0
            neurons = Neurons(neurons.G[full], neurons.S[full], neurons.counts[full])
            number = full.cumsum() - 1
            assignments = {other: number[assigned] for other, assigned in assignments.items()}
        chosen = assign(rows[j], precisions[j], neurons, len(rows), prior)
        neurons = neurons.joined(empty(max(0, int(chosen.max()) + 1 - len(neurons.counts)), prior))
        neurons.add(chosen, rows[j], precisions[j])
        assignments[j] = chosen
    return assignments


def match(
    rows: Rows, precisions: Rows, prior: Prior, sweeps: int, draw: np.random.Generator
) -> tuple[list[Indices], Array]:
    """Assignments of the rows of J clients, [L_j] each, and the global neurons, [N, D].

    The clients come by falling width first, then in `sweeps` random orders. Raises OptionError if a client alone has
    more neurons than there may be.
    """
    widest = max(map(len, rows))
    if prior.width < widest:
        raise OptionError(f"at most {prior.width} global neurons, but a client has {widest}")
    assignments: Assignments = {}
    by_width = sorted(range(len(rows)), key=lambda j: -len(rows[j]))
    for order in (by_width, *(draw.permutation(len(rows)).tolist() for _ in range(sweeps))):
        assignments = sweep(order, rows, precisions, assignments, prior)
    neurons = totals(rows, precisions, assignments, prior)
    return [assignments[j] for j in range(len(rows))], neurons.G / neurons.S
