"""The frame around commands: one line per failure, exit codes, leaving at once."""

import signal
import subprocess
import sys

import pytest

from fairfl.runtime import cli
from fairfl.runtime.errors import DataError, FairflError, OptionError, SourceError

FRAME = """import atexit, os, signal, sys
from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError
"""


@pytest.fixture(autouse=True)
def keep_sigterm():
    old = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, old)


def command(body: str, call: str = "cli.run(main)"):
    """A command in a process."""
    code = f"{FRAME}def main(argv):\n    {body}\n{call}"
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=600)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        *(
            (kind("a: is wrong"), 1, "error: a: is wrong\n")
            for kind in (FairflError, OptionError, DataError, SourceError)
        ),
        (PermissionError(13, "Permission denied", "x/y"), 1, "error: x/y: Permission denied\n"),
        (OSError("odd"), 1, "error: odd\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_expected_error_is_one_line(error, code, said, capsys):
    def main(argv):
        assert argv is None
        raise error

    with pytest.raises(SystemExit) as stop:
        cli.run(main)
    assert (stop.value.code, capsys.readouterr().err) == (code, said)


@pytest.mark.parametrize("lines", [1, 10**6])
def test_a_reader_that_has_enough_ends_it_silently(lines):
    code = f"{FRAME}def main(argv):\n    sys.stdin.read()\n    print('a line\\n' * {lines})\ncli.run(main)"
    started = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    started.stdout.close()
    started.stdin.close()
    assert started.stderr.read() == b"" and started.wait() == 141


def test_a_bug_keeps_its_traceback():
    def main(argv):
        raise KeyError("bug")

    with pytest.raises(KeyError):
        cli.run(main)
    done = command("1 / 0", "cli.run(main, teardown=False)")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_leaving_at_once_keeps_what_was_printed_and_skips_the_teardown():
    body = "atexit.register(print, 'torn down'); print('result'); print('note', file=sys.stderr)"
    at_once = command(body, "cli.run(main, teardown=False)")
    assert (at_once.returncode, at_once.stdout, at_once.stderr) == (0, "result\n", "note\n")
    assert command(body).stdout == "result\ntorn down\n"
    failed = command("atexit.register(print, 'x'); raise FairflError('a: is wrong')", "cli.run(main, teardown=False)")
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", "error: a: is wrong\n")


def test_sigterm_leaves_no_half_file(tmp_path):
    body = f"""with atomic.replacing({str(tmp_path / "x")!r}) as temp:
        temp.write_text('half'); os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()"""
    assert command(body).returncode == 143
    assert list(tmp_path.iterdir()) == []
