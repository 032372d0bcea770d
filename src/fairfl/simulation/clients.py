"""Clients' data on the device: one block of samples per part, clients one after the other."""

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from fairfl.runtime.errors import FairflError

if TYPE_CHECKING:
    from fairfl.partition.partition_file import Partition

# What labels may be, in words.
_LABELS = {
    "texts": "one label at each position (loss next_word)",
    "classes": "one class per sample",
    "numbers": "real numbers as labels (loss squared_error)",
}


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """A CPU tensor on the device. A GPU gets it from pinned memory, so that the process need not wait for it."""
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def send(tensor: Tensor, to: Tensor) -> None:
    """Write a CPU tensor into one on a device, likewise."""
    to.copy_(tensor if to.device.type == "cpu" else sent(tensor.to(to.dtype), to.device))


@dataclass(frozen=True)
class Part:
    """Training, validation or test samples of all clients; client k owns rows offset[k] : offset[k+1]."""

    inputs: Tensor  # [N, ...] float, or whole numbers [N, T]: tokens
    labels: Tensor  # int64, [N], or [N, T] for a prediction at each position (-1: padding); float: regression
    counts: Tensor  # [K] int64, on the CPU

    @cached_property
    def sizes(self) -> list[int]:
        """Samples of each client, [K]."""
        return self.counts.tolist()

    @cached_property
    def offsets(self) -> list[int]:
        """First row of each client, and the end, [K + 1]."""
        return [0, *itertools.accumulate(self.sizes)]

    @cached_property
    def lengths(self) -> Tensor:
        """`counts` on the device of the samples."""
        return sent(self.counts, self.labels.device)

    @cached_property
    def owners(self) -> Tensor:
        """Client of each sample, [N] int64."""
        return sent(
            torch.arange(len(self.sizes)).repeat_interleave(self.counts), self.labels.device
        )

    def of(self, client: int) -> tuple[Tensor, Tensor]:
        """Inputs and labels of one client (views)."""
        mine = slice(self.offsets[client], self.offsets[client + 1])
        return self.inputs[mine], self.labels[mine]

    @cached_property
    def _columns(self) -> list[Tensor]:
        """Samples of each client as columns, contiguous: a second copy of the inputs."""
        return [own.T.contiguous() for own in self.inputs.flatten(1).split(self.sizes)]

    def columns(self, client: int) -> Tensor:
        """Inputs of one client as columns, [d, n]. The first call copies all clients'."""
        return self._columns[client]

    def of_clients(self, clients: list[int]) -> "Part":
        """The part of some clients, in that order; itself if they are all of them."""
        if len(clients) == len(self.sizes) and clients == list(range(len(clients))):
            return self
        if len(clients) == 1:  # views
            return Part(*self.of(clients[0]), self.counts[clients])
        rows = torch.cat([torch.arange(self.offsets[k], self.offsets[k + 1]) for k in clients])
        rows = sent(rows, self.labels.device)
        return Part(self.inputs[rows], self.labels[rows], self.counts[clients])


@dataclass(frozen=True)
class Clients:
    """Data of all clients, as the simulator knows them."""

    parts: dict[str, Part]
    classes: int
    shape: tuple[int, ...]  # of one sample
    source: str = ""  # where the data came from, a sentence
    clusters: list[int] | None = None  # true cluster of each client, [K], from 0; None: not known
    # Mean and deviation by which images in [0, 1] were scaled, [1 or C, 1, 1] each, on the CPU.
    scale: tuple[Tensor, Tensor] = (torch.zeros(1, 1, 1), torch.ones(1, 1, 1))
    changed: list[str] = field(default_factory=list)  # what the partition had to change, in words
    # Name of each client's owner, where data say it.
    owners: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.parts["train"].counts.numel()

    @property
    def dtype(self) -> torch.dtype:
        """Floating type of a model for these data: the inputs'; float32 if those are tokens."""
        dtype = self.parts["train"].inputs.dtype
        return dtype if dtype.is_floating_point else torch.float32

    def check(self, model: nn.Module, loss: str) -> None:
        """Raises ValueError if the loss or the model is made for another kind of data."""
        part = self.parts["train"]
        kind = "texts" if part.labels.dim() > 1 else "classes"
        kind = "numbers" if part.labels.is_floating_point() else kind
        expected = {"next_word": "texts", "squared_error": "numbers"}.get(loss, "classes")
        if kind != expected:
            raise ValueError(
                f"loss {loss} is for {_LABELS[expected]}, the data have {_LABELS[kind]}"
            )
        reads_tokens = any(isinstance(layer, nn.Embedding) for layer in model.modules())
        if reads_tokens == part.inputs.is_floating_point():
            kinds = "tokens (it has an embedding)", "images or features (it has no embedding)"
            reads, other = kinds if reads_tokens else kinds[::-1]
            raise ValueError(f"the model reads {reads}, the data are {other.split(' (')[0]}")
        check_inputs = getattr(model, "check", None)  # of what it reads, beyond that
        if check_inputs is not None:
            for part in self.parts.values():
                check_inputs(part.inputs)


def load_clients(
    data: Path,
    partition: Path,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    only: int | None = None,
) -> Clients:
    """Read prepared data and a partition; `only` loads a single client (as client 0).

    Images become (x / 255 - scale_mean) / scale_std, constants (one, or one per channel) from the file's metadata;
    tokens stay as they are. Labels of the partition, which are noisy, come before the data's. Raises
    FairflError if a file is damaged, the two do not belong together, or the client does not exist.
    """
    # Simulating needs torch, numpy and pydantic; reading these files two libraries more.
    from fairfl.data import prepared
    from fairfl.partition.partition_file import PARTS, read

    inputs, labels, metadata = _samples(data)
    classes = int(prepared.read_numbers(data, metadata, "classes")[0])
    names = "scale_mean", "scale_std"
    scales = (prepared.read_scale(data, metadata, name, inputs.shape[1]) for name in names)
    mean, std = (torch.tensor(values, dtype=dtype).view(-1, 1, 1) for values in scales)
    assigned = read(partition, len(inputs))
    if only is not None:
        if only >= assigned.clients:
            raise FairflError(f"{partition}: no such client {only}")
        assigned = assigned.only(only)
    parts = {}
    for number, name in enumerate(PARTS):
        order, counts = _by_client(assigned, number)
        columns = {key: torch.from_numpy(of[order]) for key, of in assigned.columns.items()}
        x, y = inputs[columns["row"]], columns.get("label", labels[columns["row"]])
        where = f"{data}, {name} part"
        prepared.check_values(where, x.numpy())
        y = torch.from_numpy(prepared.convert_targets(where, classes, y.numpy(), x.numpy()))
        x = _turned(_scaled(x, mean, std), columns.get("turn"))
        parts[name] = Part(x.to(device), y.to(device), counts)
    return Clients(
        parts,
        classes,
        shape=tuple(inputs.shape[1:]),
        source=metadata.get("source", ""),
        clusters=assigned.clusters,
        scale=(mean, std),
        changed=assigned.changed,
        owners=assigned.owners,
    )


def _samples(data: Path) -> tuple[Tensor, Tensor, dict[str, str]]:
    """Inputs, labels and metadata of prepared data."""
    from fairfl.data import prepared

    tensors, metadata = prepared.load(data, "inputs", "labels", framework="pt")
    inputs, labels = tensors["inputs"], tensors["labels"]
    prepared.check_form(str(data), inputs)
    if labels.shape[:1] != inputs.shape[:1]:
        shapes = f"inputs {list(inputs.shape)} and labels {list(labels.shape)}"
        raise FairflError(f"{data}: has {shapes}; delete it and run again")
    return inputs, labels, metadata


def _scaled(x: Tensor, mean: Tensor, std: Tensor) -> Tensor:
    """Images in [0, 1] less `mean` over `std`, features as they are, both of the type of these; or tokens."""
    if x.dtype == torch.uint8:
        return x.to(mean.dtype).div_(255).sub_(mean).div_(std)
    return x.to(mean.dtype) if x.is_floating_point() else x


def _by_client(assigned: "Partition", part: int) -> tuple[np.ndarray, Tensor]:
    """Lines of the samples of a part, one client after the other, and how many each client has."""
    chosen = np.flatnonzero(assigned.columns["part"] == part)
    client = assigned.columns["client"][chosen]
    counts = np.bincount(client, minlength=assigned.clients)
    return chosen[np.argsort(client, kind="stable")], torch.from_numpy(counts)


def _turned(images: Tensor, turns: Tensor | None) -> Tensor:
    """Images [N, C, H, W], H = W, rotated by a number of quarter turns each, exactly: no pixel is interpolated.

    Without `turns` any samples, as they are. Raises FairflError if the samples are no square images.
    """
    if turns is None:
        return images
    if images.dim() != 4 or images.shape[2] != images.shape[3]:
        raise FairflError(
            f"a rotation needs square images, the samples have shape {list(images.shape[1:])}"
        )
    for quarters in range(1, 4):
        chosen = turns == quarters
        images[chosen] = torch.rot90(images[chosen], quarters, dims=(2, 3))
    return images
