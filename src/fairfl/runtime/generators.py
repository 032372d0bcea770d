"""The global generators of Python, numpy and torch, from which code draws that asks no one for a seed.

A job seeds them at its start and keeps them in its checkpoint, so that such draws repeat, too.
"""

import random
import sys
from typing import Any

_SEEDS = 2**32  # numpy's are below, as a run's are; one that is not is refused later, with its key


def seed(number: int) -> None:
    """Seed torch only if it has been imported: otherwise it begins with a seed of its own, always the same."""
    import numpy as np

    number %= _SEEDS
    random.seed(number)
    np.random.seed(number)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(number)


def state() -> dict[str, Any]:
    """Where they stand, in types that torch.load takes from a file that is data only."""
    import numpy as np
    import torch

    name, key, *rest = np.random.get_state(legacy=True)
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(np.asarray(key, np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": cuda,
    }


def restore(saved: dict[str, Any]) -> None:
    """Bring them to where they stood when `state` gave this."""
    import numpy as np
    import torch

    name, key, *rest = saved["numpy"]
    random.setstate(saved["python"])
    np.random.set_state((name, key.numpy().astype("uint32"), *rest))
    torch.set_rng_state(saved["torch"])
    if saved["cuda"]:
        torch.cuda.set_rng_state_all(saved["cuda"])
