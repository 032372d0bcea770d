"""The environment that jobs inherit from the workflow: interpreter, package, memory allocator, GPU."""

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from fairfl.experiments.config import Config
from fairfl.experiments.declaration import declaration
from fairfl.experiments.workload import Workload
from fairfl.runtime import gpu_slots, sealed
from fairfl.runtime.errors import FairflError
from fairfl.workflow.code_hash import closure
from fairfl.workflow.graph import Job


def prepare(code: Path, config: Config) -> None:
    """Make `python -P -m fairfl...` in a job mean this interpreter and the package in `code`.

    An activated conda environment still puts its own python in front. Models that come as files lie beside the data.
    """
    os.environ["FAIRFL_DATA_FOLDER"] = config.data_folder
    os.environ.pop(gpu_slots.LIMIT, None)
    if config.runs_per_gpu is not None:
        os.environ[gpu_slots.LIMIT] = str(config.runs_per_gpu)
    os.environ["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), *filter(None, [os.environ.get("PATH")])]
    )
    os.environ["MPLBACKEND"] = "agg"  # a notebook's own draws in the notebook
    run_from(code)
    # glibc returns large blocks to the system at once and faults them in again at the next step. Keeping them makes
    # convolutions up to 1.4 x faster and changes no number.
    for name, size in (("MMAP_THRESHOLD", 2**30), ("TRIM_THRESHOLD", 2**30), ("TOP_PAD", 2**26)):
        os.environ.setdefault(f"MALLOC_{name}_", str(size))


def run_from(code: Path) -> None:
    """Let jobs import from this copy of the project, and from nowhere else but the interpreter's own libraries."""
    os.environ[sealed.VARIABLE] = str(code.absolute())
    os.environ["PYTHONPATH"] = str(code.absolute() / "src")
    # The order of a set of words is part of what a plug-in computes with.
    os.environ["PYTHONHASHSEED"] = "0"


def check_places(jobs: Iterable[Job]) -> None:
    """Raises FairflError if a file lies where a folder of the jobs' results belongs, or a folder in a file's place."""
    files = {
        path for job in jobs for path in (*job.outputs, job.record, job.log, f"{job.results}.lock")
    }
    folders = {str(above) for path in files for above in Path(path).parents}
    for path in sorted(files | folders):
        if os.path.exists(path) and os.path.isdir(path) == (path in files):
            actual, due = ("file", "folder") if path in folders else ("folder", "file")
            raise FairflError(
                f"{path} is a {actual}, where a {due} of results belongs: move it away"
            )


def preloaded(workload: Workload, jobs: Iterable[Job]) -> list[str]:
    """List what a start server imports for these jobs: LIBRARIES of the workflow's models, as far as these are there,
    and the modules that all jobs of a rule run, so no plug-in that only some name.
    """
    models = {workload.settings[run.setting].model.name for run in workload.runs}
    libraries = {
        name for model in models for name in getattr(declaration("models", model), "LIBRARIES", ())
    }
    installed = {name for name in libraries if importlib.util.find_spec(name.partition(".")[0])}
    code = {name for rule in {job.rule for job in jobs} for name in closure(f"fairfl.jobs.{rule}")}
    return sorted(installed) + sorted(name for name in code if "/" not in name)


def gpus_per_job(config: Config) -> int:
    """1 where a job may meet a GPU, else 0. Profiles limit how many such jobs run at once.

    Raises FairflError if CUDA_VISIBLE_DEVICES makes no sense.
    """
    return int(config.device == "cuda" or (config.device == "auto" and bool(gpu_slots.visible())))
