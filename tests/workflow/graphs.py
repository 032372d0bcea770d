"""The rules of the real Snakefile, parsed in this process: the graph of a workload that a test has made, and plans."""

import contextlib
import gc
import json
import os
from pathlib import Path
from unittest import mock

import yaml

from fairfl.experiments.workload import Workload
from fairfl.planning import plan
from fairfl.workflow import snakemake
from fairfl.workflow.graph import Graph
from tests.defaults import usual_config

ROOT = Path(__file__).resolve().parents[2]


def graph_of(workload: Workload) -> Graph:
    """As the Snakefile makes it. Nothing of this process is changed."""
    with (
        contextlib.chdir(ROOT),
        mock.patch.dict(os.environ),
        mock.patch("fairfl.workflow.session.load_workload", lambda *_: workload),
        mock.patch("fairfl.workflow.session.usual_config", usual_config),
        mock.patch("fairfl.judgement.claims.preflight.check", lambda _: None),
        mock.patch("fairfl.judgement.claims.preflight.check_printed", lambda _: None),
    ):
        try:
            return snakemake.parsed(ROOT, {"scale": workload.scale.scale})["graph"]
        finally:
            gc.enable()


def printed_plan(folder: Path, capsys, **config) -> str:
    """What `fairfl plan` prints in a copy of the project. Nothing of this process is changed."""
    with contextlib.chdir(folder), mock.patch.dict(os.environ):
        asked = yaml.safe_load(Path("config.yaml").read_text()) | config
        plan.main(["--config", json.dumps(asked), "--root", "."])
    return capsys.readouterr().out
