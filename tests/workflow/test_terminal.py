"""What a real run shows: on a terminal, in a pipe, when a job fails."""

import os
import pty
import re
import subprocess
import sys

import pytest

from tests.workflow.small_project import LINES

pytestmark = [pytest.mark.workflow, pytest.mark.xdist_group("terminal")]


def rebuild(project) -> None:
    """Something to do that takes seconds."""
    (project.folder / "results/tiny/eagle/table1.csv").unlink()
    (project.folder / "results/tiny/comparison.csv").unlink()


def on_a_terminal(project) -> tuple[int, str]:
    """Exit code and all that Snakemake writes to a terminal of 100 columns."""
    main, other = pty.openpty()
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--config", *project.selection]
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NO_COLOR", "TERM")}
    environment = inherited | {"COLUMNS": "100", "LINES": "40", "TERM": "xterm-256color"}
    process = subprocess.Popen(command, cwd=project.folder, stdout=other, stderr=other, stdin=other, env=environment)
    os.close(other)
    parts = []
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(main)
    return process.wait(300), b"".join(parts).decode(errors="replace").replace("\r\n", "\n")


def test_a_pipe_gets_few_lines_and_the_page(project):
    project.edit("src/fairfl/metrics/fairness.py", '"""', '"""Other words.')
    rebuild(project)
    dry = project.snakemake("--dry-run").stdout
    assert len(dry.splitlines()) < 15 and "1 table  a file is missing" in dry, dry
    assert "Building DAG of jobs" in project.snakemake("--dry-run", **LINES).stdout  # for who asks
    said = project.snakemake().stdout
    lines = said.splitlines()
    assert "\x1b" not in said and "\r" not in said and len(lines) < 12, said
    assert any(line.startswith("to do: 1 table, 1 comparison") for line in lines), said
    assert lines[-2] == f"page: {(project.folder.resolve() / 'results/tiny/index.html').as_uri()}"
    assert lines[-1].startswith("next: ")
    for noise in ("Building DAG", "Select jobs", "Execute", "localrule", "shared filesystem", "jobid"):
        assert noise not in said
    *_, nothing, where = project.snakemake().stdout.splitlines()
    assert nothing.startswith("Nothing to be done") and where == lines[-2]
    assert project.snakemake("eagle_table1").stdout.splitlines()[-1].endswith("results/tiny/eagle/table1.md")


def test_a_terminal_shows_coloured_bars_while_it_runs(project):
    rebuild(project)
    code, said = on_a_terminal(project)
    assert code == 0 and "━" in said and "about" not in said.splitlines()[-1], said
    assert re.search(r"\x1b\[[0-9;]+m", said) and "\x1b[?25h" in said  # the cursor is back
    assert any(line.endswith("/results/tiny/index.html") for line in said.splitlines()[-5:])


def test_the_log_of_a_job_that_fails_is_the_last_thing_on_the_screen(project):
    project.edit(
        "src/fairfl/jobs/table.py",
        "def main(",
        "def main(argv=None):\n    raise FairflError('no luck')\n\n\ndef other(",
    )
    project.edit("src/fairfl/jobs/table.py", '"""\n', '"""\nfrom fairfl.runtime.errors import FairflError\n')
    done = project.snakemake(check=False)
    lines = done.stdout.splitlines()
    assert done.returncode
    first = r"failed: eagle Table \d \(2 of [\d,]+ jobs failed, [\d,]+ did not run\)"
    assert re.match(first, lines[-5]), done.stdout
    assert lines[-4].endswith("| error: no luck")
    assert re.fullmatch(r"   1 more in the same way: eagle Table \d", lines[-3])
    assert re.fullmatch(r"   log: results/tiny/logs/table/eagle/table\d\.log", lines[-2])
    command = lines[-1].removeprefix("   it alone: ")
    assert " --cores 1 --config scale=tiny " in command and command.endswith(".csv")
    assert "{" not in done.stdout  # no spec on the screen
