"""Has fairfl become slower? A fresh short run against committed results; only ratios within one run are compared."""

from typing import Any

from benchmarks.peers import REFERENCE
from benchmarks.workloads import LINEAR_B10, MLP_B10, MLP_B64, MLP_FULL

RIVAL = "indexed"
WORKLOADS = tuple(w.name for w in (MLP_B64, MLP_FULL, MLP_B10, LINEAR_B10))


def _ratio(entry: dict[str, Any]) -> float | None:
    return entry["competitors"].get(RIVAL, {}).get("ratio", {}).get("median")


def _share(entry: dict[str, Any]) -> float | None:
    return entry["competitors"].get(REFERENCE, {}).get("share_of_peak")


MEASURES = {f"{RIVAL} s / fairfl s": _ratio, "share of the matrix product's rate": _share}


def compared(fresh: dict[str, Any], committed: dict[str, Any], tolerance: float) -> list[tuple[bool, str]]:
    """(passed, line) for each measure of each workload in both; it may fall to `tolerance` times its old value."""
    lines = []
    for name, entry in fresh["workloads"].items():
        old = committed["workloads"].get(name)
        for title, of in MEASURES.items():
            now, before = of(entry), of(old) if old else None
            if before is None:
                continue
            passed = now is not None and now >= tolerance * before
            shown = "not measured" if now is None else f"{now:.3g}"
            lines.append((passed, f"{'ok  ' if passed else 'SLOW'} {name}: {title} {shown}, committed {before:.3g}"))
    return lines
