import os
import signal
import subprocess
import sys

import pytest

from fairfl.runtime import cli
from fairfl.runtime.errors import DataError, FairflError, OptionError, SourceError


@pytest.fixture(autouse=True)
def keep_sigterm():
    old = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, old)


def outcome(error, capsys):
    def main(argv):
        assert argv is None
        raise error

    with pytest.raises(SystemExit) as stop:
        cli.run(main)
    return stop.value.code, capsys.readouterr().err


@pytest.mark.parametrize("kind", [FairflError, OptionError, DataError, SourceError])
def test_expected_errors_are_one_line(kind, capsys):
    assert outcome(kind("a: is wrong"), capsys) == (1, "error: a: is wrong\n")


def test_os_errors_name_the_file(capsys):
    error = PermissionError(13, "Permission denied", "x/y")
    assert outcome(error, capsys) == (1, "error: x/y: Permission denied\n")
    assert outcome(OSError("odd"), capsys) == (1, "error: odd\n")


def test_interrupt_is_silent(capsys):
    assert outcome(KeyboardInterrupt(), capsys) == (130, "")


def test_bugs_keep_their_traceback():
    def main(argv):
        raise KeyError("bug")

    with pytest.raises(KeyError):
        cli.run(main)


def test_option_errors_are_value_errors():
    assert issubclass(OptionError, ValueError)
    assert issubclass(OptionError, FairflError)


def test_sigterm_cleans_up(tmp_path):
    code = (
        "import os, signal\nfrom fairfl.runtime import atomic, cli\n"
        "def main(argv):\n"
        f"    with atomic.replacing({str(tmp_path / 'x')!r}) as temp:\n"
        "        temp.write_text('half'); os.kill(os.getpid(), signal.SIGTERM)\n"
        "        signal.pause()\n"
        "cli.run(main)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, timeout=20)
    assert done.returncode == 143
    assert list(tmp_path.iterdir()) == []
