"""A fixed sequence of kernels as a CUDA graph: saves the launch of each kernel."""

import operator
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

# Runs before a capture: lazy initialisation of libraries, choice of algorithms, autograd's own streams.
WARM_UP = 3


def same_function(one: Callable | None, other: Callable | None) -> bool:
    """True if two functions are one, so that what was captured of the first serves for the second.

    A `functools.partial` made anew is the same if it is made of the same objects.
    """
    if not (isinstance(one, partial) and isinstance(other, partial)):
        return one == other
    values = [(p.func, *p.args, *p.keywords.values()) for p in (one, other)]
    equal = len(one.args) == len(other.args) and list(one.keywords) == list(other.keywords)
    return equal and all(map(operator.is_, *values))


class CudaGraph:
    """`body(*tensors)`, which changes the tensors of `state` in place.

    On a GPU the first call captures it as a CUDA graph and every call replays that, one launch instead of hundreds.
    On a CPU the body is called. Shapes must be the same in every call; a Python number is frozen at the capture, and
    so is a function that the body calls: what varies must lie in tensors.
    """

    def __init__(
        self, body: Callable[..., None], state: Sequence[Tensor], device: torch.device, graph: bool = True
    ) -> None:
        self.body, self.state = body, state
        self.captures = graph and device.type == "cuda"
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: list[Tensor | None] = []

    def __call__(self, *tensors: Tensor | None) -> None:
        if not self.captures:
            self.body(*tensors)
            return
        if self.graph is None:
            self._capture(tensors)
        assert self.graph is not None
        for input, tensor in zip(self.inputs, tensors, strict=True):
            if input is not None and tensor is not None:
                input.copy_(tensor)
        self.graph.replay()

    def _capture(self, tensors: Sequence[Tensor | None]) -> None:
        self.inputs = [None if tensor is None else tensor.clone() for tensor in tensors]
        before = [tensor.clone() for tensor in self.state]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.body(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.body(*self.inputs)
        for tensor, old in zip(self.state, before, strict=True):
            tensor.copy_(old)
