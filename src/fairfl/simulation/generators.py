"""The global generators of Python, numpy and torch, and the system's, from which code draws that gives no seed.

A job seeds them at its start and keeps them in its checkpoint, so that such draws repeat, too.
"""

import os
import random
import sys
from typing import Any

_SEEDS = 2**32  # numpy's are below, as a run's are; one that is not is refused later, with its key
_SEED = random.Random.seed
_system = random.Random(0)  # in the place of the system's entropy


def seed(number: int) -> None:
    """Seed torch only if it has been imported: otherwise it begins with a fixed seed."""
    import numpy as np

    number %= _SEEDS
    random.seed(number)
    np.random.seed(number)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(number)


def replace_entropy(number: int) -> None:
    """Let whatever is given no seed draw one that follows from this number: `default_rng()`, `SystemRandom()`,
    `Random()`, `Generator().seed()`, `os.urandom(8)`, `uuid4()`."""
    import numpy as np

    _system.seed(number)
    python: Any = random
    numpy: Any = np.random.bit_generator
    torch: Any = sys.modules.get("torch")
    os.urandom = python._urandom = _system.randbytes
    numpy.randbits = _system.getrandbits
    python.Random, python.seed = _Random, lambda *given: _Random.seed(python._inst, *given)
    if torch and torch.Generator.__module__ != __name__:

        class Generator(torch.Generator):
            def seed(self) -> int:
                return int(self.manual_seed(_system.getrandbits(63)).initial_seed())

        torch.Generator = Generator
        torch.seed = lambda: Generator.seed(torch.default_generator)


class _Random(random.Random):
    def seed(self, a: Any = None, version: int = 2) -> None:
        _SEED(self, _system.getrandbits(64) if a is None else a, version)


def state() -> dict[str, Any]:
    """Return their states, in types that torch.load takes from a file that is data only."""
    import numpy as np
    import torch

    name, key, *rest = np.random.get_state(legacy=True)
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        "python": random.getstate(),
        "system": _system.getstate(),
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
    _system.setstate(saved["system"])
    np.random.set_state((name, key.numpy().astype("uint32"), *rest))
    torch.set_rng_state(saved["torch"])
    if saved["cuda"]:
        torch.cuda.set_rng_state_all(saved["cuda"])
