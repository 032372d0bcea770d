"""The workload without the runs that a budget has no room for. Cheap to import: the Snakefile does."""

import json
import os
import subprocess
import sys
from pathlib import Path

from fairfl.experiments.workload import Workload
from fairfl.runtime.errors import FairflError


def affordable(workload: Workload, root: Path) -> Workload:
    """With the jobs alone that are done or that the budget of the configuration buys (fairfl.planning.budget).

    Asks a separate process, because a Snakefile cannot be parsed while another one is; it says on stderr what it
    has chosen. Raises FairflError with what it reports.
    """
    config = workload.config.model_dump_json()
    done = asked("fairfl.planning.budget", "--config", config, "--root", str(root))
    print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
    return workload.restricted_to(frozenset(json.loads(done.stdout.strip().splitlines()[-1])))


def asked(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Output of a module of the package in a separate process. Raises FairflError with what it reports."""
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-P", "-m", module, *words],
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    if done.returncode:
        raise FairflError((done.stderr.strip() or done.stdout.strip()).rpartition("error: ")[2])
    return done
