"""A handler of Snakemake's log records: bars and running jobs on a terminal, a line now and then elsewhere.

FAIRFL_DISPLAY chooses: auto, plain (lines on a terminal too) or snakemake (its own lines). Options that ask Snakemake
to say more or less (--quiet, --verbose, --printshellcmds, --debug-dag) mean its own lines, too. NO_COLOR is obeyed.
"""

import atexit
import logging
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from fairfl.experiments.paper import Paper
from fairfl.experiments.workload import Workload
from fairfl.runtime.plain_data import span
from fairfl.workflow.terminal import summary
from fairfl.workflow.terminal.names import KINDS, called, counted, describe_job, located
from fairfl.workflow.terminal.progress import RunProgress

VARIABLE = "FAIRFL_DISPLAY"
EVERY = 30.0  # seconds between two lines of progress
SHOWN = 8  # running jobs on the screen
# Rules whose jobs print themselves what they have to say.
_SPEAKING = {"calibrated", "plan", "report", "record", "reproduction"}
# What Snakemake says after a failure, whose reason has been said.
_KNOWN = (
    "Exiting because a job execution failed",
    "At least one job did not complete successfully",
    "Complete log(s)",
)
_NEWS = (
    "Nothing to be done",
    "This was a dry-run",
    "Trying to restart job",
    "Will exit after",
)
_INTERRUPTED = ("Terminating processes", "Will exit after", "Cancelling snakemake")
# What an executor adds to what a cluster says.
_FURTHER = (
    "For further error details see the cluster/cloud log and the log files of the involved rule(s)."
)
# A command that failed: its job is named by what it is, with its log.
_COMMAND = re.compile(
    r"(Rule|Workflow|CalledProcess)\w*(Exception|Error)\b.*Command '.*' (returned|died with) ", re.S
)
_PLACE = re.compile(
    r'^\s*File ".*", line \d+(, in .*)?$|^(?!SyntaxError)\w*(Error|Exception) in file .*:$', re.M
)


class Display(logging.Handler):
    """Shows a `Run`. `finish` must be called at its end."""

    def __init__(
        self, stream: TextIO | None = None, plain: bool = False, dry: bool = False
    ) -> None:
        super().__init__()
        self.stream, self.dry = stream or sys.stderr, dry
        self.alone: tuple[str, ...] = summary.HERE  # where a command runs one job again
        self.run = RunProgress()
        self.expected = lambda jobs: ""
        self.reasons: dict[str, Counter[str]] = {}  # of a dry run, by rule
        self.plain = plain or not self.stream.isatty() or os.environ.get("TERM") == "dumb"
        self._ended = threading.Event()
        self._speaks = False  # what runs prints itself what there is to say
        self._screen: Any = None
        self._pressed = False  # Ctrl-C

    def introduce(
        self, workload: Workload, results: Path, summaries: Path, asked: Callable[[], list[str]]
    ) -> None:
        """Learn what jobs are called, which targets the user asks for (`asked`), and where these lie."""
        self.run.speak = partial(describe_job, workload)
        self.run.locate = partial(located, workload, results)
        self.run.asked = asked
        self._summaries = summaries
        atexit.register(self.stop)
        for fault in workload.faulty.values():
            self.say(f"left out: {fault}")

    def explain(
        self,
        rules: Iterable[str],
        why: Callable[[str], str],
        dry_run: Callable[[dict[str, Counter[str]]], list[str]],
    ) -> None:
        """Learn which rules leave files, why the job with a log must run, what a dry run says of reasons by rule."""
        self.run.kinds = dict.fromkeys([*KINDS, *rules])
        self._why, self._dry_run = why, dry_run

    # -- Snakemake's records --------------------------------------------------------------------
    def emit(self, record: logging.LogRecord) -> None:
        try:
            event = getattr(getattr(record, "event", None), "value", None)
            handler = getattr(self, f"_{event}", None)
            if handler:
                handler(record.__dict__)
            elif event is None or event == "error":
                self._message(record)
        except Exception:  # a display must not end a workflow
            self.handleError(record)

    def _message(self, record: logging.LogRecord) -> None:
        text = str(record.getMessage())
        is_seen = self.run.failed or self.run.interrupted or self._speaks
        if any(words in text for words in _KNOWN) and (is_seen or record.levelno < logging.WARNING):
            return
        if _COMMAND.match(text) or (self.run.interrupted and "on user request" in text):
            return
        self.run.interrupted |= text.startswith(_INTERRUPTED)
        if record.levelno >= logging.WARNING:
            self.say("\n".join(line for line in _PLACE.sub("", text).splitlines() if line.strip()))
        elif text.startswith("This was a dry-run"):
            self.finish(iter(self._dry_run(self.reasons)))
        elif text.startswith(_NEWS):
            self.say(text)
            if text.startswith(_NEWS[0]):
                self.finish(summary.output_paths(self.run, self._summaries))

    def _run_info(self, record: Mapping[str, Any]) -> None:
        self.run.plan(record["stats"])
        self._speaks = bool(_SPEAKING & record["stats"].keys())
        kinds = [counted(*each) for each in self.run.totals.items()]
        if kinds and not (self.dry or self._screen):
            self.say(f"to do: {', '.join(kinds)}{self.expected(self.run.totals)}")
            if not self.plain and not self._speaks:
                self._screen = screen(self.run, self.stream)
            if not self._screen:
                threading.Thread(target=self._tell, daemon=True).start()

    def _job_info(self, record: Mapping[str, Any]) -> None:
        if self.dry and record["rule_name"] in self.run.kinds:
            why = self._why(record["log"][0]) if record["log"] else ""
            self.reasons.setdefault(record["rule_name"], Counter())[why or record["reason"]] += 1
        elif not self.dry:
            self.run.start(record["jobid"], record)

    def _job_finished(self, record: Mapping[str, Any]) -> None:
        self.run.finish(record["job_id"])

    def _job_error(self, record: Mapping[str, Any]) -> None:
        message = str(record.get("rule_msg") or "").removesuffix(_FURTHER).strip()
        job = self.run.fail(record["jobid"], message)
        if job and any(
            group == [job] for group in self.run.alike()
        ):  # more of one cause are told at the end
            logs = ", ".join(map(str, record.get("log") or [job.log]))  # a cluster has one, too
            why = f"\n   | {message}" if message else ""
            self.say(f"failed: {job.name}{why}\n   log: {logs}")

    # -- what is shown ----------------------------------------------------------------------------
    def say(self, text: str) -> None:
        """Lines that stay; above the bars, if there are any."""
        if not text:
            return
        if self._screen:
            self._screen.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self.stream, flush=True)

    def finish(self, lines: Iterator[str]) -> None:
        """The bars go, these lines are the last."""
        self.stop()
        for text in lines:
            self.say(text)

    def _tell(self) -> None:
        """Say a line now and then, though no job ends, where there are no bars."""
        while not self._ended.wait(EVERY):
            self.say(line(self.run))

    def heed_interrupts(self) -> None:
        """Know of Ctrl-C before the jobs that it ends are reported as failed; then exit with 130, after all else."""

        def leave() -> None:
            if self._pressed:
                if not self._ended.is_set():
                    self.say("interrupted: nothing has run yet")
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(128 + signal.SIGINT)

        before = signal.getsignal(signal.SIGINT)

        def heard(number: int, frame: Any) -> None:
            self.run.interrupted = self._pressed = True
            if callable(before):
                before(number, frame)

        def silent(kind: type[BaseException], error: BaseException, trace: Any) -> None:
            if kind is not KeyboardInterrupt:
                usual(kind, error, trace)

        if before is not signal.SIG_IGN and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, heard)
            atexit.register(leave)
            usual, sys.excepthook = sys.excepthook, silent

    def stop(self) -> None:
        """Leave the terminal as it was; harmless if that has been done."""
        self._ended.set()
        if self._screen:
            self._screen.stop()
            self._screen = None


def line(run: RunProgress) -> str:
    """'12:00:03 345 of 1,304 jobs; 120 of 929 trainings; FedAvg, seed 0: round 3 of 40'"""
    under_way = [rule for rule, count in run.totals.items() if 0 < run.done[rule] < count]
    kinds = [f"{run.done[rule]:,} of {counted(rule, run.totals[rule])}" for rule in under_way]
    kinds += [f"{job.name}: {job.doing() or 'runs'}" for job in list(run.running.values())[:1]]
    return "; ".join(
        [f"{time.strftime('%H:%M:%S')} {run.done.total():,} of {run.total:,} jobs", *kinds]
    )


def screen(run: RunProgress, stream: TextIO) -> Any:
    """A live view of a run: a bar for each kind of job, running jobs by name."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    colours = None if os.environ.get("NO_COLOR") else "auto"
    console = Console(file=stream, color_system=colours, highlight=False)  # type: ignore[arg-type]

    class View:
        """Made again at each refresh."""

        def __rich__(self) -> Group:
            bars = Table.grid(padding=(0, 2))
            for rule, count in list(run.totals.items()):
                bar = ProgressBar(total=count, completed=run.done[rule], width=30)
                bars.add_row(called(rule), bar, f"{run.done[rule]:,} of {count:,}")
            jobs = list(run.running.values())
            lines = [
                f"{job.name} · {job.doing() or span(run.clock() - job.begun)}"
                for job in jobs[:SHOWN]
            ]
            if len(jobs) > SHOWN:
                lines.append(f"and {len(jobs) - SHOWN} more")
            failed = f", {len(run.failed)} failed" if run.failed else ""
            lines.append(f"{run.done.total():,} of {run.total:,} jobs{failed}")
            return Group(bars, *(Text(line, no_wrap=True, overflow="ellipsis") for line in lines))

    live = Live(
        View(),
        console=console,
        refresh_per_second=2,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    live.start()
    return live


def summary_lines(
    display: Display,
    results: Path,
    snakemake: str,
    config: Mapping[str, object],
    papers: Mapping[str, Paper],
    scale: str = "",
) -> Iterator[str]:
    """After a run that ended of itself; nothing after what speaks for itself. `papers`: the run's."""
    if not display.run.totals:
        return iter(())
    command = partial(
        summary.rerun_command, snakemake=snakemake, config=config, where=display.alone
    )
    if display.run.interrupted:
        return summary.interrupted(display.run, command)
    if display.run.failed:
        return summary.failures(display.run, command)
    return summary.success_lines(display.run, results, papers, scale)
