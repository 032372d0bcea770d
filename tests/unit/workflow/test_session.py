"""What a call does around its jobs."""

import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from snakemake.exceptions import WorkflowError

from fairfl.experiments.config import Config
from fairfl.runtime.errors import FairflError
from fairfl.workflow import environment
from fairfl.workflow.session import Session


def test_a_page_that_cannot_be_made_takes_no_last_words():
    """They say what failed."""
    call = Mock(spec=Session, display=None, server=Mock())
    call._write_page_of_rest.side_effect = lambda write_page: write_page()
    with pytest.raises(ZeroDivisionError):
        Session.failure(call, lambda: 1 / 0)
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


def test_a_refusal_leaves_no_bars_below_it():
    call = Mock(spec=Session, display=Mock())
    with pytest.raises(WorkflowError, match="^another workflow runs here$"), Session._refusals(call):
        raise FairflError("another workflow runs here")
    call.display.stop.assert_called_once_with()
