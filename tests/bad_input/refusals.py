"""What a refusal is: an expected error, one line per problem, with the words that lead out."""

import signal
from pathlib import Path

import pytest
import yaml

from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError

LONGEST = 700
MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8"))


def check_lines(message, words, begins=""):
    """`begins`: how every line begins, if the error may have several."""
    lines = message.split("\n") if begins else [message]
    for line in lines:
        assert line.startswith(begins) and 0 < len(line) <= LONGEST, line[:200]
        assert "\n" not in line and "\r" not in line, message[:200]
    for word in words:
        assert word in message, message[:LONGEST]


def refused(call, *words, begins=""):
    with pytest.raises((FairflError, OSError)) as error:
        call()
    check_lines(str(error.value), words, begins)


def command_refused(main, argv, capsys, *words, code=1):
    """Run a command as `python -m` does; it must say why in `error:` lines and leave."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.run(lambda _: main([str(word) for word in argv]))
    finally:
        signal.signal(signal.SIGTERM, before)
    said = capsys.readouterr()
    assert stopped.value.code == code, said.err
    last = said.err.strip().split("\n")[-1] if code == 2 else said.err.removeprefix("error: ").rstrip("\n")
    assert "Traceback" not in said.out + said.err
    check_lines(last, words)


def names(folder):
    """Everything below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
