"""The simulator: rounds of local training and aggregation, evaluation, resume."""

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fairfl import algorithms
from fairfl.algorithms.interface import Aggregate, EvaluationModels, Federation, Plan, Received, Reports, Slope
from fairfl.runtime.progress import Progress
from fairfl.simulation import flat_parameters
from fairfl.simulation.aggregation import averaged_away, combine, finite
from fairfl.simulation.backends.cuda_graph import same
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.client_measurements import Measuring
from fairfl.simulation.clients import Clients
from fairfl.simulation.communication import Exchanged
from fairfl.simulation.evaluation import Evaluation, client_losses, count, evaluate, recall
from fairfl.simulation.losses import LOSSES
from fairfl.simulation.modifiers import Modifiers
from fairfl.simulation.seeds import generator, seed_of
from fairfl.simulation.training_spec import Model, TrainingSpec

# Evaluations that wait on the device before they are fetched together.
PENDING = 32


@dataclass
class Result:
    """What a run leaves: one entry per evaluated round in `history`, and the mixture of its last evaluation."""

    x: Tensor
    history: list[dict[str, Tensor]]
    dropped: int = 0
    path: list[Tensor] = field(default_factory=list)
    mixture: Tensor | None = None  # [K, R]


class Simulation:
    """One run.

    `best` are the local optima L*_k on validation data, [K] nats, and `memberships` [K, M] what the run that this one
    `depends_on` ended with, if the algorithm needs them.
    """

    def __init__(
        self,
        spec: TrainingSpec,
        clients: Clients,
        best: Tensor | None,
        device: torch.device,
        backend: str = "auto",
        memberships: Tensor | None = None,
    ) -> None:
        self.spec, self.clients, self.device = spec, clients, device
        self.algorithm = algorithms.create(spec.algorithm, spec.hyperparameters)
        self.needs = self.algorithm.required_measurements()
        self.best = best.to(device) if best is not None else None
        self.modifiers = Modifiers(spec, self.needs, clients.classes, clients.shape)
        architecture = self.algorithm.architecture(spec.model.model_dump(), clients.count)
        built = spec.model_copy(update={"model": Model(**architecture)})
        sequential = f"algorithm {spec.algorithm}" if self.algorithm.requires_sequential else ""
        special = self.modifiers.local or sequential
        models = self.algorithm.server_models()
        self.backend, self.x = make_backend(built, clients, backend, device, models, special)
        self.parameters = flat_parameters.count(self.backend.model)  # P
        self.loss = LOSSES[spec.loss]
        self.samples = clients.parts["train"].counts.double().to(device)
        self.local = LocalTraining(
            spec.local_epochs,
            spec.batch_size,
            spec.seed,
            spec.optimizer,
            spec.weight_decay,
            objective=self.modifiers.objective,
            privacy=self.modifiers.privacy,
        )
        robust = self.algorithm.measures_objective and self.modifiers.objective is not None
        self.measuring = Measuring(self.backend, self.loss, clients.parts["train"], self.needs, self.local, robust)
        self.everybody = torch.arange(clients.count, device=device)
        self.totals = {name: count(part, clients.classes).cpu() for name, part in clients.parts.items()}
        federation = Federation(
            samples=self.samples,
            x=self.x,
            clients_per_round=spec.clients_per_round,
            parameters=self.parameters,
            shapes=tuple(tuple(parameter.shape) for parameter in self.backend.model.parameters()),
            labels=self.totals["train"].double().to(device),
            memberships=None if memberships is None else memberships.to(device),
            model=spec.model.model_dump(),
            seed=seed_of(spec.seed, "server"),
        )
        self.state = self.algorithm.init_state(federation)
        self.modifiers.init(federation)
        self.exchanged = Exchanged(self.algorithm.traffic(federation), self.parameters)
        self.exchanges = self.algorithm.exchanges_per_round(federation)
        self.slope: Slope | None = None
        self.result = Result(self.x, [])
        self.round = 0
        self.stalled = False  # in the newest round nobody sent finite numbers
        self.pending: list[tuple[int, dict[str, Evaluation]]] = []

    # -- measuring ----------------------------------------------------------------------------
    def evaluation_models(self) -> EvaluationModels:
        return self.algorithm.evaluation_models(self.state, self.x)

    def evaluated(self, part: str, models: EvaluationModels | None = None) -> Evaluation:
        """Every client on its samples of a part, with its model or mixture of models as they are now."""
        models = models or self.evaluation_models()
        return evaluate(self.backend.forward, self.loss, models, self.clients.parts[part], self.clients.classes)

    def losses(self, part: str, ids: list[int]) -> Tensor:
        return client_losses(self.backend.forward, self.loss, self.x, self.clients.parts[part].of_clients(ids))

    def first_step_tells(self, ids: list[int]) -> bool:
        """True if F_k falls off local training.

        Its first step is on all samples and from x, nobody needs F_k earlier, and a_k asks for no pass of its own.
        """
        sizes = self.clients.parts["train"].sizes
        return (
            self.algorithm.uses_plain_sgd()
            and self.measuring.asked("received") == ["loss_received"]
            and not self.backend.stochastic
            and not self.modifiers.local
            and all(self.local.batch(sizes[k]) >= sizes[k] for k in ids)
        )

    def received(self, ids: list[int], exchange: int, later: bool = False) -> Received:
        """Only what the algorithm needs is measured, on the clients of the round only; F_k not if it comes later."""
        needs, measured = self.needs, self.measuring.asked("received") and not later
        clients = self.everybody if len(ids) == len(self.everybody) else torch.tensor(ids, device=self.device)
        return Received(
            clients=clients,
            samples=self.samples[clients],
            learning_rate=self.learning_rate,
            x=self.x,
            round=self.round,
            exchange=exchange,
            seed=seed_of(self.spec.seed, "server", self.round, *([exchange] if exchange else [])),
            gradient=self.measuring.gradients(self.x, ids, self.round, self.parameters),
            **(self.measuring.at("received", self.x.unsqueeze(-2), ids, self.round) if measured else {}),
            val_received=self.losses("validation", ids) if "val_received" in needs else None,
            val_best=self.best[clients] if self.best is not None and "val_best" in needs else None,
        )

    @torch.no_grad()
    def record(self) -> None:
        """Measure every client. The numbers stay on the device until they are fetched."""
        models = self.evaluation_models()
        self.result.mixture = models.mixture
        measured = {part: self.evaluated(part, models) for part in self.spec.evaluated_parts}
        if self.stalled:  # a model that no client can train has diverged, though its loss may still be a number
            measured = {part: replace(own, loss=own.loss * float("nan")) for part, own in measured.items()}
        self.pending.append((self.round, measured))
        if self.spec.keep == "path":
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
    @property
    def learning_rate(self) -> float:
        """Local rate of this round."""
        decay = self.spec.lr_decay
        return self.spec.learning_rate * (decay.factor ** (self.round // decay.every) if decay else 1.0)

    def sampled(self) -> list[int]:
        """Clients of this round, ascending ids [m]: all, or a uniform draw without replacement."""
        K, m = self.clients.count, self.spec.clients_per_round
        if m == K:
            return list(range(K))
        draw = torch.randperm(K, generator=generator(self.spec.seed, "clients", self.round))
        return draw[:m].sort().values.tolist()

    def work(self, ids: list[int], plan: Plan) -> tuple[Work, Tensor]:
        """The models to train, one after the other, and their starts as [m, P + B] or [models, m, P + B]."""
        m, size = len(ids), self.x.shape[-1]
        x = self.x.unsqueeze(-2).expand(*self.x.shape[:-1], m, size)  # [m, P + B] or [M, m, P + B]
        start = x if plan.start is None else plan.start
        models = 1 if start.dim() == 2 else len(start)
        rate = torch.full((m,), self.learning_rate, dtype=torch.float64)
        if plan.lr_scale is not None:
            rate = rate * plan.lr_scale.cpu()
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
            mix=plan.mix,
            direction=plan.direction,
        )
        if (force := plan.force) is not None:
            work = replace(work, force=lambda y, place: force(y, place % m))
        if isinstance(plan.prox, Tensor) or plan.prox:
            prox = torch.as_tensor(plan.prox, dtype=torch.float64).cpu()
            anchor = x.expand_as(start).reshape(-1, size)
            work = replace(work, prox=prox.expand(models).repeat_interleave(m), anchor=anchor)
        return work, start

    @torch.no_grad()
    def step(self) -> None:
        """One round."""
        ids = self.sampled()
        for exchange in range(self.exchanges):
            self.exchange(ids, exchange)
            if self.stalled:
                break
        self.round += 1

    def exchange(self, ids: list[int], exchange: int) -> None:
        """Clients receive, train and report; the server aggregates."""
        later = "loss_received" in self.needs and self.first_step_tells(ids)
        received = self.modifiers.received(self.received(ids, exchange, later))
        plan = self.algorithm.configure_clients(self.state, received)
        work, start = self.work(ids, plan)
        local = replace(self.local, single=plan.single_step, phase=exchange)
        if plan.epochs is not None:
            local = replace(local, epochs=plan.epochs)
        if plan.full_batch:
            local = replace(local, batch_size=None)
        if plan.epochs == 0:  # clients measure models, of which there may be many: not one copy for each client
            moved = start.new_zeros(()).expand_as(start)
            models = start[..., :1, :] if start.stride(-2) == 0 else start
        else:
            trained = self.backend.train(work, local, self.round, losses=later)
            moved = trained.delta.view(start.shape)
            models = start - moved
            if later and trained.loss is not None:
                received = replace(received, loss_received=trained.loss.view(start.shape[:-1]))
        after = self.measuring.at("after", models, ids, self.round)
        steps = self.samples.new_tensor([local.steps(self.clients.parts["train"].sizes[k]) for k in ids])
        known = {**received.__dict__, "start": start, "steps": steps, **self.split(start, moved), **after}
        self.exchanged.add(self.x, plan, known, exchange)
        reports = Reports(**known)
        if plan.epochs != 0:  # clients that only measure models may find one that has diverged
            reports = finite(reports)
        self.result.dropped += len(ids) - len(reports.clients)
        self.stalled = not len(reports.clients)
        if not self.stalled:
            reports = self.modifiers.reports(reports)
            aggregate, self.state = self.algorithm.aggregate(self.state, reports)
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
        G = self.modifiers.total(G, aggregate, reports)
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
            print(f"goes on from round {self.round}", flush=True)
            measured = max((int(row["round"]) for row in self.result.history), default=-1)
        rounds, every = self.spec.rounds, self.spec.evaluate_every
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

    def measures(self) -> dict[str, float]:
        """Of the run as a whole, by metric (fairfl.metrics.registry.SUMMED)."""
        rounds = self.spec.rounds
        found = self.exchanged.measures(rounds, self.spec.clients_per_round, self.result.x.shape[-1])
        if "aligned" in self.state:
            found["fair_angle_share"] = float(self.state["aligned"]) / rounds
        if self.result.x.numel() == 1:
            found["parameter_0"] = float(self.result.x)
        if self.algorithm.uses_plain_sgd() and (epsilon := self.epsilon()) is not None:
            found["epsilon"] = epsilon
        return found

    def epsilon(self) -> float | None:
        """Of differential privacy, if a modifier answers for it."""
        sizes = self.clients.parts["train"].sizes
        return self.modifiers.epsilon(
            needs=self.needs,
            share=self.spec.clients_per_round / self.clients.count,
            rounds=self.spec.rounds,
            samples=sizes,
            batches=[self.local.batch(n) for n in sizes],
            steps=[self.local.steps(n) for n in sizes],
        )

    def latest(self) -> str:
        """The newest metrics of the last part in words: mean loss, mean and worst accuracy over the clients."""
        self.fetch()
        if not self.result.history:
            return ""
        row, part = self.result.history[-1], self.spec.evaluated_parts[-1]
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
            "sent": self.exchanged.sent,
            "modifiers": self.modifiers.saved(),
            "path": self.result.path,
        }

    def _load(self, saved: dict[str, Any]) -> None:
        self.x = saved["x"].to(self.device)
        self.state = {name: value.to(self.device) for name, value in saved["state"].items()}
        self.round, self.stalled = saved["round"], saved["stalled"]
        self.modifiers.restore(saved["modifiers"], self.device)
        self.exchanged.sent = saved["sent"]
        self.result = Result(self.x, saved["history"], saved["dropped"], saved["path"])
