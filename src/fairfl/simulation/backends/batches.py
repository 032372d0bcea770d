"""The batches of a round for one client after the other, and few sizes of them in place of many."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from fairfl.simulation.backends.interface import LocalTraining, order
from fairfl.simulation.clients import sent

Window = slice | Tensor
# A captured step serves one size only. So many sizes are captured as they are.
FEW_SIZES = 16
# Below it, another sample costs a GPU nothing.
LEAST = 8


def padded(size: int, most: int | None = None) -> int:
    """The next of eight sizes in each power of two, at least LEAST; but not more than `most`, if `size` is not.

    A batch grows by an eighth at most.
    """
    unit = max(1, 2 ** (size.bit_length() - 4))
    rounded = max(LEAST, -(-size // unit) * unit)
    return rounded if most is None else max(size, min(rounded, most))


def ragged(sizes: Iterable[int], local: LocalTraining) -> bool:
    """True if clients of so many samples have more than FEW_SIZES different last batches."""
    batches = ((n, local.batch(n)) for n in sizes)
    return len({n % batch or batch for n, batch in batches}) > FEW_SIZES


def windows(
    clients: list[int],
    sizes: Sequence[int],
    offsets: Sequence[int],
    local: LocalTraining,
    round: int,
    gpu: torch.device | None,
) -> Iterator[Iterator[Window]]:
    """For each client, its batches of this round as indices of samples: slices, or row numbers.

    A `gpu` gets the row numbers of all clients in one copy, which nobody waits for.
    """

    def epochs(client: int) -> Iterator[Tensor | None]:
        n = sizes[client]
        view = local.batch(n) >= n and gpu is None  # of the samples, no copy
        for epoch in range(local.passes if n else 0):
            yield None if view else order(n, local, round, client, epoch) + offsets[client]

    def batches(client: int, epochs: Iterable[Tensor | None]) -> Iterator[Window]:
        first, n = offsets[client], sizes[client]
        for rows in epochs:
            found = [slice(first, first + n)] if rows is None else rows.split(local.batch(n))
            yield from found[:1] if local.single else found

    if gpu is None:
        return (batches(client, epochs(client)) for client in clients)
    rows = [[one for one in epochs(client) if one is not None] for client in clients]
    flat = [one for own in rows for one in own]
    pieces = iter(sent(torch.cat(flat), gpu).split([len(one) for one in flat]) if flat else ())
    return (
        batches(client, [next(pieces) for _ in own])
        for client, own in zip(clients, rows, strict=True)
    )
