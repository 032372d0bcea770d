# What all rules share: the validated workload, where its files lie, the command of a job.
import functools
import shlex
from pathlib import Path

from fairfl.jobs import own_data, try_model
from fairfl.jobs.page import write_rest
from fairfl.judgement.claims import preflight
from fairfl.planning.reference import expected
from fairfl.planning.requests import Requests
from fairfl.planning.restriction import affordable
from fairfl.workflow.code_hash import closure

workload = session.load(
    config,
    affordable,
    checks=[
        preflight.check,
        preflight.check_printed,
        own_data.partition_own_data,
        functools.partial(try_model.check, code_of=closure),
    ],
)

if session.display and not session.gpus:
    session.display.expected = functools.partial(expected, workload.scale.scale, session.cores)

RESULTS = session.results
requests = Requests(workload, Path(RESULTS), is_on_gpu=bool(session.gpus), is_cluster=session.cores is None)


pathvars:
    results=RESULTS,  # of this scale
    summaries=session.summaries,  # page, comparison, claims: a part that is selected on the command line has its own
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
    """`python -P -m fairfl.jobs.RULE` in a process that the session has ready; output into a new log file.

    {params.job}: a file that says what the job computes from, the record that it leaves, which results it may read.
    `resources:` say how and where (device, threads, folders); a change there runs nothing again.
    """
    client = '"$FAIRFL_CODE"/src/fairfl/runtime/warm_start/client.py'
    return f"python -P -S {client} --log {{log:q}} fairfl.jobs.{rule} {{params.job}} {options}"


def job_options(wildcards, output):
    return f"--job {shlex.quote(session.job_spec_file(output[0]))}"


def path_of(name):
    """Path of an input that may be stored: then no file is there, and the job finds it by fairfl.recorded.door."""
    return lambda wildcards, output: " ".join(map(shlex.quote, session.paths_of(output[0], name)))


onstart:
    session.start()


onsuccess:
    session.success()


onerror:
    session.failure(write_rest)
