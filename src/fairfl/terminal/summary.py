"""The last words of a run: what was built, what was judged and how that came out, what failed and what to type."""

import csv
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from fairfl.terminal.names import counted
from fairfl.terminal.progress import Job, Run, span

JUDGED = {"agrees": "agree", "close": "close", "differs": "differ"}
LINES = 15  # of the log of a job that failed


def built(run: Run, results: Path, page: bool, other: Collection[str] = ()) -> Iterator[str]:
    """After a run without failures; `page`: the page is among what was asked for; `other` artifacts count nowhere."""
    made = " and ".join(counted(rule, run.done[rule]) for rule in ("table", "figure") if run.done[rule])
    jobs = "1 job" if run.done.total() == 1 else f"{run.done.total():,} jobs"
    yield f"done: {jobs} in {span(run.clock() - run.begun)}" + (f"; {made} built" if made else "")
    if page and (results / "index.html").exists():
        yield from judged(results, other)
        yield f"page: {(results.absolute() / 'index.html').as_uri()}"


def judged(results: Path, other: Collection[str] = ()) -> Iterator[str]:
    """What comparison.csv and claims.csv say, in a line each, but for numbers of `other` readings of a paper."""
    try:
        with (results / "comparison.csv").open(newline="") as file:
            numbers = Counter(row["verdict"] for row in csv.DictReader(file) if row["artifact"] not in other)
        with (results / "claims.csv").open(newline="") as file:
            claims = Counter(row["here"] for row in csv.DictReader(file))
    except OSError:
        return
    count = sum(numbers[verdict] for verdict in JUDGED)
    apart = sum(number for verdict, number in numbers.items() if verdict.startswith("not comparable"))
    said = ", ".join(f"{numbers[verdict]} {word}" for verdict, word in JUDGED.items())
    text = f"judged: {count} numbers, {said}" if count else "no number could be judged"
    if set(numbers) != {"not reported"}:  # as all numbers of one's own experiments are
        yield text + (f"; {apart:,} others: scale, stand-in data or hardware differ from the paper's" if apart else "")
    claimed = ", ".join(f"{claims[status]} {word}" for status, word in _CLAIMS.items() if claims[status])
    if claimed:
        yield f"claims: {claimed}"


_CLAIMS = {
    "holds": "hold", "fails": "fail", "within noise": "within noise", "undecidable": "undecidable",
    "not judged here": "not judged at this scale",
}  # fmt: skip


def failures(run: Run, snakemake: str, config: Mapping[str, object]) -> Iterator[str]:
    """What failed. The first failure comes last, with the end of its log: it is what should be read."""
    first, *others = run.failed.values()
    for job in reversed(others):
        yield f"failed: {job.name}"
        yield f"   log: {job.log}"
    never = run.total - run.done.total() - len(run.failed)
    yield f"failed: {first.name} ({len(run.failed)} of {run.total:,} jobs failed, {never:,} did not run)"
    yield from (f"   | {line}" for line in last_lines(first))
    yield f"   log: {first.log}"
    yield f"   it alone: {alone(first, snakemake, config)}"


def last_lines(job: Job) -> list[str]:
    """Of its log."""
    try:
        text = Path(job.log).read_text(errors="replace")
    except OSError:
        return ["(no log: the job could not begin)"]
    return text.replace("\r", "\n").splitlines()[-LINES:] or ["(the log is empty: it was killed, or could not begin)"]


def alone(job: Job, snakemake: str, config: Mapping[str, object]) -> str:
    """The command that runs one job again."""
    return shlex.join([snakemake, "--cores", "1", *options(config), "--", job.output])


def options(config: Mapping[str, object]) -> list[str]:
    """Values that config.yaml does not have, as words of a command line."""
    given = [f"{key}={_text(value)}" for key, value in config.items()]
    return ["--config", *given] if given else []


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)
