# What all rules share: the validated workload and where its files lie.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from fairfl.errors import FairflError
from fairfl.spec import environment
from fairfl.spec.layout import Layout
from fairfl.spec.workload import load_workload
from fairfl.start.launch import Server

try:
    workload = load_workload(ROOT, config)
except FairflError as error:
    raise WorkflowError(str(error)) from None
layout = Layout(workload)
environment.prepare(ROOT, workload.config)

RESULTS = layout.results
LOGS = f"{RESULTS}/logs"
GPU = environment.gpus_per_job(workload.config)
SERVER = Server()

# Two kinds of parameters reach a job. `params:` says what it computes; Snakemake re-runs a job if they change.
# `resources:` says how and where (device, threads, folders); a change there re-runs nothing.
# `python -m fairfl.start MODULE` in a rule means `python -m MODULE`, in a process that this server has ready.


onstart:
    if workload.config.warm_start:
        SERVER.start_for(workflow, layout.libraries())


onsuccess:
    SERVER.stop()


onerror:
    SERVER.stop()


wildcard_constraints:
    setting=r"[A-Za-z0-9_.~=,+-]+",
    algorithm=r"[a-z0-9_]+",
    arm=r"[A-Za-z0-9_.=,+-]+",
    seed=r"\d+",
    client=r"\d+",
    cluster=r"\d+",
    paper=r"[a-z0-9]+",
    key=r"[A-Za-z0-9_.-]+",
