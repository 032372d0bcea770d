"""The simulator: rounds of local training and aggregation, evaluation, resume."""

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fairfl import algorithms, models
from fairfl.algorithms.interface import Aggregate, Deployed, Federation, Plan, Received, Reports, Slope, plain_plan
from fairfl.engine import parameters
from fairfl.engine.aggregation import averaged_away, combine, finite
from fairfl.engine.checkpoint import Checkpoint
from fairfl.engine.dense import supports
from fairfl.engine.device import product_dtype
from fairfl.engine.evaluation import Evaluation, client_losses, client_measures, count, evaluate
from fairfl.engine.federation import Clients, Part
from fairfl.engine.local import Backend, LocalTraining, Work
from fairfl.engine.losses import LOSSES, ClosedForm, outputs_needed
from fairfl.engine.program import same
from fairfl.engine.progress import Progress
from fairfl.engine.seeds import generator, seed_of
from fairfl.engine.sequential import Sequential
from fairfl.engine.stacked import Stacked
from fairfl.metrics.fairness import recall

# Evaluations that wait on the device before they are fetched together.
PENDING = 32


def make_backend(
    spec: dict[str, Any], clients: Clients, name: str, device: torch.device, count: int | None = None
) -> tuple[Backend, Tensor]:
    """The backend and the initial model x [P + B], or [count, P + B] for several.

    `name` is auto, stacked or sequential. Raises ValueError if the backend cannot run the model.
    """
    outputs = outputs_needed(spec["loss"], clients.classes)
    train = clients.parts["train"]

    def built(*purpose: str | int) -> torch.nn.Module:
        seed = seed_of(spec["seed"], *purpose)
        model = parameters.initial(lambda: models.build(spec["model"], clients.shape, outputs), seed)
        return model.to(device=device, dtype=clients.dtype)

    model = built("init")
    clients.check(model, spec["loss"])
    x = parameters.flatten(model)
    if count is not None:
        x = torch.stack([x, *(parameters.flatten(built("init", number)) for number in range(1, count))])
    can = supports(model) and isinstance(LOSSES[spec["loss"]], ClosedForm)
    stackable = can and spec["optimizer"] == "sgd"
    if name == "stacked" and not stackable:
        what = f"optimizer {spec['optimizer']}" if can else f"model {spec['model']['name']}"
        raise ValueError(f"backend stacked cannot run {what}; use auto or sequential")
    kind = Stacked if stackable and name != "sequential" else Sequential
    return kind(model, spec["loss"], train, product_dtype(spec["precision"])), x


@dataclass
class Result:
    """What a run leaves: one entry per evaluated round in `history`, and the mixture that was deployed last."""

    x: Tensor
    history: list[dict[str, Tensor]]
    dropped: int = 0
    path: list[Tensor] = field(default_factory=list)
    mixture: Tensor | None = None  # [K, R]


class Simulation:
    """One run.

    `best` are the local optima L*_k on validation data, [K] nats, and `memberships` [K, M] what the run that this one
    comes after deployed, if the algorithm needs them.
    """

    def __init__(
        self,
        spec: dict[str, Any],
        clients: Clients,
        best: Tensor | None,
        device: torch.device,
        backend: str = "auto",
        memberships: Tensor | None = None,
    ) -> None:
        self.spec, self.clients, self.device = spec, clients, device
        self.algorithm = algorithms.load(spec["algorithm"])
        self.config = self.algorithm.Config(**spec["hyperparameters"])
        self.needs = self.algorithm.needs(self.config)
        self.best = best.to(device) if best is not None else None
        built = {**spec, "model": self.algorithm.architecture(spec["model"], clients.count, self.config)}
        self.backend, self.x = make_backend(built, clients, backend, device, self.algorithm.models(self.config))
        self.parameters = parameters.count(self.backend.model)  # P
        self.loss = LOSSES[spec["loss"]]
        self.samples = clients.parts["train"].counts.double().to(device)
        self.local = LocalTraining(
            spec["local_epochs"], spec["batch_size"], spec["seed"], spec["optimizer"], spec["weight_decay"]
        )
        self.rate = torch.full((clients.count,), spec["learning_rate"], dtype=torch.float64)
        self.everybody = torch.arange(clients.count, device=device)
        self.totals = {name: count(part, clients.classes).cpu() for name, part in clients.parts.items()}
        federation = Federation(
            samples=self.samples,
            x=self.x,
            clients_per_round=spec["clients_per_round"],
            parameters=self.parameters,
            shapes=tuple(tuple(parameter.shape) for parameter in self.backend.model.parameters()),
            labels=self.totals["train"].double().to(device),
            memberships=None if memberships is None else memberships.to(device),
            model=spec["model"],
            seed=seed_of(spec["seed"], "server"),
        )
        self.state = self.algorithm.init(federation, self.config)
        self.phases = self.algorithm.phases(federation, self.config)
        self.slope: Slope | None = None
        self.result = Result(self.x, [])
        self.round = 0
        self.stalled = False  # in the newest round nobody sent finite numbers
        self.pending: list[tuple[int, dict[str, Evaluation]]] = []

    # -- measuring ----------------------------------------------------------------------------
    def deployed(self) -> Deployed:
        return self.algorithm.deploy(self.state, self.x, self.config)

    def evaluated(self, part: str, deployed: Deployed | None = None) -> Evaluation:
        """Every client on its samples of a part, with what is deployed to it now."""
        deployed = deployed or self.deployed()
        return evaluate(self.backend.forward, self.loss, deployed, self.clients.parts[part], self.clients.classes)

    def losses(self, part: str, ids: list[int]) -> Tensor:
        return client_losses(self.backend.forward, self.loss, self.x, self.clients.parts[part].of_clients(ids))

    def first_step_tells(self, ids: list[int]) -> bool:
        """True if F_k falls off local training.

        Its first step is on all samples and from x, nobody needs F_k earlier, and a_k asks for no pass of its own.
        """
        sizes = self.clients.parts["train"].sizes
        return (
            self.algorithm.plan is plain_plan
            and "accuracy_received" not in self.needs
            and not self.backend.stochastic
            and all(self.local.batch(sizes[k]) >= sizes[k] for k in ids)
        )

    def received(self, ids: list[int], phase: int, later: bool = False) -> Received:
        """Only what the algorithm needs is measured, on the clients of the round only; F_k not if it comes later."""
        needs, measured = self.needs, self.asked("received") and not later
        clients = self.everybody if len(ids) == len(self.everybody) else torch.tensor(ids, device=self.device)
        return Received(
            clients=clients,
            samples=self.samples[clients],
            learning_rate=self.spec["learning_rate"],
            x=self.x,
            round=self.round,
            phase=phase,
            seed=seed_of(self.spec["seed"], "server", self.round, *([phase] if phase else [])),
            **(self.on_training_data("received", self.x.unsqueeze(-2), ids) if measured else {}),
            val_received=self.losses("validation", ids) if "val_received" in needs else None,
            val_best=self.best[clients] if self.best is not None and "val_best" in needs else None,
        )

    def asked(self, when: str) -> list[str]:
        """Those of loss_<when> and accuracy_<when> that the algorithm needs; `when` is received or after."""
        return [name for name in (f"loss_{when}", f"accuracy_{when}") if name in self.needs]

    def on_training_data(self, when: str, models: Tensor, ids: list[int]) -> dict[str, Tensor]:
        """What is `asked` for, loss in nats, accuracy as fraction, both in one pass.

        Models [1, P + B], one for all clients, or [m, P + B], one for each, give [m]; with M of these in front, [M, m].
        """
        train, (loss, accuracy) = self.clients.parts["train"], (f"loss_{when}", f"accuracy_{when}")

        def measured(x: Tensor, part: Part) -> dict[str, Tensor]:
            if accuracy not in self.needs:
                return {loss: client_losses(self.backend.forward, self.loss, x, part)}
            return dict(zip((loss, accuracy), client_measures(self.backend.forward, self.loss, x, part), strict=True))

        parts = [train.of_clients(own) for own in ([ids] if models.shape[-2] == 1 else [[k] for k in ids])]
        found = [measured(x, part) for x, part in zip(models.flatten(0, -2), itertools.cycle(parts), strict=False)]
        shape = (*models.shape[:-2], len(ids))
        return {name: torch.cat([own[name] for own in found]).view(shape) for name in self.asked(when)}

    @torch.no_grad()
    def record(self) -> None:
        """Measure every client. The numbers stay on the device until they are fetched."""
        deployed = self.deployed()
        self.result.mixture = deployed.mixture
        measured = {part: self.evaluated(part, deployed) for part in self.spec["evaluated_parts"]}
        if self.stalled:  # a model that no client can train has diverged, though its loss may still be a number
            measured = {part: replace(own, loss=own.loss * float("nan")) for part, own in measured.items()}
        self.pending.append((self.round, measured))
        if self.spec["keep"] == "path":
            self.result.path.append(self.x.cpu().clone())
        if len(self.pending) >= PENDING:
            self.fetch()

    def fetch(self) -> None:
        """Bring pending measurements into the history: loss, accuracy (fraction), recall, all float64, samples; [K]."""
        for number, measured in self.pending:
            row: dict[str, Tensor] = {"round": torch.tensor(number)}
            for part, evaluation in measured.items():
                hits, totals = evaluation.hits.cpu(), self.totals[part]
                row[f"loss_{part}"] = evaluation.loss.cpu()
                row[f"accuracy_{part}"] = hits.sum(1).double() / totals.sum(1)
                row[f"recall_{part}"] = torch.from_numpy(recall(hits.numpy(), totals.numpy()))
                row[f"samples_{part}"] = self.clients.parts[part].counts
            self.result.history.append(row)
        self.pending.clear()

    # -- one round ----------------------------------------------------------------------------
    def sampled(self) -> list[int]:
        """Clients of this round, ascending ids [m]: all, or a uniform draw without replacement."""
        K, m = self.clients.count, self.spec["clients_per_round"]
        if m == K:
            return list(range(K))
        draw = torch.randperm(K, generator=generator(self.spec["seed"], "clients", self.round))
        return draw[:m].sort().values.tolist()

    def work(self, ids: list[int], plan: Plan) -> tuple[Work, Tensor]:
        """The models to train, one after the other, and their starts as [m, P + B] or [models, m, P + B]."""
        m, size = len(ids), self.x.shape[-1]
        x = self.x.unsqueeze(-2).expand(*self.x.shape[:-1], m, size)  # [m, P + B] or [M, m, P + B]
        start = x if plan.start is None else plan.start
        models = 1 if start.dim() == 2 else len(start)
        rate = self.rate[:m] if plan.lr_scale is None else self.rate[:m] * plan.lr_scale.cpu()
        if models > 1:
            rate = rate.repeat(models)
        if not same(plan.slope, self.slope):  # one object for a slope that algorithms write anew in each round
            self.slope = plan.slope
        work = Work(
            clients=ids * models,
            start=start.reshape(-1, size),
            rate=rate,
            momentum=plan.momentum,
            slope=self.slope,
            frozen=plan.frozen,
        )
        if isinstance(plan.prox, Tensor) or plan.prox:
            prox = torch.as_tensor(plan.prox, dtype=torch.float64).cpu()
            anchor = x.expand_as(start).reshape(-1, size)
            work = replace(work, prox=prox.expand(models).repeat_interleave(m), anchor=anchor)
        return work, start

    @torch.no_grad()
    def step(self) -> None:
        """One round."""
        ids = self.sampled()
        for phase in range(self.phases):
            self.exchange(ids, phase)
            if self.stalled:
                break
        self.round += 1

    def exchange(self, ids: list[int], phase: int) -> None:
        """Clients receive, train and report; the server aggregates."""
        later = "loss_received" in self.needs and self.first_step_tells(ids)
        received = self.received(ids, phase, later)
        plan = self.algorithm.plan(self.state, received, self.config)
        work, start = self.work(ids, plan)
        local = self.local if plan.epochs is None else replace(self.local, epochs=plan.epochs)
        trained = self.backend.train(work, local, self.round, losses=later)
        moved = trained.delta.view(start.shape)
        if later and trained.loss is not None:
            received = replace(received, loss_received=trained.loss.view(start.shape[:-1]))
        after = self.on_training_data("after", start - moved, ids) if self.asked("after") else {}
        known = {**received.__dict__, "start": start, **self.split(start, moved), **after}
        reports = finite(Reports(**known))
        self.result.dropped += len(ids) - len(reports.clients)
        self.stalled = not len(reports.clients)
        if not self.stalled:
            aggregate, self.state = self.algorithm.aggregate(self.state, reports, self.config)
            self.x = self.x - self.update(aggregate, reports) if aggregate.model is None else aggregate.model

    def split(self, start: Tensor, moved: Tensor) -> dict[str, Tensor]:
        """What clients moved by, apart: of the parameters as D, the buffers as they are now."""
        if moved.shape[-1] == self.parameters:
            return {"delta": moved}
        P = self.parameters
        return {"delta": moved[..., :P], "buffers": start[..., P:] - moved[..., P:]}

    def update(self, aggregate: Aggregate, reports: Reports) -> Tensor:
        """G of the parameters; behind it what makes buffers the mean of the clients', [P + B] or [M, P + B]."""
        G = self.x.new_zeros(*self.x.shape[:-1], self.parameters)
        if aggregate.weights is not None:
            G = combine(aggregate.weights, reports.delta, several=self.x.dim() == 2)
        if aggregate.extra is not None:
            G = G + aggregate.extra
        if reports.buffers is None:
            return G
        held = self.x[..., self.parameters :]
        if aggregate.weights is None:
            return torch.cat([G, torch.zeros_like(held)], dim=-1)
        return torch.cat([G, averaged_away(held, reports.buffers, aggregate.weights, reports.samples)], dim=-1)

    # -- the run ------------------------------------------------------------------------------
    def run(self, checkpoint: Checkpoint | None = None) -> Result:
        """All rounds from where the checkpoint stands. Equal to the bit to a run that was not interrupted."""
        measured = -1  # last evaluated round
        if checkpoint and (saved := checkpoint.restore()) is not None:
            self._load(saved)
            measured = max((int(row["round"]) for row in self.result.history), default=-1)
        rounds, every = self.spec["rounds"], self.spec["evaluate_every"]
        progress = Progress(rounds, self.latest, self.round)
        while True:
            if measured < self.round and (self.round % every == 0 or self.round == rounds):
                self.record()
            if self.round == rounds:
                break
            self.step()
            progress.step(self.round, force=self.round == rounds)
            if checkpoint and self.round < rounds and checkpoint.due():
                checkpoint.save(self._saved())
        self.fetch()
        self.result.x = self.x
        return self.result

    def latest(self) -> str:
        """The newest metrics of the last part in words: mean loss, mean and worst accuracy over the clients."""
        self.fetch()
        if not self.result.history:
            return ""
        row, part = self.result.history[-1], self.spec["evaluated_parts"][-1]
        loss, accuracy = row[f"loss_{part}"].nanmean(), row[f"accuracy_{part}"]
        worst = accuracy.nan_to_num(1).min()
        return f"loss {loss:.4f}" + (
            "" if accuracy.isnan().all() else f"  accuracy {accuracy.nanmean():.4f} worst {worst:.4f}"
        )

    def _saved(self) -> dict[str, Any]:
        self.fetch()
        return {
            "x": self.x.cpu(),
            "state": {name: value.cpu() for name, value in self.state.items()},
            "round": self.round,
            "stalled": self.stalled,
            "history": self.result.history,
            "dropped": self.result.dropped,
            "path": self.result.path,
        }

    def _load(self, saved: dict[str, Any]) -> None:
        self.x = saved["x"].to(self.device)
        self.state = {name: value.to(self.device) for name, value in saved["state"].items()}
        self.round, self.stalled = saved["round"], saved["stalled"]
        self.result = Result(self.x, saved["history"], saved["dropped"], saved["path"])
