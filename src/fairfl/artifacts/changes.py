"""What a scale changed in a setting, from sentences such as 'rounds: 100 -> 10'."""

from collections.abc import Iterable

# Changes that leave the experiment what it is: other seeds are other draws of it, `keep` stores more files.
_HARMLESS = {"seeds", "keep"}


def changed_keys(changes: Iterable[str]) -> set[str]:
    """Keys of a setting whose change makes it another experiment: {'rounds'}."""
    return {change.partition(":")[0].partition(".")[0] for change in changes} - _HARMLESS
