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
    """A CPU generator of its own for a path. Draws are made on the CPU so that devices agree."""
    return torch.Generator().manual_seed(seed_of(*path))
