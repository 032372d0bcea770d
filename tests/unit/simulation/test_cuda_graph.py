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
from tests.unit.simulation.federations import CPU, close, image_clients, spec_of


class FakeGpu:
    """CUDA graphs on the CPU that replay the body's calls. `captured` and `replayed` count."""

    def __init__(self, patch):
        self.captured = self.replayed = 0
        self.fails, self.registered, self.ended, self.streams = False, [], [], []
        self.current = stream = SimpleNamespace(wait_stream=lambda other: None, device=CPU)
        self.generator = torch.Generator().manual_seed(0)
        for name, fake in {
            "Stream": lambda device: SimpleNamespace(**vars(stream)),
            "current_stream": lambda device=None: stream,
            "set_stream": self.streams.append,
            "stream": contextlib.nullcontext,
            "graph_pool_handle": object,
            "CUDAGraph": lambda: SimpleNamespace(register_generator_state=self.registered.append),
            "graph": self.capture,
            "memory_reserved": lambda device: 0,
            "default_generators": [self.generator],
            "is_initialized": lambda: False,
        }.items():
            patch.setattr(torch.cuda, name, fake)
        patch.setattr(torch._C, "_cuda_endAllocateToPool", lambda *of: self.ended.append(of), raising=False)

    def program(self, body, state, device=None, graph=True, generators=()):
        """What thinks that it is on a GPU."""
        made = CudaGraph(body, state, torch.device("cuda"), graph, generators)
        captured = made._captured

        def capture(graph, inputs, *more):
            self.captured += 1
            graph.replay = lambda: self.replay(body, inputs)
            return captured(graph, inputs, *more)

        made._captured = capture
        return made

    def replay(self, body, inputs):
        self.replayed += 1
        body(*inputs)

    @contextlib.contextmanager
    def capture(self, graph, pool, stream):
        try:
            yield
        finally:
            if self.fails:  # torch's own does not put the stream back then
                raise RuntimeError("operation failed due to a previous error during capture\nand a hint")


@pytest.fixture
def gpu(monkeypatch):
    cuda_graph.allow("auto")
    yield FakeGpu(monkeypatch)
    cuda_graph.allow("auto")


def adder(gpu, state, drawn, fails_at=0):
    """A body that draws from the GPU's generator and adds to its state."""

    def body(value):
        drawn.append(torch.rand((), generator=gpu.generator).item())
        if len(drawn) == fails_at:
            gpu.fails = True
            raise RuntimeError("operation not permitted when stream is capturing\nCUDA kernel errors might ...")
        state.add_(value)

    return body


def scaled(loss, factor):
    return factor * loss


def work(x, clients, **more):
    return Work(list(range(clients)), x.expand(clients, -1), torch.full((clients,), 0.1, dtype=torch.float64), **more)


@pytest.mark.parametrize("fails", [False, True])
def test_a_capture_leaves_no_trace_and_where_it_fails_the_body_is_called(gpu, capsys, fails):
    """Else the masks of dropout would depend on what was captured before: a resumed run captures later."""
    state, drawn, own = torch.zeros(2), [], torch.Generator()
    body = adder(gpu, state, drawn, fails_at=WARM_UP + 1 if fails else 0)
    run = gpu.program(body, [state], generators=[own])
    run(torch.ones(2))
    assert state.tolist() == [1.0, 1.0]
    run(torch.full((2,), 3.0))
    assert state.tolist() == [4.0, 4.0] and gpu.registered == [own]
    assert (gpu.captured, gpu.replayed, len(drawn)) == (1, 0 if fails else 2, WARM_UP + 1 + 2)
    fresh = torch.Generator().manual_seed(0)
    assert drawn[WARM_UP + 1 :] == [torch.rand((), generator=fresh).item() for _ in range(2)]
    assert gpu.streams[-1] is gpu.current, "torch leaves the stream of a failed capture as the current one"
    reason = "operation not permitted when stream is capturing"
    line = f"no CUDA graphs from here on, a capture failed ({reason}); the same steps kernel by kernel\n"
    assert capsys.readouterr().out == (line if fails else "")
    assert cuda_graph.usage() == (f"failed: {reason}" if fails else "on")
    assert len(gpu.ended) == fails, "the allocator waits for the end of the capture"


def test_without_a_gpu_and_switched_off_the_body_is_called_and_its_errors_are_its_own(gpu):
    state, drawn = torch.zeros(1), []
    with pytest.raises(RuntimeError, match="not permitted"):  # in the warm-up
        gpu.program(adder(gpu, state, [], 1), [state])(torch.ones(1))
    assert cuda_graph.usage() == "on" and gpu.streams[-1] is gpu.current
    CudaGraph(adder(gpu, state, drawn), [state], CPU)(torch.ones(1))
    cuda_graph.allow("off")
    gpu.program(adder(gpu, state, drawn), [state])(torch.ones(1))
    assert (gpu.captured, len(drawn), state.item(), cuda_graph.usage()) == (0, 2, 2.0, "off")


def test_a_partial_made_anew_of_the_same_objects_is_the_same():
    config = object()
    made = partial(scaled, factor=config)
    for one, other in ((None, None), (scaled, scaled), (made, partial(scaled, factor=config)), ("x".join, "x".join)):
        assert same_function(one, other)
    others = [None, scaled, partial(scaled), partial(scaled, config), partial(scaled, loss=config)]
    for other in (*others, partial(scaled, factor=object()), partial(print, factor=config)):
        assert not same_function(made, other) and not same_function(other, made)
    # Equal tensors may become unequal, and comparing them would wait for a GPU.
    assert not same_function(partial(scaled, torch.ones(1)), partial(scaled, torch.ones(1)))


@pytest.mark.parametrize("name", ["stacked", "sequential"])
def test_a_captured_step_has_its_own_slope_and_leaves_no_trace_in_the_momentum(gpu, monkeypatch, name):
    """Rounds as a GPU runs them give what a CPU gives; only another slope is captured anew."""
    clients, spec = image_clients([8, 8]), spec_of(model={"name": "mlp", "hidden": [5]})
    (plain, x), (captured, _) = (make_backend(spec, clients, name, CPU) for _ in range(2))
    captured.kind, captures, two = "cuda", [], 2.0
    for factor in (two, two, 3.0, None):
        slope = factor and partial(scaled, factor=factor)  # made anew in every round, as algorithms do
        chosen, local = work(x, 2, momentum=0.9, slope=slope), LocalTraining(2, 4, 3)
        with monkeypatch.context() as patch:
            for module in (stacked_block, sequential):
                patch.setattr(module, "CudaGraph", gpu.program)
            delta = captured.train(chosen, local, 0).delta
        assert torch.equal(delta, plain.train(chosen, local, 0).delta)
        captures.append(gpu.captured)
    assert captures == [1, 1, 2, 3]


# -- what is kept, batches of many sizes ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("most", "asked", "kept"),
    [
        (2, [("a", 1), ("b", 1), ("a", 1), ("c", 1)], ["a", "c"]),
        (10, [("a", 60), ("b", 30), ("c", 30), ("d", 500)], ["b", "c", "d"]),
        (10, [("d", 500), ("e", 1)], ["e"]),
    ],
)
def test_what_was_used_longest_ago_or_takes_too_much_memory_is_dropped(most, asked, kept):
    recent = Recent(most=most, bytes=100)
    for name, size in asked:
        recent.get(name, lambda size=size: SimpleNamespace(bytes=size))
    assert list(recent.kept) == kept


def test_padded_sizes_are_few_and_waste_an_eighth_at_most():
    sizes = {n: batches.padded(n) for n in range(1, 1025)}
    assert all(n <= size <= max(batches.LEAST, 1.125 * n) for n, size in sizes.items())
    assert len(set(sizes.values())) == 8 * 7 + 1
    assert [batches.padded(n, 100) for n in (1, 97, 100)] == [8, 100, 100] and batches.padded(3, 4) == 4


def on_gpu(counts, model):
    """A sequential backend that takes the way of a GPU, and one that does not."""
    spec = spec_of(model=model)
    (gpu, x), (plain, _) = (make_backend(spec, image_clients(counts, (1, 4, 4)), "sequential", CPU) for _ in range(2))
    gpu.on_gpu, gpu.stochastic = True, False  # none of these models draws
    return gpu, plain, x


HEAVY = {"slope": partial(scaled, factor=2.0), "momentum": 0.9}
NORM = {"name": "resnet", "norm": "batch", "widths": [2], "blocks": [1], "stem": "cifar"}


@pytest.mark.parametrize(
    ("model", "batch_size", "more"),
    [
        ({"name": "mlp", "hidden": [5]}, None, HEAVY),
        ({"name": "cnn", "channels": [2], "padding": 1, "hidden": 4}, 18, {}),
        (NORM, None, HEAVY),
    ],
)
def test_batches_of_many_sizes_share_few_graphs_and_give_the_same_updates(gpu, monkeypatch, model, batch_size, more):
    """By hand, by autograd; with batch normalisation each size keeps its own."""
    padding, plain, x = on_gpu([k + 3 for k in range(20)], model)
    local, full = LocalTraining(1, batch_size, 3), batch_size is None
    b = plain.train(work(x, 20, **more), local, 0, losses=full)
    monkeypatch.setattr(sequential, "CudaGraph", gpu.program)
    a = padding.train(work(x, 20, **more), local, 0, losses=full)
    close(a.delta, b.delta)
    if full:
        close(a.loss, b.loss)
    shared, exact = ({size for _, size, _ in backend.steps.kept} for backend in (padding, plain))
    assert shared == exact if model is NORM else len(shared) < len(exact)


def test_noise_is_captured_once_and_drawn_anew_in_each_round(gpu, monkeypatch):
    private = LocalTraining(1, 4, 3, privacy=NoisyGradients(DpConfig(sigma=1.0, clip=1.0)))
    noisy, plain, x = on_gpu([8, 8], {"name": "mlp", "hidden": [5]})
    for round in range(3):
        expected = plain.train(work(x, 2), private, round).delta
        with monkeypatch.context() as patch:
            patch.setattr(sequential, "CudaGraph", gpu.program)
            noisy.train(work(x, 2), LocalTraining(1, None, 3), round)  # as algorithms that ask for clean gradients, too
            assert torch.equal(noisy.train(work(x, 2), private, round).delta, expected)
    assert gpu.captured == 2 and gpu.registered == [noisy.noise]
