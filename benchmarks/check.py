"""Has fairfl become slower? A fresh short run against committed results of this kind of machine.

Only ratios within one run are compared. Whatever was committed, no workload may be slower than a plain loop.
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.peers import REFERENCE
from benchmarks.workloads import LINEAR_B10, MLP_B10, MLP_B64, MLP_FULL
from fairfl.runtime.errors import FairflError

RIVAL = "indexed"
YARDSTICKS = ("gemm-mm", "gemm-onednn")
WORKLOADS = tuple(w.name for w in (MLP_B64, MLP_FULL, MLP_B10, LINEAR_B10))


def _ratio(entry: dict[str, Any]) -> float | None:
    return entry["competitors"].get(RIVAL, {}).get("ratio", {}).get("median")


def _share(entry: dict[str, Any]) -> float | None:
    return entry["competitors"].get(REFERENCE, {}).get("share_of_peak")


MEASURES = {f"{RIVAL} s / fairfl s": _ratio, "share of the matrix product's rate": _share}


def committed_for(kind: str, folder: Path) -> Path:
    """The newest results in a folder that were measured on a kind of CPU or GPU. Raises FairflError."""
    all_results = {path: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    found = {path: document for path, document in all_results.items() if "workloads" in document}
    kinds = {
        path: document["machine"].get("kind", "unknown kind") for path, document in found.items()
    }
    fitting = [path for path in found if kinds[path] == kind]
    if not fitting:
        there = ", ".join(f"{path.stem} ({own})" for path, own in kinds.items()) or "none"
        raise FairflError(
            f"no committed results of a {kind!r}: measure them with make bench on the commit to compare with,"
            f" or name others with --against (there are: {there})"
        )
    return max(fitting, key=lambda path: found[path]["date"])


def compared(
    fresh: dict[str, Any], committed: dict[str, Any], tolerance: float
) -> list[tuple[bool, str]]:
    """(passed, line) for each measure of each workload in both; it may fall to `tolerance` times its old value.

    A rival that is quicker than fairfl fails in any case.
    """
    lines = []
    for name, entry in fresh["workloads"].items():
        old = committed["workloads"].get(name)
        for title, of in MEASURES.items():
            now, before = of(entry), of(old) if old else None
            # Shares of older results are of torch.mm alone, another yardstick.
            if before is None or (of is _share and not old.get("gemm")):
                continue
            passed = now is not None and now >= (
                max(tolerance * before, 1) if of is _ratio else tolerance * before
            )
            shown = "not measured" if now is None else f"{now:.3g}"
            lines.append(
                (
                    passed,
                    f"{'ok  ' if passed else 'SLOW'} {name}: {title} {shown}, committed {before:.3g}",
                )
            )
    return lines
