"""Some clients of a round with their samples: one epoch of local SGD on tensors of fixed shape.

Saves kernel launches: the models are one stack, and on a GPU the epoch is one CUDA graph.
"""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from fairfl.algorithms.interface import Slope
from fairfl.simulation.backends.cpu_tuning import tuning
from fairfl.simulation.backends.cuda_graph import CudaGraph, same_function
from fairfl.simulation.backends.dense_kernels import DelayedLinear, Terms, buffers
from fairfl.simulation.backends.interface import LocalTraining, Work, dropout_seed, order
from fairfl.simulation.backends.model_stack import ModelStack
from fairfl.simulation.clients import Part, send, sent

# Bytes of all training samples up to which they may be stored as columns too.
COLUMNS_BYTES = 2**28
# Slopes that a block is captured with at once.
KEPT_SLOPES = 4


class Block:
    """Models in rows, samples in columns."""

    def __init__(self, stack: ModelStack, part: Part) -> None:
        shape, models, like = stack.shape, stack.models, part.inputs.new_empty(0)
        width, batch = shape.width, shape.batch
        self.shape, self.stack, self.part = shape, stack, part
        # Samples. A full batch of one client is used where it is. On a CPU others come with the step that takes them,
        # and are in the caches then; a CUDA graph needs those of an epoch.
        self.flat = part.inputs.flatten(1)
        self.in_place = shape.models == 1 and batch == width and not shape.first_batch_only
        self.by_columns = self.in_place and self._by_columns()
        self.at_once = width if like.is_cuda else min(width, batch * shape.steps_a_pass)
        self.rows = torch.empty(shape.models, width, dtype=torch.int64)
        self.gathered = buffers(like.to(stack.product), models, self.flat.shape[1])
        self.inputs = like.new_empty(0)
        # The clients whose samples are here, if another epoch may use them again.
        self.loaded: list[int] | None = None
        self.targets = like.new_empty(*models, stack.classes, width)
        # Of full batches that are used where they are, by their first row.
        self.targets_from: dict[int, Tensor] = {}
        # Factors of the samples, and of each step's terms.
        self.counts: list[int] = []
        self.scale: Tensor | None = None  # rates [m] that the weights of these counts are made of
        self.weights = like.new_empty(*models, 1, width)
        steps = range(-(-width // batch))
        used = shape.proximal, shape.momentum, shape.directions, shape.forced
        zeros = (like.new_zeros(len(steps), *models, 1, 1) if is_used else None for is_used in used)
        self.terms = Terms(*zeros)
        # Targets, weights and terms of each step: the same views in every epoch.
        terms = [Terms(*(None if t is None else t[step] for t in self.terms)) for step in steps]
        both = (tensor.split(batch, -1) for tensor in (self.targets, self.weights))
        self.windows = list(zip(*both, terms, strict=True))
        # An epoch, by the slope that it holds, and what its steps use or leave.
        self.epochs: list[tuple[Slope | None, CudaGraph]] = []
        self.slope: Slope | None = None
        self.force: Callable[[Tensor], Tensor] | None = None
        self.generators: list[torch.Generator] = []  # of dropout
        self.losses = like.new_empty(*models, width) if shape.start_losses else None
        # Memory.
        samples = self.targets.nbytes + self.weights.nbytes
        if not self.in_place:
            samples += shape.models * self.at_once * self.flat[0].nbytes
        self.own_bytes = samples + stack.bytes(batch * shape.steps_a_pass)

    def _by_columns(self) -> bool:
        """True if the full batch of one linear model is read as columns too, see Tuning."""
        first, size, samples = self.stack.dense[0], self.shape.width, self.part.inputs
        by_blas = samples.device.type == "cpu" and first.low is None and size < first.onednn_from
        small = samples.nbytes <= COLUMNS_BYTES and not self.stack.dropouts
        return first.last and by_blas and small and self.stack.classes >= tuning().columns_from

    @property
    def bytes(self) -> int:
        return self.own_bytes + sum(epoch.bytes for _, epoch in self.epochs)

    def _epoch_of(self, slope: Slope | None) -> CudaGraph:
        """The epoch with this slope, which a captured graph holds."""
        self.slope = slope
        for other, epoch in self.epochs:
            if same_function(slope, other):
                return epoch
        if len(self.epochs) == KEPT_SLOPES:  # an algorithm that makes functions in every round
            self.epochs.clear()
        # The one step on borrowed models reads the models where they are, in another place each round, and a force
        # holds other tensors.
        fixed = not (self.stack.dropouts or self.shape.borrowed or self.shape.forced)
        epoch = CudaGraph(self._epoch, self.stack.state, self.weights.device, graph=fixed)
        self.epochs.append((slope, epoch))
        return epoch

    def _epoch(self, in_place: Tensor | None) -> None:
        """All steps, on the samples that are here or on inputs used `in_place`: these are elsewhere in each round."""
        batch = self.shape.batch
        windows = zip(self._batches(in_place), self.windows, strict=True)
        for step, (x, (target, weight, terms)) in enumerate(windows):
            for dropout in self.stack.dropouts:
                real = [min(max(n - step * batch, 0), batch) for n in self.counts]
                dropout.draws = list(zip(self.generators, real, strict=True))
            losses = self.losses if step == 0 else None
            self.stack.step(x, target, weight, terms, self.slope, losses, self.force)

    def _batches(self, in_place: Tensor | None) -> Iterator[Tensor]:
        """Samples [*m, n, d] of each step. The next one's come when its step has been taken."""
        here = self.inputs if self.at_once == self.shape.width else None
        here, first = here if in_place is None else in_place, self.stack.dense[0]
        for samples in map(self._gathered, self._rows()) if here is None else (here,):
            whole = samples.shape[-2] <= self.shape.batch
            batches = (samples,) if whole else samples.split(self.shape.batch, -2)
            if not isinstance(first, DelayedLinear):
                yield from batches
                continue
            first.begin(samples)
            yield from batches
            first.end()

    def _rows(self) -> Iterator[Tensor]:
        """Rows of the part whose samples are gathered at once, [m n], each client's together."""
        whole = self.shape.width - self.shape.width % self.at_once
        pieces = self.rows[:, :whole].view(self.shape.models, -1, self.at_once)
        yield from pieces.transpose(0, 1).reshape(-1, self.shape.models * self.at_once)
        if whole < self.shape.width:
            yield self.rows[:, whole:].flatten()

    def train(
        self, work: Work, counts: list[int], local: LocalTraining, round: int, out: Tensor
    ) -> None:
        """All epochs of the models of `work`, whose clients have `counts` samples; start - trained model to `out`."""
        steps = self._epoch_of(work.slope)
        self._set_weights(work, counts)
        if self.stack.dropouts:
            seeds = [dropout_seed(local, round, client) for client in work.clients]
            self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        if self.shape.borrowed:
            self.stack.borrow(work.start, out)
        else:
            self.stack.load(work.start, work.anchor, work.direction)
        self.force = work.forces(slice(None), self.weights)
        for epoch in range(local.passes):
            self._gather(work.clients, local, round, epoch)
            steps(self.inputs if self.in_place else None)
            if epoch == 0 and self.losses is not None:
                self.start_loss = (self.shares * self.losses.view(self.rows.shape)).sum(1)
        if not self.shape.borrowed:
            self.stack.moved(out)
        self.stack.release()
        self.force = None

    def _set_weights(self, work: Work, counts: list[int]) -> None:
        """Weight of each sample: (1 - mix) rate / size of its batch; 0 for padding. And the other terms of each step.

        With momentum they are those of z, see Work, and y is averaged with z.
        """
        if counts != self.counts:
            self.counts, self.scale = counts, None
            n = torch.tensor(counts, dtype=torch.float64).unsqueeze(1)  # [m, 1]
            place = torch.arange(self.shape.width).unsqueeze(0)
            size = (n - place // self.shape.batch * self.shape.batch).clamp(max=self.shape.batch)
            # 1 / size on a client's samples, 0 on padding; without any sample NaN, the mean loss of nothing.
            shares = torch.where(place < n, 1 / size, 0.0 / n)
            self.portions = shares.nan_to_num(0).unsqueeze(1)
            self.shares = sent(shares, self.weights.device) if self.shape.start_losses else shares
            # A client whose epoch is over must stand still.
            first = torch.arange(0, self.shape.width, self.shape.batch).unsqueeze(1)
            self.active = (first < n.T).double()
        rate = work.rate / (1 - work.momentum) if self.shape.momentum else work.rate
        scale = (1 - work.mix) * rate
        if self.scale is None or not torch.equal(scale, self.scale):
            self.scale = scale
            send((self.portions * scale[:, None, None]).view_as(self.weights), self.weights)
        if not any(term is not None for term in self.terms):
            return
        prox = None if work.prox is None else rate * work.prox
        factors = (prox, 1 - work.momentum, work.along * rate, rate)
        for term, factor in zip(self.terms, factors, strict=True):
            if term is not None and factor is not None:
                send((self.active * factor).view_as(term), term)

    def _gather(self, clients: list[int], local: LocalTraining, round: int, epoch: int) -> None:
        """Bring the samples of this epoch into place. Full batches stay as long as the clients are the same."""
        sizes = [self.part.sizes[client] for client in clients]
        whole = not self.shape.first_batch_only and all(local.batch(n) >= n for n in sizes)
        if whole and self.loaded == clients:
            return
        self.loaded = list(clients) if whole else None
        offsets, samples = self.part.offsets, len(self.part.labels)
        if self.in_place:
            first = min(offsets[clients[0]], samples - self.shape.width)
            own = slice(first, first + self.shape.width)
            self.inputs = self.flat[own].to(self.stack.product)
            if first not in self.targets_from:
                self.targets_from[first] = self._targets(self.part.labels[own]).contiguous()
            self.targets.copy_(self.targets_from[first])
            if self.by_columns and self.counts[0]:
                self.stack.dense[0].columns = self.part.columns(clients[0])
        else:
            for row, client, n, size in zip(self.rows, clients, self.counts, sizes, strict=True):
                places = order(size, local, round, client, epoch)[:n]
                torch.add(places, offsets[client], out=row[:n])
                row[n:] = min(offsets[client], samples - 1)
            rows = sent(self.rows, self.part.labels.device).flatten()
            if self.at_once == self.shape.width:
                self.inputs = self._gathered(rows)
            self.targets.copy_(self._targets(self.part.labels[rows].view(*self.stack.models, -1)))

    def _targets(self, labels: Tensor) -> Tensor:
        return self.stack.loss.targets(labels, self.stack.classes, self.targets.dtype)

    def _gathered(self, rows: Tensor) -> Tensor:
        """Samples in these rows [m n] of the part, [*m, n, d]."""
        out = self.gathered(len(rows) // self.shape.models)
        into = out.view(-1, self.flat.shape[1])
        if out.dtype == self.flat.dtype:
            torch.index_select(self.flat, 0, rows, out=into)
        else:
            into.copy_(self.flat[rows])
        return out
