"""What a call does around its jobs."""

import os
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from snakemake.exceptions import WorkflowError

from fairfl.experiments.config import Config
from fairfl.workflow import environment
from fairfl.workflow.session import Session


def test_a_page_that_cannot_be_made_takes_no_last_words():
    """They say what failed."""
    call = Mock(spec=Session, workload=None, root="root", results="results", summaries="results", display=None)
    call.server, call.graph, call.call = Mock(), Mock(), SimpleNamespace(left={})
    call.rerun = SimpleNamespace(stored_files=lambda names: {})
    with pytest.raises(ZeroDivisionError):
        Session.failure(call, lambda *_: 1 / 0)
    call._say_last_words.assert_called_once_with()


def test_jobs_draw_without_the_screen_of_a_notebook(tmp_path, monkeypatch):
    environ = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PATH": os.environ["PATH"]}
    monkeypatch.setattr(os, "environ", environ)
    environment.prepare(tmp_path, Config(scale="quick"))
    assert environ["MPLBACKEND"] == "agg"


def test_braces_in_the_path_are_refused(monkeypatch):
    """Snakemake would fail in the middle of planning, by an IndexError."""
    monkeypatch.setattr("fairfl.workflow.snakemake.is_main_process", lambda workflow: True)
    monkeypatch.setattr("fairfl.workflow.snakemake.display", lambda workflow: None)
    with pytest.raises(WorkflowError, match=r"/home/a\{0\}b: Snakemake takes braces for wildcards: rename the folder$"):
        Session(None, Path("/home/a{0}b"), Path("/home/a{0}b"))
