"""True if this process belongs to a job of a cluster's scheduler. Costs nothing to import."""

import os

# Slurm, LSF, PBS, Grid Engine.
VARIABLES = ("SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID", "JOB_ID")


def job() -> str | None:
    """Id of the cluster job; None outside of one."""
    return next((os.environ[name] for name in VARIABLES if os.environ.get(name)), None)
