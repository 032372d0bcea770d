"""The graph of a workload that a test has made: the rules of the real Snakefile, parsed in this process."""

import contextlib
import gc
import os
from pathlib import Path
from unittest import mock

from fairfl.experiments.workload import Workload
from fairfl.workflow import snakemake
from fairfl.workflow.graph import Graph

ROOT = Path(__file__).resolve().parents[2]


def graph_of(workload: Workload) -> Graph:
    """As the Snakefile makes it. Nothing of this process is changed."""
    with (
        contextlib.chdir(ROOT),
        mock.patch.dict(os.environ),
        mock.patch("fairfl.workflow.session.load_workload", lambda *_: workload),
        mock.patch("fairfl.judgement.claims.preflight.check", lambda _: None),
    ):
        try:
            return snakemake.parsed(ROOT, {"scale": workload.scale.scale})["graph"]
        finally:
            gc.enable()
