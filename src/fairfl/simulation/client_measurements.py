"""What the clients of a round measure on their training data, before and after they train."""

import itertools
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fairfl.simulation.backends.interface import Backend, LocalTraining, Work
from fairfl.simulation.clients import Part
from fairfl.simulation.evaluation import client_losses, client_measures, count_correct
from fairfl.simulation.losses import Loss
from fairfl.simulation.seeds import generator

# Written into `correct_received` and `correct_after` beyond a client's samples.
NO_SAMPLE = -1


@dataclass(frozen=True)
class ClientMeasurements:
    """Only what the algorithm `needs` is measured, on the clients of the round only."""

    backend: Backend
    loss: Loss
    part: Part  # training samples of all clients
    needs: tuple[str, ...]
    local: LocalTraining
    of_objective: bool = False  # losses are those of `local.objective`, on which clients train
    # Local training is plain SGD on the loss, whatever clients measure before.
    plain_steps: bool = False

    def needed(self, when: str) -> list[str]:
        """Needed ones of loss_<when>, accuracy_<when> and correct_<when>; `when` is received or after."""
        names = (f"{what}_{when}" for what in ("loss", "accuracy", "correct"))
        return [name for name in names if name in self.needs]

    def received(self, x: Tensor, clients: list[int], round: int) -> dict[str, Tensor]:
        """Measure what is needed of the server's x [P + B] or [M, P + B], but F_k if local training computes it."""
        if self.loss_from_first_step(clients):
            return {}
        return self.at("received", x.unsqueeze(-2), clients, round)

    def loss_from_first_step(self, clients: list[int]) -> bool:
        """True if F_k is a by-product of local training, which saves a pass over all samples.

        The first step is on all samples and from x, nothing is decided by F_k before, and no other number asks for a
        pass anyway.
        """
        return (
            self.plain_steps
            and self.needed("received") == ["loss_received"]
            and not self.backend.stochastic
            and all(self.local.batch(self.part.sizes[k]) >= self.part.sizes[k] for k in clients)
        )

    def at(self, when: str, models: Tensor, clients: list[int], round: int) -> dict[str, Tensor]:
        """Measure what is `needed`: losses in nats, accuracies as fractions, samples classified right as 1 or 0.

        Models [1, P + B], one for all clients, or [m, P + B], one for each, give [m] ([m, n_max] of samples); with M of
        these in front, [M, m].
        """
        names, values = self.needed(when), {}
        if not names:
            return {}
        loss, accuracy, correct = (f"{what}_{when}" for what in ("loss", "accuracy", "correct"))
        shape = (*models.shape[:-2], len(clients))
        # Each model with the samples that it is measured on: all clients', or those of one.
        groups = [clients] if models.shape[-2] == 1 else [[k] for k in clients]
        parts = itertools.cycle([self.part.of_clients(group) for group in groups])
        pairs = list(zip(models.flatten(0, -2), parts, strict=False))
        if accuracy in names:
            both = [client_measures(self.backend.forward, self.loss, x, part) for x, part in pairs]
            rows = (torch.cat(numbers).view(shape) for numbers in zip(*both, strict=True))
            values[loss], values[accuracy] = rows
        elif loss in names and not self.of_objective:
            losses = [client_losses(self.backend.forward, self.loss, x, part) for x, part in pairs]
            values[loss] = torch.cat(losses).view(shape)
        if loss in names and self.of_objective:
            each = zip(
                models.expand(*shape, -1).flatten(0, -2), itertools.cycle(clients), strict=False
            )
            losses = [self._objective(x, client, round) for x, client in each]
            values[loss] = torch.stack(losses).view(shape)
        if correct in names:
            values[correct] = self._correct(pairs).view(*shape, -1)
        return {name: values[name] for name in names}

    def _objective(self, x: Tensor, client: int, round: int) -> Tensor:
        """Mean of the objective of one client's samples, [] float64."""
        assert self.local.objective is not None
        inputs, labels = self.part.of(client)
        draws = generator(self.local.seed, "measuring", round, client)
        losses = self.local.objective.losses(
            lambda z: self.backend.forward(x, z), inputs, labels, round, draws
        )
        return losses.double().mean()

    def _correct(self, pairs: list[tuple[Tensor, Part]]) -> Tensor:
        """Samples that are classified right, one row for each client of each pair, [rows, n_max] int8."""
        rows: list[Tensor] = []
        for x, part in pairs:
            hits = count_correct(self.backend.forward, x, part).to(torch.int8)
            rows += hits.split(part.sizes)
        padded = pad_sequence(rows, batch_first=True, padding_value=NO_SAMPLE)
        missing = max(self.part.sizes) - padded.shape[1]
        return torch.nn.functional.pad(padded, (0, missing), value=NO_SAMPLE)

    def gradients(
        self, x: Tensor, clients: list[int], round: int, parameters: int
    ) -> Tensor | None:
        """Gradient of each client's mean loss at x [P + B], [m, P]; None if it is not needed.

        It is what one step of rate 1 takes from x. Normalisation layers work as in training, and their statistics stay.
        Raises ValueError if the server keeps several models.
        """
        kinds = {"gradient_full", "gradient_batch"} & {*self.needs}
        if not kinds:
            return None
        if x.dim() > 1:
            raise ValueError(
                "gradients at the received model are for algorithms whose server keeps one model"
            )
        size = None if "gradient_full" in kinds else self.local.batch_size
        plain = replace(self.local, optimizer="sgd", weight_decay=0.0, privacy=None)
        local = replace(plain, epochs=1, single=True, batch_size=size)
        m = len(clients)
        work = Work(clients, x.expand(m, -1), rate=torch.ones(m, dtype=torch.float64))
        return self.backend.train(work, local, round).delta[:, :parameters]
