"""Where two job specs differ, in words."""

from collections.abc import Iterable
from typing import Any


def differences(old: Any, new: Any, prefix: str = "") -> Iterable[str]:
    """One sentence for each place where two specs differ: `hyperparameters.lambda: 1.0 -> 2.0`."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            yield from differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
    elif isinstance(old, list) and isinstance(new, list) and _long(old, new):
        yield from (f"{prefix}: no longer {_short(item)}" for item in old if item not in new)
        yield from (f"{prefix}: new {_short(item)}" for item in new if item not in old)
    elif prefix.startswith("code."):
        verb = "new module" if old is None else "module gone" if new is None else "edited"
        yield f"{verb} {prefix.removeprefix('code.')}"
    else:
        yield f"{prefix}: {_short(old)} -> {_short(new)}"


def _long(old: list, new: list) -> bool:
    """True if the lists say more apart than side by side; not if only their order differs."""
    return len(repr(old)) + len(repr(new)) > 80 and sorted(map(repr, old)) != sorted(map(repr, new))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:120]}... ({len(text)} characters)"
