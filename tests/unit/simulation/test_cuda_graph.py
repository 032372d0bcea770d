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


# -- rounds as a GPU runs them
MLP, CNN = {"name": "mlp", "hidden": [5]}, {"name": "cnn", "channels": [2], "padding": 1, "hidden": 4}
NORM = {"name": "resnet", "norm": "batch", "widths": [2], "blocks": [1], "stem": "cifar"}
OWN_SLOPES = ([(factor, {}) for factor in (2.0, 2.0, 3.0, None)], [1, 1, 2, 3])
CLEAN, PRIVATE = {}, {"privacy": NoisyGradients(DpConfig(sigma=1.0, clip=1.0))}
MANY = range(3, 23)
# Backend, model, clients' samples, batch size; slope and noise of each round, and how many steps are captured then.
ROUNDS = [
    ("stacked", MLP, [8, 8], 4, *OWN_SLOPES),
    ("sequential", MLP, [8, 8], 4, *OWN_SLOPES),
    # By hand, by autograd; with batch normalisation each size keeps its own.
    ("sequential", MLP, MANY, None, [(2.0, CLEAN)], [12]),
    ("sequential", CNN, MANY, 18, [(None, CLEAN)], [11]),
    ("sequential", NORM, MANY, None, [(2.0, CLEAN)], [20]),
    # Algorithms may ask for clean gradients between private steps; noise is drawn anew in each round.
    ("sequential", MLP, [8, 8], None, [(None, CLEAN), (None, PRIVATE)] * 2, [1, 2, 2, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "model", "counts", "batch_size", "rounds", "captures"), ROUNDS)
def test_few_captured_steps_give_what_a_cpu_gives(gpu, monkeypatch, name, model, counts, batch_size, rounds, captures):
    clients = image_clients(list(counts), (1, 4, 4))
    (plain, x), (captured, _) = (make_backend(spec_of(model=model), clients, name, CPU) for _ in range(2))
    captured.kind, captured.on_gpu, captured.stochastic = "cuda", True, False  # none of these models draws
    rates, ids, found = torch.full((len(counts),), 0.1, dtype=torch.float64), list(range(len(counts))), []
    for round, (factor, private) in enumerate(rounds):
        slope = factor and partial(scaled, factor=factor)  # made anew in every round, as algorithms do
        work = Work(ids, x.expand(len(ids), -1), rates, momentum=0.9 if factor else 0.0, slope=slope)
        local, losses = LocalTraining(1, batch_size, 3, **private), batch_size is None and not private
        expected = plain.train(work, local, round, losses=losses)
        with monkeypatch.context() as patch:
            for module in (stacked_block, sequential):
                patch.setattr(module, "CudaGraph", gpu.program)
            trained = captured.train(work, local, round, losses=losses)
        close(trained.delta, expected.delta)
        if losses:
            close(trained.loss, expected.loss)
        found.append(gpu.captured)
    assert found == captures
    assert gpu.registered == ([captured.noise] if PRIVATE in dict(rounds).values() else [])
