"""python -m fairfl.workflow.calibrations: why a choice that `calibrated: true` runs with is not today's.

Such a choice is read when the workflow is planned, so it must have been made before, from the grid, the code and the
numbers of today. The graph without `calibrated` says whether its jobs would run. Prints nothing if all is well.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from fairfl.experiments.workload import Workload
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import from_text
from fairfl.workflow import snakemake
from fairfl.workflow.recorded import rerun_of


def check(workload: Workload, root: Path) -> None:
    """Raises FairflError if a choice that the workload runs with is not today's.

    Asks a process of its own, because a Snakefile cannot be parsed while another one is.
    """
    command = [sys.executable, "-m", "fairfl.workflow.calibrations", "--config", workload.config.model_dump_json()]
    command += ["--root", str(root), "--settings", *workload.calibrated]
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, text=True, capture_output=True, env=os.environ | {"PYTHONPATH": path})
    if done.returncode:
        raise FairflError((done.stderr.strip() or done.stdout.strip()).rpartition("error: ")[2])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.workflow.calibrations", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    parser.add_argument("--settings", required=True, nargs="+")
    args = parser.parse_args(argv)
    config = from_text(args.config, dict, "--config") | {"calibrated": False}
    graph = snakemake.parsed(args.root, config)["graph"]
    rerun = rerun_of(graph)
    for setting in args.settings:
        if reason := rerun.verdict(f"calibrate/{setting}").reason:
            raise FairflError(
                f"config.yaml: calibrated: true: the choice for {setting} is not today's ({reason}): run "
                f"`snakemake calibrated` with the same configuration first (`make calibrated` does both)"
            )


if __name__ == "__main__":
    cli.run(main)
