"""CUDA graphs: on a CPU called; on a GPU, which a fake plays here, captured once and replayed on tensors that stay."""

import contextlib
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from fairfl.simulation.backends import cuda_graph, sequential, stacked_block
from fairfl.simulation.backends.cuda_graph import WARM_UP, CudaGraph, same_function
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from tests.unit.simulation.federations import image_clients, spec_of


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
        monkeypatch.setattr(cuda_graph.torch.cuda, name, fake)
    return log


def adder(state, calls):
    def body(value, missing):
        assert missing is None
        calls.append(1)
        state.add_(value)

    return body


def test_on_a_cpu_the_body_is_called():
    state, calls = torch.zeros(2), []
    run = CudaGraph(adder(state, calls), [state], torch.device("cpu"))
    run(torch.ones(2), None)
    run(torch.full((2,), 3.0), None)
    assert state.tolist() == [4.0, 4.0] and len(calls) == 2 and run.graph is None


def test_on_a_gpu_it_is_captured_once_and_sees_new_values(gpu):
    state, calls = torch.zeros(2), []
    run = gpu.owner = CudaGraph(adder(state, calls), [state], torch.device("cuda"))
    run(torch.ones(2), None)
    assert state.tolist() == [1.0, 1.0], "warm-up and capture leave no trace"
    run(torch.full((2,), 3.0), None)
    assert state.tolist() == [4.0, 4.0]
    assert (gpu.captured, gpu.replayed, len(calls)) == (1, 2, WARM_UP + 1 + 2)


def test_the_values_that_were_given_are_not_kept(gpu):
    state = torch.zeros(1)
    run = gpu.owner = CudaGraph(adder(state, []), [state], torch.device("cuda"))
    value = torch.ones(1)
    run(value, None)
    value.fill_(100.0)
    run(torch.ones(1), None)
    assert state.tolist() == [2.0]


def test_a_body_that_cannot_be_captured_is_called(gpu):
    state, calls = torch.zeros(1), []
    CudaGraph(adder(state, calls), [state], torch.device("cuda"), graph=False)(torch.ones(1), None)
    assert (gpu.captured, len(calls)) == (0, 1)


def scaled(loss, factor):
    return factor * loss


def test_a_partial_made_anew_of_the_same_objects_is_the_same():
    config = object()
    assert same_function(None, None) and same_function(scaled, scaled)
    assert same_function(partial(scaled, factor=config), partial(scaled, factor=config))
    assert same_function(partial(scaled, config), partial(scaled, config))
    assert same_function("x".join, "x".join), "bound methods"
    others = [None, scaled, partial(scaled), partial(scaled, config), partial(scaled, loss=config)]
    others += [partial(scaled, factor=object()), partial(print, factor=config)]
    made = partial(scaled, factor=config)
    for other in others:
        assert not same_function(made, other) and not same_function(other, made)
    # Equal tensors may become unequal, and comparing them would wait for a GPU.
    assert not same_function(partial(scaled, torch.ones(1)), partial(scaled, torch.ones(1)))


@pytest.mark.parametrize("name", ["stacked", "sequential"])
def test_a_captured_step_has_its_own_slope_and_leaves_no_trace_in_the_momentum(gpu, monkeypatch, name):
    """Rounds as a GPU runs them give what a CPU gives; only another slope is captured anew."""

    class OnGpu(CudaGraph):
        def __init__(self, body, state, device, graph=True):
            super().__init__(body, state, torch.device("cuda"), graph)

        def __call__(self, *tensors):
            gpu.owner = self
            super().__call__(*tensors)

    clients = image_clients([8, 8])
    spec = spec_of(model={"name": "mlp", "hidden": [5]})
    plain, x = make_backend(spec, clients, name, torch.device("cpu"))
    captured, _ = make_backend(spec, clients, name, torch.device("cpu"))
    captured.kind = "cuda"
    two, three, local = 2.0, 3.0, LocalTraining(2, 4, 3)
    captures = []
    for factor in (two, two, three, None):
        slope = factor and partial(scaled, factor=factor)  # made anew in every round, as algorithms do
        work = Work([0, 1], x.expand(2, -1), torch.tensor([0.1, 0.2]).double(), momentum=0.9, slope=slope)
        with monkeypatch.context() as patch:
            patch.setattr(stacked_block, "CudaGraph", OnGpu)
            patch.setattr(sequential, "CudaGraph", OnGpu)
            delta = captured.train(work, local, 0).delta
        assert torch.equal(delta, plain.train(work, local, 0).delta)
        captures.append(gpu.captured)
    assert captures == [1, 1, 2, 3]
