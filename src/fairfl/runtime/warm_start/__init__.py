"""Warm starts: a job takes over a process that has torch imported, instead of importing it for two seconds.

`python -m fairfl.runtime.warm_start MODULE ...` (the client) does what `python -m MODULE ...` does. `launch` starts the
server of a workflow; `server` forks a ready process per job. This file is what client and server share.
"""

import os
import sys

from fairfl.runtime import cluster

VARIABLE = "FAIRFL_START_SERVER"  # path of the server's socket
# Messages to the client: STARTED from the job before its first line of code, then its wait status in four bytes.
STARTED = b"+"

# What the interpreter, the loader, the allocator and the number libraries read once. Thread numbers are not among
# these: they differ between rules, and jobs set them themselves.
_READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "MALLOC_", "MKL_", "OMP_", "KMP_", "ATEN_", "TORCH_", "PYTORCH_")


def identity() -> tuple:
    """What a process has from its start and cannot change: one can stand in for another if this is equal.

    Raises OSError where there is no /proc.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        # A cluster's job has limits of its own (memory, cores, GPUs), which nothing may leave.
        if name in cluster.VARIABLES or (name.startswith(_READ_AT_START) and not name.endswith("_NUM_THREADS"))
    }
    # The mount namespace tells a container from its host.
    namespace = os.readlink("/proc/self/ns/mnt")
    return sys.version, tuple(sys.flags), sys.prefix, __file__, os.geteuid(), namespace, environment
