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
    plain_steps: bool = (
        False  # local training is plain SGD on the loss, whatever clients measure before
    )

    def needed(self, when: str) -> list[str]:
        """Needed ones of loss_<when>, accuracy_<when> and correct_<when>; `when` is received or after."""
        return [
            name
            for name in (f"loss_{when}", f"accuracy_{when}", f"correct_{when}")
            if name in self.needs
        ]

    def received(self, x: Tensor, clients: list[int], round: int) -> dict[str, Tensor]:
        """What is needed of the server's models x [P + B] or [M, P + B], but F_k if local training computes it."""
        return (
            {}
            if self.loss_from_first_step(clients)
            else self.at("received", x.unsqueeze(-2), clients, round)
        )

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
        """What is `needed`: losses in nats, accuracies as fractions, which samples are classified right as 1 and 0.

        Models [1, P + B], one for all clients, or [m, P + B], one for each, give [m] ([m, n_max] of samples); with M of
        these in front, [M, m].
        """
        names = self.needed(when)
        if not names:
            return {}
        values: dict[str, Tensor] = {}
        parts = [
            self.part.of_clients(ids)
            for ids in ([clients] if models.shape[-2] == 1 else [[k] for k in clients])
        ]
        pairs = list(zip(models.flatten(0, -2), itertools.cycle(parts), strict=False))
        shape = (*models.shape[:-2], len(clients))
        if f"accuracy_{when}" in names:
            both = [client_measures(self.backend.forward, self.loss, x, part) for x, part in pairs]
            loss, accuracy = (torch.cat(numbers).view(shape) for numbers in zip(*both, strict=True))
            values = {f"loss_{when}": loss, f"accuracy_{when}": accuracy}
        elif f"loss_{when}" in names and not self.of_objective:
            losses = [client_losses(self.backend.forward, self.loss, x, part) for x, part in pairs]
            values = {f"loss_{when}": torch.cat(losses).view(shape)}
        if f"loss_{when}" in names and self.of_objective:
            each = models.expand(*shape, -1).flatten(0, -2)
            losses = [
                self._objective(x, k, round)
                for x, k in zip(each, itertools.cycle(clients), strict=False)
            ]
            values[f"loss_{when}"] = torch.stack(losses).view(shape)
        if f"correct_{when}" in names:
            values[f"correct_{when}"] = self._correct(pairs).view(*shape, -1)
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
        """Which samples are classified right, one row for each client of each pair, [rows, n_max] int8."""
        rows = [
            row
            for x, part in pairs
            for row in count_correct(self.backend.forward, x, part).split(part.sizes)
        ]
        padded = pad_sequence(
            [row.to(torch.int8) for row in rows], batch_first=True, padding_value=NO_SAMPLE
        )
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
        batch_size = None if "gradient_full" in kinds else self.local.batch_size
        local = replace(
            self.local,
            epochs=1,
            single=True,
            batch_size=batch_size,
            optimizer="sgd",
            weight_decay=0.0,
            privacy=None,
        )
        work = Work(
            clients, x.expand(len(clients), -1), rate=torch.ones(len(clients), dtype=torch.float64)
        )
        return self.backend.train(work, local, round).delta[:, :parameters]
