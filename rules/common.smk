# What all rules share: the validated workload, where its files lie, the command of a job.
import atexit
import functools
import gc
import os
import shlex
import shutil

from fairfl.experiments.config import selection
from fairfl.experiments.strict import csv_files
from fairfl.experiments.workload import load_workload, usual_config
from fairfl.jobs import collect, fetch, page, reproduction, trials
from fairfl.planning import own_data
from fairfl.planning.restriction import affordable
from fairfl.judgement.claims import preflight
from fairfl.judgement.recorded import CLAIMS, beside_record
from fairfl.runtime import atomic, ownership, sealed
from fairfl.runtime.fingerprint import canonical
from fairfl.runtime.warm_start.launch import WORTH, Server
from fairfl.terminal.display import last_words
from fairfl.terminal.names import located, spoken
from fairfl.terminal.summary import places
from fairfl.workflow import downloads, ending, environment, plan, snapshot
from fairfl.workflow.call import Call
from fairfl.workflow.recorded import available, rerun_of

try:
    workload = load_workload(CODE, config)
    if workload.config.recorded == "only":
        workload = workload.restricted_to(available(workload))
    if hooks.is_main_process(workflow):
        if workload.config.budget is not None:
            workload = affordable(workload, ROOT)
        preflight.check(workload)
        own_data.dealt(workload)
    GPU = environment.gpus_per_job(workload.config)
except FairflError as error:
    raise WorkflowError(hooks.blamed(workflow, str(error))) from None
environment.prepare(CODE, workload.config)

# Planning makes millions of objects that stay; to look through them for garbage, again and again and at the end, takes
# a fifth of it.
gc.disable()
call = Call(lambda judge: hooks.asked(workflow, judge), lambda: rerun_of(graph), int(workload.config.keep))
atexit.register(gc.freeze)

if display:
    display.run.speak = functools.partial(spoken, workload)
    display.run.asked = lambda: hooks.requested(workflow)
    display.run.locate = lambda target: located(workload, RESULTS, target)
    for _fault in workload.faulty.values():
        display.say(f"left out: {_fault}")
    display.idle = lambda: places(display.run, Path(SUMMARIES))
    atexit.register(display.stop)

RESULTS = f"results/{workload.scale.scale}"
if not hooks.is_main_process(workflow):  # a job on a cluster's node
    try:
        ownership.still_wanted(Path(RESULTS, ".lock"))
    except FairflError as error:
        raise WorkflowError(str(error)) from None
RESTORATIONS = f"{RESULTS}/.restorations.json"  # what comes from the record
ORDERS = f"{RESULTS}/.jobs"  # what each job that runs is to do
SERVER = Server()
CLIENT = f'"${sealed.VARIABLE}"/src/fairfl/runtime/warm_start/client.py'


# A part of all there is, selected on the command line, has a page, comparison, claims, orders and tables beside the
# paper's of its own: those of the whole stay. Runs, tables and figures are where they always are.
SELECTION = selection(workload.config, usual_config(ROOT, workload.faulty))
SUMMARIES = f"{RESULTS}/selections/{SELECTION}" if SELECTION else RESULTS


pathvars:
    results=RESULTS,  # of this scale
    summaries=SUMMARIES,
    logs=f"{RESULTS}/logs",
    data="results/data",  # prepared, for all scales


wildcard_constraints:
    setting=r"[A-Za-z0-9_.~=+-]+",
    algorithm=r"[a-z0-9_]+",
    variant=r"[A-Za-z0-9_.~=+-]+",
    seed=r"\d+",
    client=r"\d+",
    cluster=r"\d+",
    paper=r"[a-z0-9]+",
    key=r"[A-Za-z0-9_.-]+",


def job(rule, options):
    """`python -P -m fairfl.jobs.RULE` in a process that SERVER has ready; output into a new log file.

    {params.job}: a file that says what the job computes from, the record that it leaves, which results it may read.
    `resources:` say how and where (device, threads, folders); a change there runs nothing again.
    """
    return f"python -P {CLIENT} --log {{log:q}} fairfl.jobs.{rule} {{params.job}} {options}"


def job_options(wildcards, output):
    return f"--job {shlex.quote(order_of(graph.producer(output[0])))}"


def order_of(name):
    """Where the workflow leaves what a job of this name is to do, before any job starts."""
    return f"{ORDERS}/{name}.json"


def ended():
    why = call.end()
    if why:
        raise WorkflowError(why)
    if not (display and display.run.interrupted):
        ending.page_of_the_rest(call.left, page.write_without, workload, ROOT, RESULTS, SUMMARIES)
    if display:
        given = hooks.given_config(workflow)
        display.finish(last_words(display, Path(SUMMARIES), sys.argv[0], given, workload.papers))
    ending.say_edits(ROOT, display.say if display else print)


# On a cluster these run beside Snakemake: they take seconds, and downloads need a network.
localrules:
    fetch,
    partition,
    collect,
    trials,
    tune,
    calibrate,
    table,
    figure,
    comparison,
    order,
    beside,
    claims,
    page,
    runs,


onstart:
    gc.freeze()
    gc.enable()
    # Data are shared by all scales, of which several may run at once.
    shares = hooks.runs_any(workflow, "fetch", "prepare") or any(
        job["record"].startswith("results/data/") for job in rerun.restored
    )
    try:
        for folder in [RESULTS, *(["results/data"] if shares else [])]:
            ownership.workflow_lock(Path(folder, ".lock"))
    except (FairflError, OSError) as error:
        raise WorkflowError(str(error)) from None
    shutil.rmtree(ORDERS, ignore_errors=True)
    names = hooks.about_to_run(workflow, graph)
    if names:
        environment.run_from(snapshot.take(ROOT, Path(RESULTS)))
    for name in names:
        Path(order_of(name)).parent.mkdir(parents=True, exist_ok=True)
        Path(order_of(name)).write_text(graph.order(name, os.environ[sealed.VARIABLE]))
    call.begin(rerun, names)
    if rerun.restored:
        atomic.write_text(RESTORATIONS, canonical(rerun.restored))
        atexit.register(atomic.remove, RESTORATIONS)
    say = display.say if display else functools.partial(print, file=sys.stderr)
    hooks.watch_queue(workflow, say)
    if workload.config.warm_start and hooks.runs_here(workflow, at_least=WORTH):
        shared = environment.shared_modules(map(graph.job, names), at_least=WORTH)
        SERVER.start(environment.libraries(workload), shared, say)


onsuccess:
    SERVER.stop()
    shutil.rmtree(ORDERS, ignore_errors=True)
    ended()


onerror:
    SERVER.stop()
    ended()
