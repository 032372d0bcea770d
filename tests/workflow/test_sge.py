"""profiles/sge with a stand-in for Grid Engine that passes no variables on: jobs find the sealed code."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.workflow.small_project import Project

pytestmark = [pytest.mark.long, pytest.mark.workflow, pytest.mark.xdist_group("workflow")]
pytest.importorskip("snakemake_executor_plugin_cluster_generic", reason="that plugin is not installed")

SETTING = "eagle_synthetic_gaussian"
RUN = f"results/tiny/runs/{SETTING}/fedavg/default/seed0"
QSUB = """#!{python}
import os, subprocess, sys
spool, number = "{spool}", str(os.getpid())
open(spool + "/calls", "a").write(" ".join(sys.argv[1:]) + "\\n")
run = "sh " + sys.argv[-1] + "; echo $? > " + spool + "/" + number
environment = dict(PATH="/usr/bin:/bin", HOME=os.environ["HOME"], JOB_ID=number)
out = open(spool + "/" + number + ".log", "wb")
subprocess.Popen(["sh", "-c", run], env=environment, stdin=-3, stdout=out, stderr=out, start_new_session=True)
print(number)
"""
QSTAT = '#!/bin/sh\n[ ! -e "{spool}/$2" ] || {{ echo Following jobs do not exist: $2; exit 1; }}\n'
QACCT = '#!/bin/sh\necho failed 0; echo exit_status $(cat "{spool}/$2")\n'


@pytest.fixture
def engine(tmp_path) -> Path:
    """Folder with its commands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("qsub", QSUB), ("qstat", QSTAT), ("qacct", QACCT), ("qdel", "#!/bin/sh\n")):
        (folder / name).write_text(text.format(python=sys.executable, spool=folder))
        (folder / name).chmod(0o755)
    return folder


def test_jobs_run_from_the_sealed_code_and_ask_for_their_share(finished, engine, tmp_path):
    project: Project = finished.copy(tmp_path / "project")
    metrics = project.folder / RUN / "metrics.parquet"
    before = metrics.read_bytes()
    metrics.unlink()
    # What is edited once jobs are planned must reach none of them: the copy is in the command.
    project.edit(
        "profiles/sge/profile.yaml", "qsub -terse", "echo 'raise SystemExit(9)' > src/fairfl/jobs/train.py; qsub -terse"
    )
    path = f"{engine}{os.pathsep}{os.environ['PATH']}"
    options = ("--workflow-profile", "profiles/sge", "--retries", "0", "--latency-wait", "5")
    done = project.snakemake(*options, f"{RUN}/metrics.parquet", check=False, PATH=path)
    logs = "\n".join(log.read_text() for log in engine.glob("*.log"))
    assert done.returncode == 0, done.stdout + logs
    assert metrics.read_bytes() == before
    (call,) = (engine / "calls").read_text().splitlines()
    assert re.search(r" -pe smp 1 -l h_rt=\d+00,mem_free=\d+M ", call), call
