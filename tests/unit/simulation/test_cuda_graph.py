"""CUDA graphs: on a CPU called; on a GPU, which a fake plays here, captured once and replayed on tensors that stay."""

import contextlib
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from fairfl.modifiers.dp import Config as DpConfig
from fairfl.modifiers.dp import NoisyGradients
from fairfl.simulation.backends import batches, cuda_graph, sequential, stacked_block
from fairfl.simulation.backends.cuda_graph import WARM_UP, CudaGraph, Recent, same_function
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from tests.unit.simulation.federations import close, image_clients, spec_of


class FakeGpu:
    """CUDA graphs on the CPU that replay the body's calls. `captured` and `replayed` count."""

    def __init__(self, patch):
        self.captured = self.replayed = 0
        self.fails = False
        self.registered, self.ended = [], []
        self.current = self.default = SimpleNamespace(wait_stream=lambda other: None)
        self.generator = torch.Generator().manual_seed(0)
        for name, fake in {
            "Stream": lambda device: SimpleNamespace(wait_stream=lambda other: None, device=CPU),
            "current_stream": lambda device=None: self.current,
            "set_stream": lambda stream: setattr(self, "current", stream),
            "stream": self.on,
            "graph_pool_handle": object,
            "CUDAGraph": self.made,
            "graph": self.capture,
            "memory_reserved": lambda device: 0,
            "default_generators": [self.generator],
            "is_initialized": lambda: True,
        }.items():
            patch.setattr(cuda_graph.torch.cuda, name, fake)
        patch.setattr(cuda_graph.torch._C, "_cuda_clearCublasWorkspaces", lambda: None, raising=False)
        patch.setattr(cuda_graph.torch._C, "_cuda_endAllocateToPool", lambda *of: self.ended.append(of), raising=False)

    def made(self):
        gpu = self

        class Graph:
            def replay(self):
                gpu.replayed += 1
                self.owner.body(*self.owner.inputs)

            def register_generator_state(self, generator):
                gpu.registered.append(generator)

        return Graph()

    @contextlib.contextmanager
    def on(self, stream):
        before, self.current = self.current, stream
        yield
        self.current = before

    @contextlib.contextmanager
    def capture(self, graph, pool, stream):
        self.captured += hasattr(graph, "owner")  # and not the one that keeps the pool
        self.current = stream
        try:
            yield
        finally:
            if self.fails:  # torch's own does not put the stream back then
                raise RuntimeError("operation failed due to a previous error during capture\nand a hint")
        self.current = self.default

    def program(self, *args, **kwargs):
        return OnGpu(*args, **kwargs)


class OnGpu(CudaGraph):
    """Thinks that it is on a GPU."""

    def __init__(self, body, state, device, graph=True, generators=()):
        super().__init__(body, state, torch.device("cuda"), graph, generators)

    def __call__(self, *arguments):
        if self.captures and self.graph is None and cuda_graph.usage() == "on":
            cuda_graph._shared(self.device)
            made = torch.cuda.CUDAGraph

            def owned():
                graph = made()
                graph.owner = self
                return graph

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(cuda_graph.torch.cuda, "CUDAGraph", owned)
                super().__call__(*arguments)
        else:
            super().__call__(*arguments)


@pytest.fixture
def gpu(monkeypatch):
    cuda_graph.allow("auto")
    yield FakeGpu(monkeypatch)
    cuda_graph.allow("auto")


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
    run = gpu.program(adder(state, calls), [state], torch.device("cuda"))
    run(torch.ones(2), None)
    assert state.tolist() == [1.0, 1.0], "warm-up and capture leave no trace"
    run(torch.full((2,), 3.0), None)
    assert state.tolist() == [4.0, 4.0]
    assert (gpu.captured, gpu.replayed, len(calls)) == (1, 2, WARM_UP + 1 + 2)


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


def work(x, clients, **more):
    return Work(list(range(clients)), x.expand(clients, -1), torch.full((clients,), 0.1, dtype=torch.float64), **more)


def sequential_on(gpu, monkeypatch, counts, **changes):
    """A sequential backend that takes the way of a GPU."""
    monkeypatch.setattr(sequential, "CudaGraph", OnGpu)
    model = {"name": "mlp", "hidden": [5]}
    backend, x = make_backend(
        spec_of(**{"model": model} | changes), image_clients(counts, (1, 4, 4)), "sequential", CPU
    )
    backend.on_gpu, backend.stochastic = True, False  # none of these models draws
    return backend, x


CPU = torch.device("cpu")


# -- a capture that fails ---------------------------------------------------------------------------------------------
def failing(state, calls, gpu, at=WARM_UP + 1):
    def body(value):
        calls.append(1)
        if len(calls) == at:
            gpu.fails = True
            raise RuntimeError("operation not permitted when stream is capturing\nCUDA kernel errors might ...")
        state.add_(value)

    return body


def test_where_a_capture_fails_the_step_is_taken_kernel_by_kernel(gpu, capsys):
    state, calls = torch.zeros(1), []
    run = gpu.program(failing(state, calls, gpu), [state], torch.device("cuda"))
    run(torch.ones(1))
    run(torch.full((1,), 3.0))
    assert state.tolist() == [4.0] and gpu.replayed == 0 and len(calls) == WARM_UP + 1 + 2
    (line,) = capsys.readouterr().out.splitlines()
    reason = "operation not permitted when stream is capturing"
    assert line == f"no CUDA graphs from here on, a capture failed ({reason}); the same steps kernel by kernel"
    assert cuda_graph.usage() == f"failed: {reason}"
    assert gpu.current is gpu.default, "torch leaves the stream of the capture as the current one"
    assert len(gpu.ended) == 1, "the allocator waits for the end of the capture"


def test_an_error_of_the_body_is_no_failed_capture(gpu):
    """What fails without a graph too must not be hidden."""
    state = torch.zeros(1)
    run = gpu.program(failing(state, [], gpu, at=1), [state], torch.device("cuda"))
    with pytest.raises(RuntimeError, match="not permitted"):
        run(torch.ones(1))
    assert cuda_graph.usage() == "on" and gpu.current is gpu.default


# -- the switch -------------------------------------------------------------------------------------------------------
def test_graphs_can_be_switched_off(gpu):
    state, calls = torch.zeros(1), []
    cuda_graph.allow("off")
    run = gpu.program(adder(state, calls), [state], torch.device("cuda"))
    run(torch.ones(1), None)
    assert (gpu.captured, len(calls), cuda_graph.usage()) == (0, 1, "off")
    cuda_graph.allow("auto")
    assert cuda_graph.usage() == "on"


# -- random numbers ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fails", [False, True])
def test_a_capture_leaves_no_trace_in_the_generators(gpu, fails):
    """Else the masks of dropout would depend on what was captured before: a resumed run captures later."""
    own, state, drawn = torch.Generator().manual_seed(5), torch.zeros(1), []

    def body(value):
        drawn.append((torch.rand((), generator=gpu.generator).item(), torch.rand((), generator=own).item()))
        if fails and len(drawn) == WARM_UP + 1:
            gpu.fails = True
            raise RuntimeError("no")

    run = gpu.program(body, [state], torch.device("cuda"), generators=[own])
    run(torch.ones(1))
    run(torch.ones(1))
    fresh = torch.Generator().manual_seed(0), torch.Generator().manual_seed(5)
    expected = [tuple(torch.rand((), generator=one).item() for one in fresh) for _ in range(2)]
    assert drawn[WARM_UP + 1 :] == expected and gpu.registered == [own]


# -- the cache --------------------------------------------------------------------------------------------------------
def of(bytes):
    return lambda: SimpleNamespace(bytes=bytes)


def test_what_was_used_longest_ago_is_dropped():
    recent = Recent(most=2, bytes=100)
    first = recent.get("a", of(1))
    recent.get("b", of(1))
    assert recent.get("a", of(1)) is first
    recent.get("c", of(1))
    assert list(recent.kept) == ["a", "c"]


def test_what_takes_too_much_memory_is_dropped_but_for_the_newest():
    recent = Recent(most=10, bytes=100)
    for name, size in (("a", 60), ("b", 30), ("c", 30), ("d", 500)):
        recent.get(name, of(size))
    assert list(recent.kept) == ["b", "c", "d"]
    recent.get("e", of(1))
    assert list(recent.kept) == ["e"]


# -- batches of many sizes --------------------------------------------------------------------------------------------
def test_padded_sizes_are_few_and_waste_an_eighth_at_most():
    sizes = {n: batches.padded(n) for n in range(1, 1025)}
    assert all(n <= size for n, size in sizes.items())
    assert all(size <= max(batches.LEAST, 1.125 * n) for n, size in sizes.items())
    assert len(set(sizes.values())) == 8 * 7 + 1
    assert [batches.padded(n, 100) for n in (1, 97, 100)] == [8, 100, 100]
    assert batches.padded(3, 4) == 4


def step_sizes(backend):
    return {size for _, size, _ in backend.steps.kept}


@pytest.mark.parametrize("model", ["mlp", "cnn", "norm"])
@pytest.mark.parametrize("batch_size", [None, 18])
@pytest.mark.parametrize("more", [{}, {"slope": partial(scaled, factor=2.0), "momentum": 0.9}])
def test_batches_of_many_sizes_share_few_graphs_and_give_the_same_updates(gpu, monkeypatch, model, batch_size, more):
    """By hand, by autograd; with batch normalisation each size keeps its own."""
    models = {
        "mlp": {"name": "mlp", "hidden": [5]},
        "cnn": {"name": "cnn", "channels": [2], "padding": 1, "hidden": 4},
        "norm": {"name": "resnet", "norm": "batch", "widths": [2], "blocks": [1], "stem": "cifar"},
    }
    counts = [k + 3 for k in range(20)]
    gpu_backend, x = sequential_on(gpu, monkeypatch, counts, model=models[model])
    monkeypatch.setattr(sequential, "CudaGraph", CudaGraph)
    plain, _ = make_backend(spec_of(model=models[model]), image_clients(counts, (1, 4, 4)), "sequential", CPU)
    local = LocalTraining(1, batch_size, 3)
    full = batch_size is None
    a, b = (backend.train(work(x, 20, **more), local, 0, losses=full) for backend in (gpu_backend, plain))
    close(a.delta, b.delta)
    if full:
        close(a.loss, b.loss)
    exact, shared = step_sizes(plain), step_sizes(gpu_backend)
    assert shared == exact if model == "norm" else len(shared) < len(exact)


# -- differential privacy ---------------------------------------------------------------------------------------------
def test_noise_is_captured_once_and_drawn_anew_in_each_round(gpu, monkeypatch):
    privacy = NoisyGradients(DpConfig(sigma=1.0, clip=1.0))
    on_gpu, x = sequential_on(gpu, monkeypatch, [8, 8])
    plain, _ = make_backend(
        spec_of(model={"name": "mlp", "hidden": [5]}), image_clients([8, 8], (1, 4, 4)), "sequential", CPU
    )
    for round in range(3):
        monkeypatch.setattr(sequential, "CudaGraph", OnGpu)
        # As an algorithm does that asks for clean gradients too.
        on_gpu.train(work(x, 2), LocalTraining(1, None, 3), round)
        noised = on_gpu.train(work(x, 2), LocalTraining(1, 4, 3, privacy=privacy), round).delta
        monkeypatch.setattr(sequential, "CudaGraph", CudaGraph)
        assert torch.equal(noised, plain.train(work(x, 2), LocalTraining(1, 4, 3, privacy=privacy), round).delta)
    assert gpu.captured == 2 and gpu.registered == [on_gpu.noise]
