"""The simulator: rounds of local training and aggregation, evaluation, resume."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fairfl import algorithms, models
from fairfl.algorithms.interface import Federation, Received, Reports
from fairfl.engine import parameters
from fairfl.engine.checkpoint import Checkpoint
from fairfl.engine.federation import PARTS, Clients
from fairfl.engine.local import Backend, Evaluation, LocalTraining, client_losses, evaluate
from fairfl.engine.losses import LOSSES, outputs_needed
from fairfl.engine.progress import Progress
from fairfl.engine.seeds import generator, seed_of
from fairfl.engine.sequential import Sequential
from fairfl.engine.stacked import Stacked, supports
from fairfl.metrics.fairness import recall


def make_backend(spec: dict[str, Any], clients: Clients, name: str, device: torch.device) -> tuple[Backend, Tensor]:
    """The backend and the initial model x [P]; `name` is auto, stacked or sequential."""
    outputs = outputs_needed(spec["loss"], clients.classes)
    model = parameters.initial(
        lambda: models.build(spec["model"], clients.shape, outputs), seed_of(spec["seed"], "init")
    )
    train = clients.parts["train"]
    model = model.to(device=device, dtype=train.inputs.dtype)
    x = parameters.flatten(model)
    if name == "stacked" and not supports(model):
        raise ValueError(f"backend stacked cannot run model {spec['model']['name']}; use auto or sequential")
    stacked = supports(model) and name != "sequential"
    return (Stacked if stacked else Sequential)(model, spec["loss"], train), x


@dataclass
class Result:
    """What a run leaves: one entry per evaluated round in `history`."""

    x: Tensor
    history: list[dict[str, Tensor]]
    dropped: int = 0
    path: list[Tensor] = field(default_factory=list)


class Simulation:
    """One run. `best` are the local optima L*_k on validation data, [K] nats, if the algorithm needs them."""

    def __init__(
        self, spec: dict[str, Any], clients: Clients, best: Tensor | None, device: torch.device, backend: str = "auto"
    ) -> None:
        self.spec, self.clients, self.device = spec, clients, device
        self.algorithm = algorithms.load(spec["algorithm"])
        self.config = self.algorithm.Config(**spec["hyperparameters"])
        self.best = best.to(device) if best is not None else None
        self.backend, self.x = make_backend(spec, clients, backend, device)
        self.loss = LOSSES[spec["loss"]]
        self.samples = clients.parts["train"].counts.double().to(device)
        self.local = LocalTraining(spec["local_epochs"], spec["batch_size"], spec["learning_rate"], spec["seed"])
        self.state = self.algorithm.init(Federation(self.samples), self.config)
        self.result = Result(self.x, [])
        self.round = 0

    # -- measuring ----------------------------------------------------------------------------
    def evaluated(self, part: str) -> Evaluation:
        return evaluate(self.backend.forward, self.loss, self.x, self.clients.parts[part], self.clients.classes)

    def losses(self, part: str, ids: Tensor) -> Tensor:
        return client_losses(self.backend.forward, self.loss, self.x, self.clients.parts[part])[ids]

    def received(self, ids: Tensor) -> Received:
        """Only what the algorithm NEEDS is measured."""
        needs = self.algorithm.NEEDS
        return Received(
            clients=ids,
            samples=self.samples[ids],
            learning_rate=self.local.learning_rate,
            loss_received=self.losses("train", ids) if "loss_received" in needs else None,
            val_received=self.losses("validation", ids) if "val_received" in needs else None,
            val_best=self.best[ids] if "val_best" in needs else None,
        )

    def record(self) -> dict[str, Tensor]:
        """Loss, accuracy (fraction) and recall of every client on every part, [K] float64 on the CPU."""
        row: dict[str, Tensor] = {"round": torch.tensor(self.round)}
        for part in PARTS:
            measured = self.evaluated(part)
            hits, totals = measured.hits.cpu(), measured.totals.cpu()
            row[f"loss_{part}"] = measured.loss.cpu()
            row[f"accuracy_{part}"] = hits.sum(1).double() / totals.sum(1)
            row[f"recall_{part}"] = torch.from_numpy(recall(hits.numpy(), totals.numpy()))
        return row

    # -- one round ----------------------------------------------------------------------------
    def sampled(self) -> Tensor:
        """Clients of this round, ascending ids [m]: all, or a uniform draw without replacement."""
        K, m = self.clients.count, self.spec["clients_per_round"]
        if m == K:
            return torch.arange(K, device=self.device)
        draw = torch.randperm(K, generator=generator(self.spec["seed"], "clients", self.round))
        return draw[:m].sort().values.to(self.device)

    def step(self) -> None:
        received = self.received(self.sampled())
        plan = self.algorithm.plan(self.state, received, self.config)
        delta = self.backend.train(self.x, received.clients, plan, self.local, self.round)
        reports = Reports(**received.__dict__, delta=delta)
        reports = self._finite(reports)
        if reports is not None:
            aggregate, self.state = self.algorithm.aggregate(self.state, reports, self.config)
            G = aggregate.weights.to(delta.dtype) @ reports.delta
            if aggregate.extra is not None:
                G = G + aggregate.extra
            self.x = self.x - G
        self.round += 1

    def _finite(self, reports: Reports) -> Reports | None:
        """Leave out clients that sent a NaN or an infinity; None if nobody is left (x stays as it is)."""
        good = torch.isfinite(reports.delta).all(dim=1)
        fields = ("loss_received", "val_received", "val_best")
        losses = {name: value for name in fields if (value := getattr(reports, name)) is not None}
        for value in losses.values():
            good &= torch.isfinite(value)
        if bool(good.all()):
            return reports
        self.result.dropped += int((~good).sum())
        if not good.any():
            return None
        return Reports(
            clients=reports.clients[good],
            samples=reports.samples[good],
            learning_rate=reports.learning_rate,
            delta=reports.delta[good],
            **{name: value[good] for name, value in losses.items()},
        )

    # -- the run ------------------------------------------------------------------------------
    def run(self, checkpoint: Checkpoint | None = None) -> Result:
        """All rounds from where the checkpoint stands. Equal to the bit to a run that was not interrupted."""
        if checkpoint and (saved := checkpoint.restore()) is not None:
            self._load(saved)
        rounds, every = self.spec["rounds"], self.spec["evaluate_every"]
        progress = Progress(rounds, self.round)
        while True:
            if self.round % every == 0 or self.round == rounds:
                self._evaluate(progress)
            if self.round == rounds:
                break
            self.step()
            progress.step(self.round, force=self.round == rounds)
            if checkpoint and self.round < rounds and checkpoint.due():
                checkpoint.save(self._saved())
        self.result.x = self.x
        return self.result

    def _evaluate(self, progress: Progress) -> None:
        history = self.result.history
        if history and int(history[-1]["round"]) == self.round:
            return  # restored from a checkpoint that was taken right here
        row = self.record()
        history.append(row)
        if self.spec["keep"] == "path":
            self.result.path.append(self.x.cpu().clone())
        accuracy = row["accuracy_test"]
        progress.evaluated(
            float(row["loss_test"].nanmean()), float(accuracy.nanmean()), float(accuracy.nan_to_num(1).min())
        )

    def _saved(self) -> dict[str, Any]:
        return {
            "x": self.x.cpu(),
            "state": {name: value.cpu() for name, value in self.state.items()},
            "round": self.round,
            "history": self.result.history,
            "dropped": self.result.dropped,
            "path": self.result.path,
        }

    def _load(self, saved: dict[str, Any]) -> None:
        self.x = saved["x"].to(self.device)
        self.state = {name: value.to(self.device) for name, value in saved["state"].items()}
        self.round = saved["round"]
        self.result = Result(self.x, saved["history"], saved["dropped"], saved["path"])
