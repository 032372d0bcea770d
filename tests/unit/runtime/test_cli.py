"""The frame around commands: one line per failure, exit codes, leaving at once."""

import subprocess
import sys

import pytest

FRAME = "import sys, atexit\nfrom fairfl.runtime import cli\nfrom fairfl.runtime.errors import FairflError\n"


def command(body: str, call: str = "cli.run(main)"):
    code = f"{FRAME}def main(argv):\n    {body}\n{call}"
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise FairflError('what is wrong')", "error: what is wrong\n"),
        ("open('/nowhere/at/all')", "error: /nowhere/at/all: No such file or directory\n"),
    ],
)
@pytest.mark.parametrize("call", ["cli.run(main)", "cli.run(main, teardown=False)"])
def test_a_failure_is_one_line_and_exit_code_1(body, message, call):
    done = command(body, call)
    assert (done.returncode, done.stderr) == (1, message)


def test_a_bug_keeps_its_traceback():
    done = command("1 / 0", "cli.run(main, teardown=False)")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_ctrl_c_exits_with_130():
    assert command("raise KeyboardInterrupt").returncode == 130


def test_leaving_at_once_keeps_what_was_printed_and_skips_the_teardown():
    body = "atexit.register(print, 'torn down'); print('result'); print('note', file=sys.stderr)"
    at_once = command(body, "cli.run(main, teardown=False)")
    assert (at_once.returncode, at_once.stdout, at_once.stderr) == (0, "result\n", "note\n")
    assert command(body).stdout == "result\ntorn down\n"
