# What all rules share: the validated workload and where its files lie.
import gc
import os

from fairfl.runtime import ownership
from fairfl.reporting.claims import preflight
from fairfl.workflow.rerun import Rerun
from fairfl.workflow import environment
from fairfl.workflow.graph import Graph
from fairfl.workflow.paths import Layout
from fairfl.experiments.workload import load_workload
from fairfl.runtime.warm_start.launch import Server

try:
    workload = load_workload(ROOT, config)
    if workflow.is_main_process:
        preflight.check(workload)
    GPU = environment.gpus_per_job(workload.config)
except FairflError as error:
    raise WorkflowError(str(error)) from None
layout = Layout(workload)
graph = Graph(layout)
rerun = Rerun(
    graph,
    workload.config.other_torch == "rerun",
    say=lambda line: print(line, file=sys.stderr),
)
environment.prepare(ROOT, workload.config)

# Planning makes millions of objects that stay; looking through them for garbage again and again takes a sixth of it.
gc.set_threshold(200_000, 20, 20)

RESULTS = layout.results
if not workflow.is_main_process:  # a job on a cluster's node
    try:
        ownership.still_wanted(Path(RESULTS, ".lock"))
    except FairflError as error:
        raise WorkflowError(str(error)) from None
LOGS = f"{RESULTS}/logs"
SERVER = Server()

# `resources:` say how and where (device, threads, folders); a change there runs nothing again.


# What must run is decided by fairfl.workflow.rerun, from records beside the results. Snakemake's own way (times of files, and
# parameters that it keeps in .snakemake/) runs too much after a copy or a checkout, and too little where that folder is
# missing. So jobs that must run are forced, the files that others read are `ancient`, and profiles switch off the rest.
class Recorded:
    """What a rule's jobs have in common, given the pattern of their names in fairfl.workflow.graph."""

    def __init__(self, pattern):
        self.pattern = pattern

    def name(self, wc):
        return self.pattern.format_map(dict(wc.items()))

    def reads(self, **paths):
        """The job's input: files that it reads, by name; each a path, paths, or a function of wildcards."""

        def files(wc):
            found = {name: path(wc) if callable(path) else path for name, path in paths.items()}
            if not workflow.is_main_process:  # on the nodes of a cluster nothing is decided
                return {name: ancient(path) for name, path in found.items()}
            outputs = graph.job(self.name(wc)).outputs
            if not rerun.verdict(self.name(wc)).reason and workflow.dag.forcefiles.isdisjoint(outputs):
                return {name: ancient(there(path)) for name, path in found.items()}
            workflow.dag.forcefiles.update(outputs)
            # Snakemake looks at a job below one that runs only if it reads a file of that one.
            return found | {"above": [graph.job(name).outputs[0] for name in rerun.nearest(self.name(wc))]}

        return unpack(files)

    def made(self, wc):
        """Options of the command: what it computes from, the record that it leaves, which results it may read."""
        return graph.options(self.name(wc))


def there(paths):
    """The files that exist: Snakemake runs what reads a lost file when that is made again, though it be the same.

    So what needs not run does not read it, unless it is told to run.
    """
    asked = workflow.dag_settings
    if asked.forceall or asked.forcetargets or asked.forcerun:
        return paths
    return [path for path in ([paths] if isinstance(paths, str) else paths) if os.path.exists(path)]


def needed(paths):
    """What a target asks for: its files, and, of the jobs above these, each one that must run."""
    above = graph.below(filter(None, map(graph.producer, paths)))
    return [*paths, *(job.outputs[0] for job in above if rerun.verdict(job.name).reason)]


def job(module, options):
    """`python -m MODULE` with what all jobs have, in a process that SERVER has ready; output into a new log file."""
    return f"python -m fairfl.runtime.warm_start --log {{log:q}} {module} {{params.made}} {options}"


onstart:
    # Data are shared by all scales, of which several may run at once.
    shares = any(
        job.rule.name in ("fetch", "fetch_weights", "prepare") for job in workflow.dag.needrun_jobs()
    )
    try:
        for folder in [RESULTS, *(["results/data"] if shares else [])]:
            ownership.workflow_lock(Path(folder, ".lock"))
    except (FairflError, OSError) as error:
        raise WorkflowError(str(error)) from None
    if workload.config.warm_start:
        SERVER.start_for(workflow, layout.libraries())


onsuccess:
    SERVER.stop()


onerror:
    SERVER.stop()


# On a cluster these run beside Snakemake: they take seconds, and downloads need a network.
localrules:
    fetch,
    fetch_weights,
    partition,
    tidy,
    tune,
    calibration,
    table,
    figure,
    comparison,
    claims,
    page,


wildcard_constraints:
    setting=r"[A-Za-z0-9_.~=+-]+",
    algorithm=r"[a-z0-9_]+",
    variant=r"[A-Za-z0-9_.~=+-]+",
    seed=r"\d+",
    client=r"\d+",
    cluster=r"\d+",
    paper=r"[a-z0-9]+",
    key=r"[A-Za-z0-9_.-]+",
