"""Arithmetic of the runs behind a table or figure, where a reader must know it."""

from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version

from fairfl.runtime.arithmetic import PARTS, Arithmetic

_USUAL = {"threads": "1", "backend": "auto"}


def describe_numerics(runs: Iterable[Arithmetic]) -> str:
    """Numerics of runs in one table: 'threads 1 (9 runs) and 2 (1 run)'; '' if they are alike and usual."""
    numerics, usual = list(runs), _USUAL | {"torch": version("torch")}
    parts = []
    for part in PARTS:
        counts = Counter(run[part] for run in numerics if part in run)
        most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if len(most) > 1:
            each = [f"{value} ({count} run{'s'[count == 1 :]})" for value, count in most]
            parts.append(f"{part} {', '.join(each[:-1])} and {each[-1]}")
        elif counts and usual.get(part) not in (None, *counts):
            parts.append(f"{part} {next(iter(counts))}")
    return "; ".join(parts)
