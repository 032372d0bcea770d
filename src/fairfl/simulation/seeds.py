"""The seed tree: every draw has its own generator, named by what it is for.

A draw depends on its path (run seed, purpose, round, client) and on nothing else, so neither the order of
jobs and clients nor the backend changes it, and a resumed run needs no generator state. Algorithms of one
setting and seed share their draws: same initial model, same sampled clients, same batches.
"""

import hashlib

import torch


def seed_of(*path: int | str) -> int:
    """63-bit seed of a path in the tree, e.g. `seed_of(42, "batches", round, client)`."""
    digest = hashlib.sha256("/".join(map(str, ("fairfl", *path))).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(*path: int | str) -> torch.Generator:
    """A separate CPU generator for a path. Draws are made on the CPU so that devices agree."""
    return torch.Generator().manual_seed(seed_of(*path))


def first_of_permutation(count: int, m: int, source: torch.Generator) -> list[int]:
    """The first m of `torch.randperm(count, generator=source)`, in m steps instead of `count`. `source` moves on less.

    randperm swaps place i with place i + (next 32 bits) mod (count - i), so what follows the first m plays no part.
    """
    words = (
        torch.empty((m + 1) // 2, dtype=torch.int64)
        .random_(-(2**63), None, generator=source)
        .tolist()
    )
    bits = (half & 0xFFFFFFFF for word in words for half in (word >> 32, word))
    moved: dict[int, int] = {}  # place -> what lies there, where a swap has brought another number
    for i in range(m):
        j = i + next(bits) % (count - i)
        moved[i], moved[j] = moved.get(j, j), moved.get(i, i)
    return [moved[i] for i in range(m)]
