"""What the page was made from: commit, date, machines, versions and the seconds that the runs took."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fairfl.judgement.rows import ComparisonLine
from fairfl.runtime import inputs

_COMMANDS = {
    "commit": [
        "git",
        "--no-optional-locks",
        "describe",
        "--always",
        "--dirty=, changed since",
        "--abbrev=12",
        "--exclude=*",
    ],
    "date": ["git", "show", "--no-patch", "--format=%cs", "HEAD"],
}


def commit_of(root: Path) -> dict[str, str]:
    """'5a774d58280c' or '5a774d58280c, changed since', and its date; '' outside of a git repository."""
    return {key: _output(command, root) for key, command in _COMMANDS.items()}


def _output(command: list[str], root: Path) -> str:
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def made_from(root: Path, results: Path, lines: Iterable[ComparisonLine]) -> dict[str, Any]:
    """For the head of the page. Of runs without a summary, or with a damaged one, nothing is known."""
    names = dict.fromkeys(name for line in lines for name in runs_of(line))
    found = {name: _summary(results / "runs" / name / "summary.json") for name in names}
    summaries = [summary for summary in found.values() if summary]
    machines = Counter(str(summary["processor"]) for summary in summaries if summary.get("processor"))
    versions: dict[str, set[str]] = {}
    for summary in summaries:
        for package, number in (summary.get("versions") or {}).items():
            versions.setdefault(package, set()).add(str(number))
    seconds = sum(float(summary.get("seconds") or 0) for summary in summaries)
    return {
        **commit_of(root),
        "made": _today(),
        "runs": len(summaries),
        "machines": [name for name, _ in machines.most_common()],
        "versions": [f"{package} {', '.join(sorted(numbers))}" for package, numbers in sorted(versions.items())],
        "seconds": _duration(seconds),
        "arithmetic_of": {name: summary.get("arithmetic") or {} for name, summary in found.items() if summary},
        "data_of": {name: _data(name, summary) for name, summary in found.items() if summary},
    }


def runs_of(line: ComparisonLine) -> list[str]:
    """The runs behind a line of the comparison."""
    return line.runs.split(";") if line.runs else []


def _data(run: str, summary: Mapping[str, Any]) -> tuple[str, str]:
    """Where the data of a run came from, and what their partition had to change in which setting; "" if nothing."""
    changed = "; ".join(summary.get("partition") or [])
    return str(summary.get("data_source", "")), f"{run.partition('/')[0]}: {changed}" if changed else ""


def _today() -> str:
    """'2026-05-01' in UTC; SOURCE_DATE_EPOCH says another day, for builds that are to be equal."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return (datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)).date().isoformat()


def _summary(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(inputs.read_bytes(path))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _duration(seconds: float) -> str:
    """'45 s', '12 min', '3.4 h'."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
