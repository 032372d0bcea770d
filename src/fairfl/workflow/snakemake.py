"""All that touches parts of Snakemake which it does not promise to keep; tests/workflow/test_snakemake.py names each.

What must run is decided by fairfl.workflow.rerun, from records beside the results. Snakemake's own way (times of files,
and parameters that it keeps in .snakemake/) runs too much after a copy or a checkout, and too little where that folder
is missing. So, once, before Snakemake builds its DAG, jobs that must run are forced as `--forcerun` does, with their
files among the targets; the files that others read are `ancient`, and profiles switch off the rest.
"""

import argparse
import functools
import gc
import getpass
import logging
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake.exceptions import WorkflowError
from snakemake.io import ancient, strip_wildcard_constraints, unpack
from snakemake.iocontainers import InputFiles
from snakemake.scheduling.job_scheduler import JobScheduler

from fairfl.experiments.config import Config
from fairfl.experiments.strict import load
from fairfl.experiments.workload import load_workload
from fairfl.runtime.errors import FairflError
from fairfl.values.json_text import from_text
from fairfl.workflow import code_hash, queue
from fairfl.workflow.environment import check_places
from fairfl.workflow.graph import Graph, Job, Rule, name_of
from fairfl.workflow.submissions import Submissions, with_variables
from fairfl.workflow.targets import (
    asked,
    check_device,
    check_targets,
    is_local,
    snakemake_call,
)

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

    from fairfl.workflow.rerun import Rerun
    from fairfl.workflow.terminal.display import Display

_CONSTRAINED = re.compile(r"\{\s*(\w+)\s*,\s*((?:[^{}]|\{[^{}]*\})+)\}")


def rules(workflow: "Workflow") -> list[Rule]:
    """All rules, as they were parsed."""
    return [_rule(rule) for rule in workflow.rules]


def _rule(rule: Any) -> Rule:
    inputs = []
    for number, (name, item) in enumerate(rule.input._allitems()):
        listed = item if callable(item) else tuple(map(str, item))
        paths = str(item) if isinstance(item, str) else listed
        inputs.append((name or f"input{number}", paths))
    patterns = [str(path) for path in [*rule.output, *rule.log]]
    return Rule(
        rule.name,
        tuple(strip_wildcard_constraints(str(path)) for path in rule.output),
        tuple(inputs),
        strip_wildcard_constraints(str(rule.log[0])) if rule.log else "",
        getattr(rule.params, "checkpoint", ""),
        {
            key: value.strip()
            for pattern in patterns
            for key, value in _CONSTRAINED.findall(pattern)
        },
    )


def graph_of(workflow: "Workflow", workload: Any) -> Graph:
    """The graph of the rules that were parsed so far."""
    return Graph(workload, rules(workflow), workflow.pathvars.apply, is_local(workflow))


def parsed(root: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return what the Snakefile below `root` defines under this configuration; nothing is planned or run.

    Raises FairflError for what the user must mend.
    """
    from snakemake.api import SnakemakeApi
    from snakemake.settings.types import ConfigSettings, OutputSettings, Quietness, ResourceSettings

    collects = gc.isenabled()
    try:
        with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(config=config),
                snakefile=root / "Snakefile",
            )._workflow
            return workflow.globals
    except WorkflowError as error:
        raise FairflError(str(error)) from None
    finally:
        if collects:  # planning switches it off, for the process that only plans
            gc.enable()


def called_with(argv: list[str] | None, about: str | None) -> tuple[Path, dict[str, Any], Config]:
    """Folder of the Snakefile and configuration that a program of a rule was called with, and the latter checked."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config")
    # A bad configuration is one line, without Snakemake's.
    return args.root, config, load_workload(args.root, config).config


def is_main_process(workflow: "Workflow") -> bool:
    """True where jobs are planned, False in the process of a job on a cluster's node."""
    return workflow.is_main_process


def cores(workflow: "Workflow") -> int | None:
    """Cores that the jobs on this machine share; None where a cluster gives each job its own."""
    return workflow.cores if is_local(workflow) else None


def display(workflow: "Workflow") -> "Display | None":
    """Return what shows this run, not Snakemake's lines; None if the user wants those, or on a cluster's node."""
    from fairfl.workflow.terminal.display import VARIABLE, Display

    settings = workflow.logger_manager.settings
    mode, log = os.environ.get(VARIABLE, "auto"), logging.getLogger("snakemake.logging")
    own = [handler for handler in log.handlers if handler.name == "DefaultStreamHandler"]
    asked = settings.quiet or settings.verbose or settings.debug_dag or settings.printshellcmds
    if not own or asked or mode == "snakemake" or not is_main_process(workflow):
        return None
    screen = Display(own[0].stream, plain=mode == "plain", dry=settings.dryrun)  # type: ignore[attr-defined]
    if not is_local(workflow):
        args = snakemake_call()["args"]
        profiles = (("--workflow-profile", args.workflow_profile), ("--profile", args.profile))
        words = [word for option, value in profiles if value for word in (option, str(value))]
        screen.alone = tuple(words or ("--executor", args.executor, "--jobs", "1"))
    log.removeHandler(own[0])
    log.addHandler(screen)
    screen.heed_interrupts()
    return screen


def given_config(workflow: "Workflow") -> dict[str, Any]:
    """Return what `--config` says."""
    return dict(workflow.config_settings.config)


def check_config(workflow: "Workflow") -> None:
    """config.yaml, files of `--configfile` and values of `--config`, read strictly: Snakemake takes the last of two
    equal keys. Raises FairflError.
    """
    for path in ("config.yaml", *map(os.path.relpath, workflow.config_settings.configfiles)):
        load(Path(path))


def blamed(workflow: "Workflow", message: str) -> str:
    """A message about a faulty configuration that names where a value was given: the command line, or config.yaml."""
    sources = dict.fromkeys(workflow.config_settings.config, "--config ")
    for path in map(os.path.relpath, workflow.config_settings.configfiles):
        sources = dict.fromkeys(load(Path(path)) or (), f"{path}: ") | sources
    where = lambda match: f"{sources[match[1]]}{match[1]}" if match[1] in sources else match[0]  # noqa: E731
    return re.sub(r"^config\.yaml: (\w+)", where, message, flags=re.M)


def runs_here(workflow: "Workflow", at_least: int) -> bool:
    """True if this number of jobs is about to run on this machine with this process's interpreter.

    Jobs on a cluster's node, in a conda environment or in a container have another one.
    """
    deployed = workflow.deployment_settings.deployment_method
    return is_local(workflow) and not deployed and len(workflow.dag) >= at_least


class Decision:
    """Tells Snakemake of the jobs: which of them must run, and what they read.

    The only place that changes private attributes of Snakemake; each has a comment.
    """

    def __init__(
        self,
        workflow: "Workflow",
        graph: Graph,
        rerun: "Rerun",
        put_back: Callable[[Iterable[Job]], None],
    ) -> None:
        """`put_back` leaves what is kept of some jobs where it belongs."""
        self.workflow, self.graph, self.rerun, self.put_back = workflow, graph, rerun, put_back
        self._forced_by_user = False

    def take_effect(self) -> None:
        """Replace the rules' inputs by `inputs`, and let `before_dag` run once, before Snakemake builds its DAG."""
        for rule in self.workflow.rules:
            ask = self.of_target if rule.norun else self.inputs if rule.output else None
            if ask:
                rule._input = InputFiles()  # what was parsed; `set_input` would add to it
                rule.input_modifier = (
                    rule.input_modifier or rule.output_modifier
                )  # a rule without inputs has none
                rule.set_input(unpack(functools.partial(ask, rule=rule.name)))
        build = self.workflow._prepare_dag

        def prepare_dag(*arguments: Any, **options: Any) -> None:
            self.before_dag()
            build(*arguments, **options)

        # Every command (run, dry-run, summary, rule graph) builds the DAG here, after it has read all its options.
        self.workflow._prepare_dag = prepare_dag
        JobScheduler.update_input_sizes = _without_sizes

    def of_target(self, wildcards: Any, rule: str) -> dict[str, Any]:
        """Files that Snakemake is to make for a rule that only names what it wants: all, or running ones."""
        jobs = [name for name in self.graph.wanted(rule) if not self.rerun.stored(name)]
        if not self._prunes:
            return {"wanted": [path for name in jobs for path in self.graph.job(name).outputs]}
        run = [
            name
            for job in jobs
            for name in ([job] if self.rerun.reason(job) else self.rerun.nearest(job))
        ]
        files = [self.graph.job(name).outputs[0] for name in dict.fromkeys(run or jobs[:1])]
        return {"wanted": files or "config.yaml"}  # without any input it would always be run

    def inputs(self, wildcards: Any, rule: str) -> dict[str, Any]:
        """Files that Snakemake is to wait for, or to look at, before a job of this rule."""
        job = self.graph.job(_name(self.graph, rule, wildcards))
        is_there = self._has_file if is_main_process(self.workflow) else os.path.exists
        reads = {
            name: list(filter(is_there, [paths] if isinstance(paths, str) else paths))
            for name, paths in job.reads.items()
        }
        if is_main_process(self.workflow):
            if self.rerun.reason(job.name):
                # Snakemake looks at a job below one that runs only if it reads a file of that one.
                above = [self.graph.job(name).outputs[0] for name in self.rerun.nearest(job.name)]
                return reads | {"above": above}
            if self._prunes:
                return {}
        return {name: ancient(paths) for name, paths in reads.items()}

    def _has_file(self, path: str) -> bool:
        """False of the results of a job that are stored: they are in no file that Snakemake might look for."""
        name = self.graph.producer(path)
        return name is None or not self.rerun.stored(name)

    @property
    def _prunes(self) -> bool:
        """True if jobs are about to run, only the necessary ones: what is up to date need not be looked at.

        A list or a drawing of the DAG has all jobs, and what the user forces may be any.
        """
        return bool(self.workflow.scheduling_settings) and not self._forced_by_user

    def before_dag(self) -> None:
        """Force the jobs that must run, as `--forcerun` does. On the nodes of a cluster nothing is decided."""
        settings = self.workflow.dag_settings
        self._forced_by_user = bool(settings.forceall or settings.forcetargets or settings.forcerun)
        if is_main_process(self.workflow):
            jobs = self._checked()
            if self.workflow.scheduling_settings and not self.workflow.dryrun:
                self.put_back(jobs.values())
            must = [job.outputs[0] for job in jobs.values() if self.rerun.reason(job.name)]
            settings.forcerun = frozenset({*settings.forcerun, *must})
        if is_local(self.workflow) and self.workflow.scheduling_settings:
            # With a limit on submissions each job that ends starts a timer that starts itself again, for ever.
            self.workflow.scheduling_settings.max_jobs_per_timespan = None
        elif getattr(self.workflow.executor_plugin, "name", "") == "slurm":
            # All jobs that are ready, of which Submissions make as many as the user lets be in the queue.
            self.workflow.global_resources["_nodes"] = sys.maxsize

    def _checked(self) -> dict[str, Job]:
        """The jobs that the user asks for, by name. Raises WorkflowError if they cannot run."""
        try:
            check_targets(self.workflow, self.graph, self.rerun)
            jobs = asked(self.workflow, self.rerun)
            running = [job for job in jobs.values() if self.rerun.reason(job.name)]
            check_places(running)
            check_device(self.workflow, self.graph, running)
            self.rerun.checksums.save()
            code_hash.save()
        except FairflError as error:
            raise WorkflowError(blamed(self.workflow, str(error))) from None
        return jobs


async def _without_sizes(scheduler: JobScheduler, jobs: Iterable[Any]) -> None:
    """No sizes of inputs, which jobs of one priority are ranked by: to ask for the inputs of all ready jobs before each
    start took a third of Snakemake's time.
    """
    scheduler._input_sizes = defaultdict(int)


def _name(graph: Graph, rule: str, wildcards: Any) -> str:
    name = graph.producer(graph.rules[rule].outputs[0].format_map(dict(wildcards.items())))
    assert name is not None  # the path was made from the rule's own pattern
    return name


def only_plans(workflow: "Workflow") -> bool:
    """True if nothing but `plan` is about to run, which only reads."""
    return {job.rule.name for job in workflow.dag.needrun_jobs()} == {"plan"}


def about_to_run(workflow: "Workflow", graph: Graph) -> list[str]:
    """Names of the jobs of the graph that Snakemake is about to run."""
    return [
        _name(graph, job.rule.name, job.wildcards)
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in graph.rules and job.rule.output
    ]


def submit_to_cluster(
    workflow: "Workflow",
    workload: Any,
    results: Path,
    preloaded: list[str],
    say: Callable[[str], None],
) -> None:
    """Take care of what an executor sends elsewhere: its code, and on Slurm its submissions.

    Raises FairflError if the executor is asked for what it does wrongly.
    """
    executor = workflow.scheduler._executor
    if workflow.local_exec:
        return
    own = ("FAIRFL_", "PYTHON", "MALLOC_")
    environment = {name: value for name, value in os.environ.items() if name.startswith(own)}
    if type(executor).__module__ != "snakemake_executor_plugin_slurm":
        plain = executor.format_job_exec
        executor.format_job_exec = lambda job: with_variables(environment, plain(job))
        return
    os.environ["SQUEUE_USERS"] = (
        getpass.getuser()
    )  # a question for all jobs takes the controller long
    plugin = sys.modules[type(executor).__module__]
    plugin.query_job_status = queue.answers(plugin.query_job_status)  # type: ignore[attr-defined]
    name = lambda job: name_of(str(job.log[0])) if job.log else str(job)  # noqa: E731
    Submissions(
        executor,
        results,
        environment,
        workload.scale.limits.model_dump(),
        name,
        say,
        None if workflow.deployment_settings.deployment_method else preloaded,
        workflow.resource_settings.nodes,
    )
    queue.watch(executor, name, say)
