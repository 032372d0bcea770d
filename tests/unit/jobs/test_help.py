"""`python -m fairfl.jobs.<X> --help` says what the job is for."""

import ast
import runpy
import sys
from pathlib import Path

import pytest

from fairfl import jobs

MODULES = {path.stem: path.read_text() for path in Path(jobs.__path__[0]).glob("*.py")}
JOBS = sorted(set(MODULES) - {"__init__", "job", "summary", "own_data", "try_model", "reproduction"})


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")
@pytest.mark.parametrize("name", JOBS)
def test_the_first_sentence_of_its_module_is_in_the_help(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit):
        runpy.run_module(f"fairfl.jobs.{name}", run_name="__main__", alter_sys=True)
    first = str(ast.get_docstring(ast.parse(MODULES[name]))).partition("\n\n")[0]
    assert "".join(first.split()) in "".join(capsys.readouterr().out.split())  # lines break at hyphens, too
