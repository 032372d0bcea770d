"""Programs: called on a CPU; on a GPU captured once and replayed on tensors that stay. The GPU is played by a fake."""

import contextlib
from types import SimpleNamespace

import pytest
import torch

from fairfl.engine import program
from fairfl.engine.program import WARM_UP, Program


@pytest.fixture
def gpu(monkeypatch):
    """CUDA graphs that remember the body's calls; `gpu.captured` counts captures, `gpu.replayed` replays."""
    log = SimpleNamespace(captured=0, replayed=0, owner=None)

    class Graph:
        def replay(self):
            log.replayed += 1
            log.owner.body(*log.owner.inputs)

    @contextlib.contextmanager
    def graph(_):
        log.captured += 1
        yield

    stream = SimpleNamespace(wait_stream=lambda other: None)
    for name, fake in {
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": lambda _: contextlib.nullcontext(),
        "CUDAGraph": Graph,
        "graph": graph,
    }.items():
        monkeypatch.setattr(program.torch.cuda, name, fake)
    return log


def adder(state, calls):
    def body(value, missing):
        assert missing is None
        calls.append(1)
        state.add_(value)

    return body


def test_on_a_cpu_the_body_is_called():
    state, calls = torch.zeros(2), []
    run = Program(adder(state, calls), [state], torch.device("cpu"))
    run(torch.ones(2), None)
    run(torch.full((2,), 3.0), None)
    assert state.tolist() == [4.0, 4.0] and len(calls) == 2 and run.graph is None


def test_on_a_gpu_it_is_captured_once_and_sees_new_values(gpu):
    state, calls = torch.zeros(2), []
    run = gpu.owner = Program(adder(state, calls), [state], torch.device("cuda"))
    run(torch.ones(2), None)
    assert state.tolist() == [1.0, 1.0], "warm-up and capture leave no trace"
    run(torch.full((2,), 3.0), None)
    assert state.tolist() == [4.0, 4.0]
    assert (gpu.captured, gpu.replayed, len(calls)) == (1, 2, WARM_UP + 1 + 2)


def test_the_values_that_were_given_are_not_kept(gpu):
    state = torch.zeros(1)
    run = gpu.owner = Program(adder(state, []), [state], torch.device("cuda"))
    value = torch.ones(1)
    run(value, None)
    value.fill_(100.0)
    run(torch.ones(1), None)
    assert state.tolist() == [2.0]


def test_a_body_that_cannot_be_captured_is_called(gpu):
    state, calls = torch.zeros(1), []
    Program(adder(state, calls), [state], torch.device("cuda"), graph=False)(torch.ones(1), None)
    assert (gpu.captured, len(calls)) == (0, 1)
