"""The simulator: rounds of local training and aggregation, evaluation, resume."""

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fairfl import algorithms, models
from fairfl.algorithms.interface import Federation, Plan, Received, Reports, Slope, plain_plan
from fairfl.engine import parameters
from fairfl.engine.checkpoint import Checkpoint
from fairfl.engine.dense import supports
from fairfl.engine.device import product_dtype
from fairfl.engine.evaluation import Evaluation, client_losses, client_measures, count, evaluate
from fairfl.engine.federation import PARTS, Clients, Part
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
# The numbers of the clients in a Reports.
NUMBERS = ("loss_received", "accuracy_received", "loss_after", "accuracy_after", "val_received", "val_best")


def make_backend(
    spec: dict[str, Any], clients: Clients, name: str, device: torch.device, count: int | None = None
) -> tuple[Backend, Tensor]:
    """The backend and the initial model x [P], or [count, P] for several; `name` is auto, stacked or sequential."""
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
    stackable = supports(model) and isinstance(LOSSES[spec["loss"]], ClosedForm)
    if name == "stacked" and not stackable:
        raise ValueError(f"backend stacked cannot run model {spec['model']['name']}; use auto or sequential")
    kind = Stacked if stackable and name != "sequential" else Sequential
    return kind(model, spec["loss"], train, product_dtype(spec["precision"])), x


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
        self.needs = self.algorithm.needs(self.config)
        self.best = best.to(device) if best is not None else None
        self.backend, self.x = make_backend(spec, clients, backend, device, self.algorithm.models(self.config))
        self.loss = LOSSES[spec["loss"]]
        self.samples = clients.parts["train"].counts.double().to(device)
        self.local = LocalTraining(spec["local_epochs"], spec["batch_size"], spec["seed"])
        self.rate = torch.full((clients.count,), spec["learning_rate"], dtype=torch.float64)
        self.everybody = torch.arange(clients.count, device=device)
        federation = Federation(self.samples, self.x, spec["clients_per_round"])
        self.state = self.algorithm.init(federation, self.config)
        self.slope: Slope | None = None
        self.result = Result(self.x, [])
        self.round = 0
        self.stalled = False  # in the newest round nobody sent finite numbers
        self.pending: list[tuple[int, dict[str, Evaluation]]] = []
        self.totals = {name: count(part, clients.classes).cpu() for name, part in clients.parts.items()}

    # -- measuring ----------------------------------------------------------------------------
    def evaluated(self, part: str) -> Evaluation:
        deployed = self.algorithm.deploy(self.state, self.x, self.config)
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

    def received(self, ids: list[int], later: bool = False) -> Received:
        """Only what the algorithm needs is measured, on the clients of the round only; F_k not if it comes later."""
        needs, measured = self.needs, self.asked("received") and not later
        clients = self.everybody if len(ids) == len(self.everybody) else torch.tensor(ids, device=self.device)
        return Received(
            clients=clients,
            samples=self.samples[clients],
            learning_rate=self.spec["learning_rate"],
            x=self.x,
            round=self.round,
            seed=seed_of(self.spec["seed"], "server", self.round),
            **(self.on_training_data("received", self.x.unsqueeze(-2), ids) if measured else {}),
            val_received=self.losses("validation", ids) if "val_received" in needs else None,
            val_best=self.best[clients] if self.best is not None and "val_best" in needs else None,
        )

    def asked(self, when: str) -> list[str]:
        """Those of loss_<when> and accuracy_<when> that the algorithm needs; `when` is received or after."""
        return [name for name in (f"loss_{when}", f"accuracy_{when}") if name in self.needs]

    def on_training_data(self, when: str, models: Tensor, ids: list[int]) -> dict[str, Tensor]:
        """What is `asked` for, loss in nats, accuracy as fraction, both in one pass.

        Models [1, P], one for all clients, or [m, P], one for each, give [m]; with M of these in front, [M, m].
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
        """Measure every client on every part. The numbers stay on the device until they are fetched."""
        measured = {part: self.evaluated(part) for part in PARTS}
        if self.stalled:  # a model that no client can train has diverged, though its loss may still be a number
            measured = {part: replace(own, loss=own.loss * float("nan")) for part, own in measured.items()}
        self.pending.append((self.round, measured))
        if self.spec["keep"] == "path":
            self.result.path.append(self.x.cpu().clone())
        if len(self.pending) >= PENDING:
            self.fetch()

    def fetch(self) -> None:
        """Bring pending measurements into the history: loss, accuracy (fraction) and recall, [K] float64."""
        for number, measured in self.pending:
            row: dict[str, Tensor] = {"round": torch.tensor(number)}
            for part, evaluation in measured.items():
                hits, totals = evaluation.hits.cpu(), self.totals[part]
                row[f"loss_{part}"] = evaluation.loss.cpu()
                row[f"accuracy_{part}"] = hits.sum(1).double() / totals.sum(1)
                row[f"recall_{part}"] = torch.from_numpy(recall(hits.numpy(), totals.numpy()))
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
        """The models to train, one after the other, and their starts as [m, P] or [models, m, P]."""
        m, P = len(ids), self.x.shape[-1]
        x = self.x.unsqueeze(-2).expand(*self.x.shape[:-1], m, P)  # [m, P] or [M, m, P]
        start = x if plan.start is None else plan.start
        models = 1 if start.dim() == 2 else len(start)
        rate = self.rate[:m] if plan.lr_scale is None else self.rate[:m] * plan.lr_scale.cpu()
        if models > 1:
            rate = rate.repeat(models)
        if not same(plan.slope, self.slope):  # one object for a slope that algorithms write anew in each round
            self.slope = plan.slope
        work = Work(ids * models, start.reshape(-1, P), rate, momentum=plan.momentum, slope=self.slope)
        if isinstance(plan.prox, Tensor) or plan.prox:
            prox = torch.as_tensor(plan.prox, dtype=torch.float64).cpu()
            anchor = x.expand_as(start).reshape(-1, P)
            work = replace(work, prox=prox.expand(models).repeat_interleave(m), anchor=anchor)
        return work, start

    @torch.no_grad()
    def step(self) -> None:
        ids = self.sampled()
        later = "loss_received" in self.needs and self.first_step_tells(ids)
        received = self.received(ids, later)
        plan = self.algorithm.plan(self.state, received, self.config)
        work, start = self.work(ids, plan)
        trained = self.backend.train(work, self.local, self.round, losses=later)
        delta = trained.delta.view(start.shape)
        if later and trained.loss is not None:
            received = replace(received, loss_received=trained.loss.view(start.shape[:-1]))
        after = self.on_training_data("after", start - delta, ids) if self.asked("after") else {}
        reports = _finite(Reports(**received.__dict__, delta=delta, **after))
        self.result.dropped += len(ids) - len(reports.clients)
        self.stalled = not len(reports.clients)
        if not self.stalled:
            aggregate, self.state = self.algorithm.aggregate(self.state, reports, self.config)
            G = combine(aggregate.weights, reports.delta, several=self.x.dim() == 2)
            if aggregate.extra is not None:
                G = G + aggregate.extra
            self.x = self.x - G
        self.round += 1

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
        """The newest test metrics in words: mean loss, mean and worst accuracy over the clients."""
        self.fetch()
        if not self.result.history:
            return ""
        row = self.result.history[-1]
        loss, accuracy = row["loss_test"].nanmean(), row["accuracy_test"]
        worst = accuracy.nan_to_num(1).min()
        return f"loss {loss:.4f}  accuracy {accuracy.nanmean():.4f} worst {worst:.4f}"

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


def combine(weights: Tensor, delta: Tensor, several: bool) -> Tensor:
    """sum_k w_k D_k: [P]; [M, P] if the server keeps `several` models and w is [M, m], D [M, m, P]."""
    weights = weights.to(delta.dtype)
    if several:
        return torch.bmm(weights.unsqueeze(1), delta).squeeze(1)
    m, P = delta.shape[-2:]
    # A product for each model that clients train: those of weight 0 must not change how the others are summed.
    return sum(w @ D for w, D in zip(weights.reshape(-1, m), delta.reshape(-1, m, P), strict=True))


def _finite(reports: Reports) -> Reports:
    """Leave out clients that sent a NaN or an infinity; perhaps nobody is left."""
    numbers = {name: value for name in NUMBERS if (value := getattr(reports, name)) is not None}
    total = sum((value.sum() for value in numbers.values()), reports.delta.sum())
    if math.isfinite(total):  # a sum is not, if one of its terms is not
        return reports
    # A NaN or an infinity shows in the largest or the smallest entry.
    probe = reports.delta.amax(-1).double() - reports.delta.amin(-1)
    for value in numbers.values():
        probe = probe + value
    good = probe.abs() < float("inf")
    good = good if good.dim() == 1 else good.all(0)
    if bool(good.all()):
        return reports
    return replace(
        reports,
        clients=reports.clients[good],
        samples=reports.samples[good],
        delta=reports.delta[..., good, :],
        **{name: value[..., good] for name, value in numbers.items()},
    )
