"""Where two job specs differ, in words."""

from collections.abc import Iterable
from typing import Any

FEW = 3  # entries of a long list that are named


def differences(old: Any, new: Any, prefix: str = "") -> Iterable[str]:
    """One sentence for each place where two specs differ: `hyperparameters.lambda: 1.0 -> 2.0`."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old | new):
            yield from differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
    elif isinstance(old, list) and isinstance(new, list) and len(repr(old + new)) > 80:
        moved = [*_alone(f"{prefix}: no longer", old, new), *_alone(f"{prefix}: new", new, old)]
        yield from moved or [f"{prefix}: {_short(old)} -> {_short(new)}"]  # in another order
    elif prefix.startswith("code."):
        verb = "new module" if old is None else "module gone" if new is None else "edited"
        yield f"{verb} {prefix.removeprefix('code.')}"
    else:
        yield f"{prefix}: {_short(old)} -> {_short(new)}"


def _alone(words: str, here: list, there: list) -> Iterable[str]:
    """The first entries of a list that another one lacks, and how many follow."""
    alone = [f"{words} {_short(item)}" for item in here if item not in there]
    yield from alone[:FEW]
    if alone[FEW:]:
        yield f"{words}, {len(alone) - FEW} more"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:120]}... ({len(text)} characters)"
