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
    """True if clients of these sizes have more than FEW_SIZES different last batches."""
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

    A `gpu` gets the row numbers of all clients in one copy, for which the process does not wait.
    """

    def draw(client: int, epoch: int) -> Tensor:
        return order(sizes[client], local, round, client, epoch) + offsets[client]

    def split(rows: Tensor, client: int) -> Sequence[Tensor]:
        batches = rows.split(local.batch(sizes[client]))
        return batches[:1] if local.single else batches

    def on_cpu(client: int) -> Iterator[Window]:
        first, n = offsets[client], sizes[client]
        for epoch in range(local.passes if n else 0):
            if local.batch(n) >= n:
                yield slice(first, first + n)  # a view of the samples, no copy
            else:
                yield from split(draw(client, epoch), client)

    if gpu is None:
        return map(on_cpu, clients)
    present = [client for client in dict.fromkeys(clients) if sizes[client]]
    epochs = [(client, draw(client, epoch)) for client in present for epoch in range(local.passes)]
    on_gpu: dict[int, list[Window]] = {client: [] for client in clients}
    if epochs:
        copied = sent(torch.cat([rows for _, rows in epochs]), gpu)
        lengths = [len(rows) for _, rows in epochs]
        for (client, _), rows in zip(epochs, copied.split(lengths), strict=True):
            on_gpu[client] += split(rows, client)
    return (iter(on_gpu[client]) for client in clients)
