"""Some clients of a round with their samples: one epoch of local SGD as a program on tensors of fixed shape."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fairfl.algorithms.interface import Slope
from fairfl.simulation.backends.cuda_graph import Program, same_function
from fairfl.simulation.backends.dense_kernels import Chain
from fairfl.simulation.backends.interface import LocalTraining, Work, dropout_seed, order
from fairfl.simulation.clients import Part


@dataclass(frozen=True)
class Shape:
    """What a block can take in."""

    models: int
    width: int  # samples of each model; clients with less are padded with samples of weight 0
    batch: int
    once: bool  # a single step on a full batch
    pulled: bool  # proximal term
    heavy: bool  # momentum
    measured: bool  # losses at the start
    frozen: int = 0  # layers that take no steps
    drifted: bool = False  # a direction that all models share
    picked: bool = False  # the samples are the first batch of a client that has more


class Block:
    """Models in rows, samples in columns."""

    def __init__(self, shape: Shape, chain: Chain, part: Part) -> None:
        self.shape, self.chain, self.part = shape, chain, part
        models, width, like = shape.models, shape.width, part.inputs.new_empty(0)
        self.flat = part.inputs.flatten(1)
        self.alone = models == 1 and shape.batch == width and not shape.picked  # the samples are used where they are
        self.rows = torch.empty(models, width, dtype=torch.int64)
        self.inputs = like.new_empty(0 if self.alone else models, width, self.flat.shape[1], dtype=chain.product)
        self.targets = like.new_empty(models, chain.classes, width)
        self.weights = like.new_empty(models, 1, width)
        steps = -(-width // shape.batch)
        self.pull = like.new_zeros(steps, models, 1, 1) if shape.pulled else None
        self.follow = like.new_zeros(steps, models, 1, 1) if shape.heavy else None
        self.drift = like.new_zeros(steps, models, 1, 1) if shape.drifted else None
        self.losses = like.new_empty(models, width) if shape.measured else None
        own = sum(tensor.nbytes for tensor in (self.inputs, self.targets, self.weights))
        self.bytes = own + chain.bytes(shape.batch)
        self.counts: list[int] = []
        self.holds: list[int] | None = None  # the clients whose samples lie here, if another epoch may use them again
        self.generators: list[torch.Generator] = []
        self.slope: Slope | None = None
        self.program = self._program()

    def _program(self) -> Program:
        # The one step of `once` reads the models where they are, in another place each round.
        fixed = not (self.chain.dropouts or self.shape.once)
        return Program(self._epoch, self.chain.state, self.weights.device, graph=fixed)

    def _epoch(
        self,
        inputs: Tensor,
        targets: Tensor,
        weights: Tensor,
        pull: Tensor | None,
        follow: Tensor | None,
        drift: Tensor | None,
    ) -> None:
        for step, first in enumerate(range(0, self.shape.width, self.shape.batch)):
            window = slice(first, first + self.shape.batch)
            if self.chain.dropouts:
                real = [min(max(n - first, 0), self.shape.batch) for n in self.counts]
                self.chain.draw_from(list(zip(self.generators, real, strict=True)))
            self.chain.step(
                inputs[:, window],
                targets[..., window],
                weights[..., window],
                None if pull is None else pull[step],
                None if follow is None else follow[step],
                None if drift is None else drift[step],
                self.slope,
                self.losses if first == 0 else None,
            )

    def train(self, work: Work, counts: list[int], local: LocalTraining, round: int, out: Tensor) -> None:
        """All epochs of the models of `work`, whose clients have `counts` samples; start - trained model to `out`."""
        if not same_function(work.slope, self.slope):  # a captured graph holds the slope
            self.slope = work.slope
            self.program = self._program()
        self._weigh(work, counts)
        if self.chain.dropouts:
            seeds = [dropout_seed(local, round, client) for client in work.clients]
            self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        if self.shape.once:
            self.chain.borrow(work.start, out)
        else:
            self.chain.load(work.start, work.anchor, work.direction if self.shape.drifted else None)
        for epoch in range(local.passes):
            self._gather(work.clients, local, round, epoch)
            self.program(self.inputs, self.targets, self.weights, self.pull, self.follow, self.drift)
            if epoch == 0 and self.losses is not None:
                self.start_loss = (self.shares.to(self.losses.device) * self.losses).sum(1)
        if not self.shape.once:
            self.chain.moved(out)
        self.chain.release()

    def _weigh(self, work: Work, counts: list[int]) -> None:
        """Weight of each sample: (1 - mix) rate / size of its batch; 0 for padding. Pull of each step: rate x prox.

        With momentum both are those of z, see Work, and y follows z.
        """
        if counts != self.counts:
            self.counts = counts
            n = torch.tensor(counts, dtype=torch.float64).unsqueeze(1)  # [m, 1]
            place = torch.arange(self.shape.width).unsqueeze(0)
            size = (n - place // self.shape.batch * self.shape.batch).clamp(max=self.shape.batch)
            # 1 / size on a client's samples, 0 on padding; without any sample NaN, the mean loss of nothing.
            self.shares = torch.where(place < n, 1 / size, 0.0 / n)
            self.portions = self.shares.nan_to_num(0).unsqueeze(1)
            # A client whose epoch is over must stand still.
            self.begun = (torch.arange(0, self.shape.width, self.shape.batch).unsqueeze(1) < n.T).double()
        rate = work.rate
        if self.follow is not None:
            rate = rate / (1 - work.momentum)
            self.follow.copy_((self.begun * (1 - work.momentum))[:, :, None, None])
        self.weights.copy_(self.portions * ((1 - work.mix) * rate)[:, None, None])
        if self.drift is not None:
            self.drift.copy_((self.begun * (work.mix * rate))[:, :, None, None])
        if self.pull is not None and work.prox is not None:
            self.pull.copy_((self.begun * (rate * work.prox))[:, :, None, None])

    def _gather(self, clients: list[int], local: LocalTraining, round: int, epoch: int) -> None:
        """Bring the samples of this epoch into place. Full batches stay as long as the clients are the same."""
        sizes = [self.part.sizes[client] for client in clients]
        whole = not self.shape.picked and all(local.batch(n) >= n for n in sizes)
        if whole and self.holds == clients:
            return
        self.holds = list(clients) if whole else None
        offsets, samples = self.part.offsets, len(self.part.labels)
        for row, client, n, size in zip(self.rows, clients, self.counts, sizes, strict=True):
            torch.add(order(size, local, round, client, epoch)[:n], offsets[client], out=row[:n])
            row[n:] = min(offsets[client], samples - 1)
        rows = self.rows.flatten().to(self.part.labels.device)
        if self.alone:
            first = min(offsets[clients[0]], samples - self.shape.width)
            self.inputs = self.flat[first : first + self.shape.width].unsqueeze(0).to(self.chain.product)
        elif self.inputs.dtype == self.flat.dtype:
            torch.index_select(self.flat, 0, rows, out=self.inputs.view(-1, self.flat.shape[1]))
        else:
            self.inputs.view(-1, self.flat.shape[1]).copy_(self.flat[rows])
        labels = self.part.labels[rows].view(self.rows.shape)
        self.targets.copy_(self.chain.loss.targets(labels, self.chain.classes, self.targets.dtype))
