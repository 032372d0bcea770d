"""What a call of Snakemake needs around its jobs, so that the Snakefile and rules/ show the workflow only.

They call, in this order: `Session` before config.yaml is read, `load` when it has been, `plan` when all rules are
parsed; of a call that runs jobs `start` before the first one, `success` or `failure` after the last.
"""

import atexit
import contextlib
import functools
import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake.exceptions import WorkflowError

from fairfl.experiments.config import selection
from fairfl.experiments.workload import Workload, load_workload, usual_config
from fairfl.runtime import atomic, inputs, locks, sealed
from fairfl.runtime.errors import FairflError
from fairfl.runtime.warm_start.launch import WORTH, StartServer
from fairfl.workflow import environment, plan, snakemake, snapshot, submissions, targets
from fairfl.workflow.graph import Graph, Job
from fairfl.workflow.invocation import Invocation
from fairfl.workflow.recorded import available
from fairfl.workflow.rerun import KEPT, rerun_of
from fairfl.workflow.terminal.display import Display, summary_lines

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

DATA = "results/data"  # prepared data, for all scales


class Session:
    """One call of Snakemake. `root` has the Snakefile, `code` the package: a copy of it in a job on a cluster's node.

    Each method raises Snakemake's WorkflowError, one line, where something is wrong with what the user gave.
    """

    workload: Workload  # `load` sets these
    results: str  # folder of this scale
    summaries: str  # folder of comparison, claims and page: a selection has its own
    gpus: int  # that a job takes: 1 or 0
    graph: Graph  # `plan` sets it

    def __init__(self, workflow: "Workflow", root: Path, code: Path) -> None:
        self.workflow, self.root, self.code = workflow, root, code
        self.planning = snakemake.is_main_process(workflow)  # False in a job on a cluster's node
        self.display: Display | None = snakemake.display(workflow)
        self.say: Callable[[str], None] = self.display.say if self.display else _print_error
        self.server = StartServer()
        self._locked: set[str] = set()
        with self._refusals():
            if {"{", "}"} & {*str(root.absolute())}:
                raise FairflError(
                    f"{root.absolute()}: Snakemake takes braces for wildcards: rename the folder"
                )
            snakemake.check_config(workflow)

    def load(
        self,
        config: Mapping[str, Any],
        affordable: Callable[[Workload, Path], Workload],
        checks: Iterable[Callable[[Workload], object]],
    ) -> Workload:
        """The workload of this configuration, checked. `affordable` leaves out what its budget cannot buy."""

        def completed(workload: Workload) -> Workload:
            if workload.config.recorded == "only":
                workload = workload.restricted_to(available(workload))
            if self.planning:
                if workload.config.budget is not None:
                    workload = affordable(workload, self.root)
                for check in checks:
                    check(workload)
            return workload

        with self._refusals(blame=True):
            workload = load_workload(self.code, dict(config), completed)
            self.gpus = environment.gpus_per_job(workload.config)
        environment.prepare(self.code, workload.config)
        atexit.register(gc.freeze)  # nothing looks through all of it for garbage at the end
        self.workload = workload
        self._name_folders()
        if not self.planning:
            with self._refusals():
                locks.still_wanted(Path(self.results, ".lock"))
        if self.display:
            asked = functools.partial(targets.requested, self.workflow)
            self.display.introduce(workload, Path(self.results), Path(self.summaries), asked)
        return workload

    def plan(self) -> Graph:
        """The graph of the parsed rules; Snakemake will run its jobs that must run."""
        self.graph = snakemake.graph_of(self.workflow, self.workload)
        self.rerun = rerun_of(self.graph, say=_print_error)
        snakemake.Decision(self.workflow, self.graph, self.rerun, self._put_back).take_effect()
        if self.display:
            plan.show_plan(self.display, self.rerun, self.workload.scale.scale)
        return self.graph

    def start(self) -> None:
        """Lock the folders, seal the code and the specs of the jobs, keep what they replace, start their server.

        None of it for `plan`, which only reads: another workflow may run in the folders.
        """
        gc.freeze()
        gc.enable()
        self.call = Invocation(
            lambda judge: targets.asked(self.workflow, judge),
            lambda: rerun_of(self.graph),
            int(self.workload.config.superseded_results_limit),
        )
        if snakemake.only_plans(self.workflow):
            return
        with self._refusals(more=OSError):
            names = snakemake.about_to_run(self.workflow, self.graph)
            self._lock(self.graph.job(name).rule for name in names)
            submissions.end_orphans(Path(self.results), self.say)
            self._seal(names)
        self.call.begin(self.rerun, names)
        modules = environment.preloaded(self.workload, map(self.graph.job, names))
        with self._refusals():
            snakemake.submit_to_cluster(
                self.workflow, self.workload, Path(self.results), modules, self.say
            )
        if self.workload.config.warm_start and snakemake.runs_here(self.workflow, at_least=WORTH):
            self.server.start(modules, self.say)

    def success(self) -> None:
        """Say what was built; WorkflowError if something must run after all."""
        self.server.stop()
        if self._locked:  # else they are another workflow's
            shutil.rmtree(self._job_specs, ignore_errors=True)
        self._end()
        self._say_last_words()

    def failure(self, write_page: Callable[..., None]) -> None:
        """Say what failed. `write_page`, fairfl.jobs.page.write_rest, makes the page of what did not."""
        self.server.stop()
        self._end()
        try:
            if not (self.display and self.display.run.interrupted):
                self._write_page_of_rest(write_page)
        finally:
            self._say_last_words()

    # -- for rules ------------------------------------------------------------------------------
    @property
    def cores(self) -> int | None:
        """Cores that the jobs on this machine share; None where a cluster gives each job its own."""
        return snakemake.cores(self.workflow)

    def job_spec_file(self, output: str) -> str:
        """Return the file that says, before any job starts, what the job of this output is to compute from."""
        return f"{self._job_specs}/{self.graph.producer(output)}.json"

    def paths_of(self, output: str, name: str) -> list[str]:
        """List what the job of this output reads under a name, be it a file or stored."""
        paths = self.graph.job(self.graph.producer(output) or "").reads.get(name, [])
        return [paths] if isinstance(paths, str) else paths

    # -- parts of the story -----------------------------------------------------------------------
    @contextlib.contextmanager
    def _refusals(self, more: type[Exception] = FairflError, blame: bool = False) -> Iterator[None]:
        """Make errors of the user Snakemake's; `blame`: they say which of several files, or words, gave a value."""
        try:
            yield
        except (FairflError, more) as error:
            if self.display:  # no bars below the message, as if something ran
                self.display.stop()
            raise WorkflowError(
                snakemake.blamed(self.workflow, str(error)) if blame else str(error)
            ) from None

    def _name_folders(self) -> None:
        self.results = f"results/{self.workload.scale.scale}"
        selected = selection(self.workload.config, usual_config(self.root, self.workload.faulty))
        self.summaries = f"{self.results}/selections/{selected}" if selected else self.results
        self._job_specs = f"{self.results}/.jobs"

    def _lock(self, rules: Iterable[str]) -> None:
        """Data are shared by all scales, of which several may run at once."""
        shared = not {"fetch", "prepare"}.isdisjoint(rules)
        for folder in {self.results, *([DATA] if shared else [])} - self._locked:
            locks.workflow_lock(Path(folder, ".lock"))
            self._locked.add(folder)

    def _put_back(self, jobs: Iterable[Job]) -> None:
        """Leave results that are kept where they belong, before Snakemake looks for them."""
        if due := [job for job in jobs if self.rerun.reason(job.name) == KEPT]:
            with self._refusals(more=OSError):
                self._lock(job.rule for job in due)
                self.rerun.put_back(due)
            self.say(f"kept results that are back without a run: {len(due)}")

    def _seal(self, names: list[str]) -> None:
        """Copy the project, which jobs work from, and write what each of them is to do."""
        shutil.rmtree(self._job_specs, ignore_errors=True)
        if names:
            environment.run_from(snapshot.take(self.root, Path(self.results)))
        with atomic.making(self._job_specs):
            for name in names:
                path = Path(self._job_specs, f"{name}.json")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.rerun.job_spec(name, os.environ[sealed.VARIABLE]))

    def _end(self) -> None:
        if why := self.call.end():
            raise WorkflowError(why)

    def _write_page_of_rest(self, write_page: Callable[..., None]) -> None:
        """Write the page if all has run but tables, figures and the page itself; the next call makes it again."""
        left = self.call.left
        failed = {name for name, job in left.items() if job.rule in ("table", "figure")}
        rest = [job for name, job in left.items() if name not in failed]
        if failed and [job.rule for job in rest] == ["page"]:
            page = Path(self.summaries, "index.html")
            inputs.stored = self.rerun.stored_files(self.graph.wanted(str(page)))
            Path(rest[0].record).unlink(missing_ok=True)
            write_page(self.workload, self.root, Path(self.results), page, failed)

    def _say_last_words(self) -> None:
        """Say what was built, checked or failed, and which files were edited meanwhile: the next call sees them."""
        if self.display:
            words = summary_lines(
                self.display,
                Path(self.summaries),
                sys.argv[0],
                snakemake.given_config(self.workflow),
                self.workload.papers,
                self.workload.scale.scale,
            )
            self.display.finish(words)
        copy = Path(os.environ[sealed.VARIABLE])
        if not copy.is_dir():
            self.say(
                f"{os.path.relpath(copy)} was deleted while jobs worked from it: leave it, and call again"
            )
        elif edits := snapshot.edited(self.root, copy):
            more = f" and {len(edits) - 5} more" if edits[5:] else ""
            self.say(f"edited meanwhile: {', '.join(edits[:5])}{more}; the next call sees it")


def _print_error(text: str) -> None:
    print(text, file=sys.stderr)
