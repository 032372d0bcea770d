# What all rules share: the validated workload, where files lie, and the interpreter that jobs use.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from fairfl.errors import FairflError
from fairfl.spec.layout import Layout
from fairfl.spec.workload import load_workload

try:
    workload = load_workload(ROOT, config)
except FairflError as error:
    raise WorkflowError(str(error)) from None
layout = Layout(workload)

RESULTS = layout.results
LOGS = f"{RESULTS}/logs"
MIRRORS = " ".join(f"--mirror {mirror!r}" for mirror in workload.config.mirrors)
# A job asks for a GPU only where there may be one; profiles limit how many run at once.
GPU = int(
    workload.config.device == "cuda" or (workload.config.device == "auto" and Path("/dev/nvidia0").exists())
)
OFFLINE = "--offline" if workload.config.offline else ""

# Jobs run `python -m fairfl...` of this checkout with this interpreter; an activated conda environment
# puts its own python in front of it.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


# glibc returns large blocks to the system at once and faults them in again at the next step. Keeping them makes
# convolutions 1.4 x faster and changes no number.
for _name, _bytes in (("MMAP_THRESHOLD", 2**30), ("TRIM_THRESHOLD", 2**30), ("TOP_PAD", 2**26)):
    os.environ.setdefault(f"MALLOC_{_name}_", str(_bytes))


wildcard_constraints:
    setting=r"[A-Za-z0-9_.~=,+-]+",
    algorithm=r"[a-z0-9_]+",
    arm=r"[A-Za-z0-9_.=,+-]+",
    seed=r"\d+",
    client=r"\d+",
    paper=r"[a-z0-9]+",
    key=r"[A-Za-z0-9_.-]+",
