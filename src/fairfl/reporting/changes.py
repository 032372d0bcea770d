"""What a scale changed in a setting, from sentences such as 'rounds: 100 -> 10'."""

from collections.abc import Iterable

# Changes that leave the experiment what it is: other seeds are other draws of it, `keep` stores more files.
_HARMLESS = {"seeds", "keep"}


def changed_keys(changes: Iterable[str]) -> set[str]:
    """Keys of a setting whose change makes it another experiment: {'rounds'}."""
    return {change.partition(":")[0].partition(".")[0] for change in changes} - _HARMLESS


def summary(changes: Iterable[str]) -> list[str]:
    """Plain keys with old and new value, and only the names of those that have keys of their own (data, model)."""
    return list(
        dict.fromkeys(change if "." not in change.partition(":")[0] else change.partition(".")[0] for change in changes)
    )
