"""What the page was made from: commit, date, machines, versions and the seconds that the runs took."""

import json
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from fairfl.judgement.arithmetic import describe_numerics
from fairfl.judgement.rows import ComparisonLine
from fairfl.reporting.footer import condensed
from fairfl.runtime import inputs, opened

Summaries = Mapping[str, Mapping[str, Any]]  # run -> its summary.json


def runs_of(line: ComparisonLine) -> list[str]:
    """The runs behind a line of the comparison."""
    return line.runs.split(";") if line.runs else []


@opened.by_fairfl()
def read_summaries(results: Path, lines: Iterable[ComparisonLine]) -> Summaries:
    """Summaries of the runs behind some lines, without missing and damaged ones."""
    read = {}
    for run in dict.fromkeys(run for line in lines for run in runs_of(line)):
        with suppress(OSError, ValueError):
            read[run] = json.loads(inputs.read_bytes(results / "runs" / run / "summary.json"))
    return {run: summary for run, summary in read.items() if isinstance(summary, dict)}


@opened.by_fairfl()
def describe_code(root: Path) -> dict[str, str]:
    """`commit`, '5a774d58280c' or '5a774d58280c, changed since', and its `date`; '' outside of a git repository."""
    state = ["--no-optional-locks", "describe", "--always", "--abbrev=12", "--exclude=*"]
    commands = {
        "commit": [*state, "--dirty=, changed since"],
        "date": ["show", "--no-patch", "--format=%cs", "HEAD"],
    }
    answers = dict.fromkeys(commands, "")
    for key, command in commands.items():
        with suppress(OSError, subprocess.SubprocessError):
            answers[key] = subprocess.run(
                ["git", *command], cwd=root, capture_output=True, text=True, timeout=30, check=True
            ).stdout.strip()
    return answers


def describe_runs(summaries: Summaries) -> dict[str, Any]:
    """Number of `runs`, `seconds`, `numerics`, `machines`, `versions`, `sources` of data, changed `partitions`."""
    runs = summaries.values()
    machines = Counter(str(run["processor"]) for run in runs if run.get("processor"))
    versions = {
        (package, str(number))
        for run in runs
        for package, number in (run.get("versions") or {}).items()
    }
    changes = (
        f"{name.partition('/')[0]}: {'; '.join(run['partition'])}"
        for name, run in summaries.items()
        if run.get("partition")
    )
    return {
        "runs": len(runs),
        "seconds": _duration(sum(float(run.get("seconds") or 0) for run in runs)),
        "numerics": describe_numerics(run.get("arithmetic") or {} for run in runs),
        "machines": [name for name, _ in machines.most_common()],
        "versions": [
            f"{package} {', '.join(number for _, number in pairs)}"
            for package, pairs in groupby(sorted(versions), itemgetter(0))
        ],
        "sources": condensed(str(run.get("data_source", "")) for run in runs),
        "partitions": list(dict.fromkeys(changes)),
    }


def _duration(seconds: float) -> str:
    """'45 s', '12 min', '3.4 h'."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
