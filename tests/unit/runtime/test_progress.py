"""The line that a run prints about its progress."""

from types import SimpleNamespace

import pytest

from fairfl.runtime import progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves by `clock.now = ...`."""
    time = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: time.now))
    return time


def test_a_log_line_says_where_the_run_stands(clock, capsys):
    shown = progress.Progress(100, lambda: "loss 0.5123  accuracy 0.9000 worst 0.7500")
    clock.now += 10
    shown.step(20)
    expected = "round 20/100  2.0 rounds/s  loss 0.5123  accuracy 0.9000 worst 0.7500  40 s to go\n"
    assert capsys.readouterr().out == expected


def test_a_line_is_printed_once_an_interval_and_at_the_end(clock, capsys):
    shown = progress.Progress(100, str)
    for done in range(1, 100):
        clock.now += 1
        shown.step(done)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"round {n}/100" for n in range(5, 100, 5)]
    shown.step(100, force=True)
    assert capsys.readouterr().out.startswith("round 100/100") and clock.now == 199


def test_a_terminal_has_one_line_that_is_rewritten(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    shown = progress.Progress(2, str)
    shown.step(1, force=True)
    shown.step(2, force=True)
    text = capsys.readouterr().out
    assert text.count("\r") == 2 and text.count("\n") == 1 and text.endswith("\n")
