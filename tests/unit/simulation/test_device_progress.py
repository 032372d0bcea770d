"""Choice of the device, and the line that a run prints about its progress."""

import os
from types import SimpleNamespace

import pytest
import torch

from fairfl.runtime.errors import FairflError
from fairfl.simulation import device, progress


@pytest.fixture
def gpu(monkeypatch):
    """Say whether there is a GPU; torch's global switches are put back afterwards."""
    threads, mode = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    fill = torch.utils.deterministic.fill_uninitialized_memory
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    # The machine's own GPUs, if it has some, are for its jobs.
    monkeypatch.setattr(device.gpu_slots, "take", lambda alone: None)
    yield lambda there: monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    torch.set_num_threads(threads)
    torch.set_deterministic_debug_mode(mode)
    torch.utils.deterministic.fill_uninitialized_memory = fill


@pytest.mark.parametrize(
    ("name", "there", "kind"),
    [("auto", False, "cpu"), ("auto", True, "cuda"), ("cpu", True, "cpu"), ("cuda", True, "cuda")],
)
def test_auto_takes_the_gpu_that_is_there(gpu, name, there, kind):
    gpu(there)
    assert device.choose(name, 1).type == kind


@pytest.mark.parametrize("name", ["auto", "cuda"])
@pytest.mark.parametrize("alone", [False, True])
def test_a_gpu_is_taken_before_torch_looks_for_one(gpu, monkeypatch, name, alone):
    done = []
    monkeypatch.setattr(device.gpu_slots, "take", lambda alone: done.append(("take", alone)))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: done.append("look") or True)
    device.choose(name, 1, alone=alone)
    assert done[:2] == [("take", alone), "look"] and done.count(("take", alone)) == 1


def test_a_run_on_a_cpu_takes_no_gpu(gpu, monkeypatch):
    monkeypatch.setattr(device.gpu_slots, "take", lambda alone: pytest.fail("a GPU is taken"))
    gpu(True)
    assert device.choose("cpu", 1).type == "cpu"


def test_cuda_without_a_gpu_names_the_key(gpu):
    gpu(False)
    with pytest.raises(FairflError, match="config.yaml: device: 'cuda'.*no GPU.*'auto' or 'cpu'"):
        device.choose("cuda", 1)


def test_threads_and_deterministic_arithmetic_are_set(gpu):
    gpu(False)
    torch.set_deterministic_debug_mode("default")
    device.choose("cpu", 3)
    assert torch.get_num_threads() == 3
    assert torch.are_deterministic_algorithms_enabled()
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_a_workspace_that_the_user_chose_stays(gpu, monkeypatch):
    gpu(False)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    device.choose("cpu", 1)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


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


def test_a_resumed_run_counts_only_its_own_rounds(clock, capsys):
    shown = progress.Progress(100, str, start=80)
    clock.now += 5
    shown.step(90)
    assert "2.0 rounds/s" in (line := capsys.readouterr().out) and "  5 s to go" in line


def test_no_round_done_gives_no_time_to_go(clock, capsys):
    progress.Progress(10, str).step(0, force=True)
    assert "inf s to go" in capsys.readouterr().out


def test_a_terminal_has_one_line_that_is_rewritten(clock, capsys, monkeypatch):
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    shown = progress.Progress(2, str)
    shown.step(1, force=True)
    shown.step(2, force=True)
    text = capsys.readouterr().out
    assert text.count("\r") == 2 and text.count("\n") == 1 and text.endswith("\n")
