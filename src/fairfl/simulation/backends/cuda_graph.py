"""A fixed sequence of kernels as a CUDA graph: saves the launch of each kernel.

All graphs of a process share one stream and one memory pool: they never run at once, and nothing that a body allocates
outlives it. Where a capture fails, this process takes every step from then on kernel by kernel, to the same numbers.
"""

import gc
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

# Runs before a capture: lazy initialisation of libraries, choice of algorithms, autograd's own streams.
WARM_UP = 3

_allowed = True
_failure = ""  # why a capture failed, in one line


def allow(choice: str) -> None:
    """`auto` or `off`, as config.yaml: cuda_graphs says, for this process; forgets a failure, and starts a new pool."""
    global _allowed, _failure
    _allowed, _failure = choice != "off", ""
    _shared.cache_clear()


def usage() -> str:
    """on, off, or why a capture failed."""
    return f"failed: {_failure}" if _failure else "on" if _allowed else "off"


def same_function(one: Callable | None, other: Callable | None) -> bool:
    """True if two functions are one, so that what was captured of the first serves for the second.

    A `functools.partial` rebuilt is the same if it is made of the same objects.
    """
    if not (isinstance(one, partial) and isinstance(other, partial)):
        return one == other
    values = [(p.func, *p.args, *p.keywords.values()) for p in (one, other)]
    equal = len(one.args) == len(other.args) and list(one.keywords) == list(other.keywords)
    return equal and all(map(operator.is_, *values))


@cache
def _shared(device: torch.device) -> tuple[Any, Any, Any]:
    """The stream and the memory pool of all graphs on a device, and a small graph that keeps the pool.

    torch gives up a pool with its last graph, and fails if it is used again while a tensor in it is still there.
    """
    stream, pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
    keeper = torch.cuda.CUDAGraph()
    with torch.cuda.graph(keeper, pool=pool, stream=stream):
        torch.zeros((), device=stream.device)
    return stream, pool, keeper


class CudaGraph:
    """`body(*arguments)`, which changes the tensors of `state` in place.

    On a GPU the first call captures it as a CUDA graph and every call replays that, one launch instead of hundreds.
    Otherwise, and where graphs are not allowed or a capture has failed, the body is called. When it is captured the
    arguments are tensors or None, of the same shapes in every call; a Python number is frozen at the capture, and so is
    a function that the body calls: what varies must lie in tensors.

    `generators` are what the body draws from beside torch's default one. The capture leaves no trace in any of
    them, so that the first call draws what any other would, whether or not the run was resumed just before.
    """

    def __init__(
        self,
        body: Callable[..., None],
        state: Sequence[Tensor],
        device: torch.device,
        graph: bool = True,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self.body, self.state, self.device, self.generators = body, state, device, generators
        self.captures = graph and device.type == "cuda"
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: list[Tensor | None] = []
        self.bytes = 0  # of the inputs, and by how much the pool has grown for it

    def __call__(self, *arguments: Any) -> None:
        if self.captures and _allowed and not _failure and self.graph is None:
            self._capture(arguments)
        if self.graph is None:
            self.body(*arguments)
            return
        for input, tensor in zip(self.inputs, arguments, strict=True):
            if input is not None and tensor is not None:
                input.copy_(tensor)
        self.graph.replay()

    def _capture(self, tensors: Sequence[Tensor | None]) -> None:
        """Leaves `graph` None where it fails. What the body itself raises in its warm-up is raised."""
        current = torch.cuda.current_stream(self.device)
        try:
            stream, pool, _ = _shared(self.device)
        except RuntimeError as error:
            torch.cuda.set_stream(current)
            _give_up(_CaptureFailed(error))
            return
        inputs = [None if tensor is None else tensor.clone() for tensor in tensors]
        before = [tensor.clone() for tensor in self.state]
        generators = [torch.cuda.default_generators[self.device.index or 0], *self.generators]
        positions = [generator.get_state() for generator in generators]
        stream.wait_stream(current)
        # torch may free cuBLAS's workspace of a stream with any graph that was captured there
        # (github.com/pytorch/pytorch/issues/193402). Without one kept from before, a capture takes it from the pool,
        # which lives as long as a graph does.
        _forget_workspaces()
        graph = torch.cuda.CUDAGraph()
        for generator in self.generators:
            graph.register_generator_state(generator)
        try:
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP):
                    self.body(*inputs)
            _forget_workspaces()
            grown = self._captured(graph, inputs, stream, pool)
        except _CaptureFailed as failed:
            _give_up(failed)
            _mend(self.device, pool, generators)
        else:
            self.graph, self.inputs = graph, inputs
            self.bytes = grown + sum(input.nbytes for input in inputs if input is not None)
        finally:
            # torch leaves the capture's stream in place if ending the capture fails.
            torch.cuda.set_stream(current)
            _forget_workspaces()
            current.wait_stream(stream)
            for generator, state in zip(generators, positions, strict=True):
                generator.set_state(state)
            for tensor, old in zip(self.state, before, strict=True):
                tensor.copy_(old)

    def _captured(self, graph: Any, inputs: Sequence[Tensor | None], stream: Any, pool: Any) -> int:
        """Capture the body; bytes by which the pool has grown. Raises _CaptureFailed."""
        try:
            with _no_garbage_collected(), torch.cuda.graph(graph, pool=pool, stream=stream):
                reserved = torch.cuda.memory_reserved(self.device)
                self.body(*inputs)
                return max(0, torch.cuda.memory_reserved(self.device) - reserved)
        except RuntimeError as error:  # of CUDA, cuBLAS, cuDNN or torch, a lack of memory too
            raise _CaptureFailed(error) from error


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """Keep graphs that are no longer held until after a capture: CUDA lets none be destroyed during one."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _CaptureFailed(Exception):
    """The message is the reason in one line."""

    def __init__(self, error: RuntimeError) -> None:
        # What made the capture fail, not that ending it fails then.
        cause = error.__context__ or error
        super().__init__(next(iter(str(cause).splitlines()), "") or type(cause).__name__)


def _give_up(failed: _CaptureFailed) -> None:
    """No more captures in this process."""
    global _failure
    _failure = str(failed)
    print(
        f"no CUDA graphs from here on, a capture failed ({failed}); the same steps kernel by kernel",
        flush=True,
    )


def _mend(device: torch.device, pool: Any, generators: Sequence[torch.Generator]) -> None:
    """Repair after a capture that cannot be ended: the allocator waits for its end, generators refuse to draw."""
    with suppress(AttributeError, RuntimeError):
        torch._C._cuda_endAllocateToPool(device.index or 0, pool)
    for generator in generators:
        with suppress(AttributeError, RuntimeError):
            generator.graphsafe_set_state(torch.Generator(generator.device).graphsafe_get_state())


def _forget_workspaces() -> None:
    forget = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if forget is not None and torch.cuda.is_initialized():
        forget()


class Sized(Protocol):
    """Object that knows how many bytes it holds now."""

    @property
    def bytes(self) -> int: ...


Kept = TypeVar("Kept", bound=Sized)


class Recent(Generic[Kept]):
    """Objects used last that are expensive to make: at most `most` of them, of at most `bytes` bytes.

    What was used longest ago goes first. What is asked for stays, however large it is.
    """

    def __init__(self, most: int, bytes: int) -> None:
        self.most, self.bytes = most, bytes
        self.kept: dict[Hashable, Kept] = {}

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return the object of a key, made if it is not there."""
        if key not in self.kept:
            while self.kept and (len(self.kept) >= self.most or self._held() > self.bytes):
                del self.kept[next(iter(self.kept))]
            self.kept[key] = make()
        self.kept[key] = self.kept.pop(key)  # the newest
        return self.kept[key]

    def _held(self) -> int:
        return sum(each.bytes for each in self.kept.values())

    def clear(self) -> None:
        self.kept.clear()
