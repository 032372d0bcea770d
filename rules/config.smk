# What must be right before all else: the packages, and config.yaml, read strictly before Snakemake reads it: that one takes
# the last of two equal keys, and other encodings or too much depth end in a traceback.
import gc
import importlib.util
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

gc.disable()  # planning makes millions of objects that stay: a seventh of its time; Session.start enables it
ROOT = Path(workflow.basedir)
# The process of a job on a cluster's node works from the copy of the project that the job was planned with.
CODE = ROOT if workflow.is_main_process else Path(os.environ.get("FAIRFL_CODE", ROOT))
sys.path.insert(0, str(CODE / "src"))
import fairfl

# Its modules are found from here; nothing else that lies in src/ or in the root may stand for a library.
sys.path[:] = [
    folder for folder in sys.path if Path(folder).absolute() not in (CODE / "src", ROOT / "src", ROOT)
]

try:
    for name in (
        "torch",
        "pandas",
        "pyarrow",
        "seaborn",
        "fairfl.workflow.session",
        "fairfl.judgement.claims.preflight",
        "fairfl.planning.restriction",
    ):
        if not importlib.util.find_spec(name):
            raise ModuleNotFoundError(f"No module named {name!r}")
        if name.startswith("fairfl."):
            importlib.import_module(name)
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"{error} ({sys.executable}): `make setup` installs what is needed into .venv; then run .venv/bin/snakemake"
    ) from None
except SyntaxError as error:
    raise WorkflowError(f"{error.filename}, line {error.lineno}: SyntaxError: {error.msg}") from None

from fairfl.workflow.session import Session

session = Session(workflow, ROOT, CODE)
