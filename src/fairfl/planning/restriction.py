"""The workload without the runs that a budget has no room for. Cheap to import: the Snakefile does."""

import json
import sys
from pathlib import Path

from fairfl.experiments.workload import Workload
from fairfl.runtime.processes import run_module


def affordable(workload: Workload, root: Path) -> Workload:
    """With the jobs alone that are done or that the budget of the configuration buys (fairfl.planning.budget).

    Asks a separate process, because a Snakefile cannot be parsed while another one is; it says on stderr what it
    has chosen. Raises FairflError with what it reports.
    """
    config = workload.config.model_dump_json()
    done = run_module("fairfl.planning.budget", "--config", config, "--root", str(root))
    print(done.stderr.strip().splitlines()[-1], file=sys.stderr)
    return workload.restricted_to(frozenset(json.loads(done.stdout.strip().splitlines()[-1])))
