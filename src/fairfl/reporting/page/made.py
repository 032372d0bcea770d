"""What the page was made from: commit, date, machines, versions and the seconds that the runs took."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fairfl.judgement.rows import ComparisonLine
from fairfl.runtime import inputs, opened


def commit_of(root: Path) -> dict[str, str]:
    """'5a774d58280c' or '5a774d58280c, changed since', and its date; '' outside of a git repository."""
    state = ["--no-optional-locks", "describe", "--always", "--abbrev=12", "--exclude=*"]
    commands = {
        "commit": ["git", *state, "--dirty=, changed since"],
        "date": ["git", "show", "--no-patch", "--format=%cs", "HEAD"],
    }
    found = {}
    for key, command in commands.items():
        try:
            done = subprocess.run(
                command, cwd=root, capture_output=True, text=True, timeout=30, check=True
            )
            found[key] = done.stdout.strip()
        except (OSError, subprocess.SubprocessError):
            found[key] = ""
    return found


@opened.by_fairfl()
def made_from(root: Path, results: Path, lines: Iterable[ComparisonLine]) -> dict[str, Any]:
    """For the head of the page. Of runs without a summary, or with a damaged one, nothing is known."""
    names = dict.fromkeys(name for line in lines for name in runs_of(line))
    read = {name: _summary(results / "runs" / name / "summary.json") for name in names}
    found = {name: summary for name, summary in read.items() if summary}
    machines = Counter(
        str(summary["processor"]) for summary in found.values() if summary.get("processor")
    )
    versions: dict[str, set[str]] = {}
    for summary in found.values():
        for package, number in (summary.get("versions") or {}).items():
            versions.setdefault(package, set()).add(str(number))
    seconds = sum(float(summary.get("seconds") or 0) for summary in found.values())
    return {
        **commit_of(root),
        "runs": len(found),
        "machines": [name for name, _ in machines.most_common()],
        "versions": [
            f"{package} {', '.join(sorted(numbers))}"
            for package, numbers in sorted(versions.items())
        ],
        "seconds": _duration(seconds),
        "arithmetic_of": {name: summary.get("arithmetic") or {} for name, summary in found.items()},
        "data_of": {name: _data(name, summary) for name, summary in found.items()},
        "owners_of": {name: summary.get("owners") or [] for name, summary in found.items()},
    }


def runs_of(line: ComparisonLine) -> list[str]:
    """The runs behind a line of the comparison."""
    return line.runs.split(";") if line.runs else []


def _data(run: str, summary: Mapping[str, Any]) -> tuple[str, str]:
    """Where the data of a run came from, and what their partition had to change in which setting; "" if nothing."""
    changed = "; ".join(summary.get("partition") or [])
    return str(
        summary.get("data_source", "")
    ), f"{run.partition('/')[0]}: {changed}" if changed else ""


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
