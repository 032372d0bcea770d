# config.yaml, read strictly before Snakemake reads it: that one takes the last of two equal keys, and other encodings or
# too much depth end in a traceback.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from fairfl.runtime.errors import FairflError
from fairfl.experiments.strict import load

try:
    load(Path("config.yaml"))
except FairflError as error:
    raise WorkflowError(str(error)) from None
