"""The simulator: in every round clients are selected, measured, trained and measured, and the server aggregates."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from fairfl import algorithms
from fairfl.algorithms.interface import (
    NOT_MEASURED,
    EvaluationModels,
    Federation,
    Plan,
    Received,
    Reports,
    Selection,
)
from fairfl.modifiers.interface import Samples, Schedule
from fairfl.runtime.hooks import blaming, code_of
from fairfl.runtime.progress import Progress
from fairfl.simulation import flat_parameters, hook_checks
from fairfl.simulation.aggregation import drop_diverged, server_step
from fairfl.simulation.backends.interface import LocalTraining, Work, start_of
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.client_measurements import ClientMeasurements
from fairfl.simulation.clients import Clients, sent
from fairfl.simulation.communication import Communication
from fairfl.simulation.evaluation import Evaluation, client_losses, count, evaluate
from fairfl.simulation.history import History, Result, log_spaced
from fairfl.simulation.losses import LOSSES
from fairfl.simulation.modifiers import Modifiers
from fairfl.simulation.seeds import first_of_permutation, generator, seed_of
from fairfl.simulation.training_spec import Model, TrainingSpec


@dataclass(frozen=True)
class TrainedModels:
    """Local training in one exchange: of [m, P + B] models, or of [models, m, P + B] if each client trains several."""

    start: Tensor
    moved: Tensor  # start - trained model
    steps: Tensor  # [m] float64, local steps taken
    # [m] or [models, m] float64, nats, if F_k comes from the first step
    loss_at_start: Tensor | None = None
    trained: bool = True  # False: clients only measure `start`

    @property
    def models(self) -> Tensor:
        """The models after training, all at once; [..., 1, P + B] if no client trained its copy of the same ones."""
        if self.trained:
            return self.start - self.moved
        return self.start[..., :1, :] if self.start.stride(-2) == 0 else self.start


class Simulation:
    """One run of an algorithm on a federation.

    Args:
        spec: of the run.
        clients: their data, on the device.
        best: L*_k, validation losses of the local optima, [K] nats, if the algorithm needs them.
        device: of all tensors.
        backend: auto, stacked or sequential.
        memberships: [K, M], the mixture at the end of the run that the algorithm `depends_on`, if it does.

    Raises:
        ValueError: model, loss, data, backend or hyper-parameters do not fit together.
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
        self.round = 0
        self.stalled = False  # in the newest round nobody sent finite numbers
        # Algorithm and modifiers.
        self.algorithm = algorithms.create(spec.algorithm, spec.hyperparameters)
        self.needs = hook_checks.ask_measurements(self.algorithm)
        self.best = best.to(device) if best is not None else None
        self.modifiers = Modifiers(spec, self.needs, Samples(clients.shape, *clients.scale))
        # The server's first model or models, and who trains them.
        model = self.ask("architecture", spec.model.model_dump(), clients.count)
        special = f"algorithm {spec.algorithm}" if self.algorithm.requires_sequential else ""
        self.backend, self.x = make_backend(
            spec.model_copy(update={"model": Model(**model)}),
            clients,
            backend,
            device,
            self.ask("server_models"),
            self.modifiers.changes_local_steps or special,
        )
        self.parameters = flat_parameters.count(self.backend.model)  # P
        self.still = flat_parameters.still(self.backend.model).to(device)
        # What the clients do in a round.
        self.loss = LOSSES[spec.loss]
        self.train_part = clients.parts["train"]
        self.samples = self.train_part.counts.double().to(device)
        self.local = LocalTraining(
            spec.local_epochs,
            spec.batch_size,
            spec.seed,
            spec.optimizer,
            spec.weight_decay,
            objective=self.modifiers.objective,
            privacy=self.modifiers.privacy,
        )
        self.measurements = ClientMeasurements(
            self.backend,
            self.loss,
            self.train_part,
            self.needs,
            self.local,
            of_objective=self.algorithm.measures_objective and self.modifiers.objective is not None,
            plain_steps=self.algorithm.uses_plain_sgd() and not self.modifiers.changes_local_steps,
        )
        # What the server remembers, and what the run leaves.
        federation = Federation(
            samples=self.samples,
            x=self.x,
            clients_per_round=spec.clients_per_round,
            parameters=self.parameters,
            shapes=tuple(tuple(parameter.shape) for parameter in self.backend.model.parameters()),
            labels=count(self.train_part, clients.classes).double(),
            memberships=NOT_MEASURED if memberships is None else memberships.to(device),
            model=spec.model.model_dump(),
            seed=seed_of(spec.seed, "server"),
        )
        self.state = self.ask("init_state", federation)
        self.modifiers.init(federation)
        self.exchanges_per_round = self.ask("exchanges_per_round", federation)
        self.communication = Communication(self.ask("traffic", federation), self.parameters)
        self.history = History(clients)
        self.result = Result(self.x, self.history.rows)

    def ask(self, hook: str, *arguments: Any) -> Any:
        """The answer of the algorithm's hook, which is watched in the first round."""
        return hook_checks.ask(self.algorithm, hook, *arguments, watched=self.round == 0)

    # -- the run ------------------------------------------------------------------------------
    def run(self, checkpoint: Checkpoint | None = None) -> Result:
        """All rounds, from where the checkpoint was saved. Equal to the bit to a run that was not interrupted."""
        rounds, every = self.spec.rounds, self.spec.evaluate_every
        spaced = log_spaced(rounds, self.spec.evaluate_log) if self.spec.evaluate_log else ()
        if checkpoint and (saved := checkpoint.restore()) is not None:
            self.load_state_dict(saved)
        else:
            self.record_evaluation()
        latest = partial(self.history.latest, self.spec.evaluated_parts[-1])
        progress = Progress(rounds, latest, self.round)
        while self.round < rounds:
            self.run_round()
            if self.round % every == 0 or self.round == rounds or self.round in spaced:
                self.record_evaluation()
            progress.step(self.round, force=self.round == rounds)
            if checkpoint and self.round < rounds:
                checkpoint.step(self.round, self.state_dict, self.load_state_dict)
        self.history.fetch()
        self.result.x = self.x
        return self.result

    def run_round(self) -> None:
        """One round: its clients and the server exchange models, as often as the algorithm says."""
        with self.without_gradients():
            clients = self.select_clients()
            for number in range(self.exchanges_per_round if clients else 0):
                self.exchange(clients, number)
                if self.stalled:
                    break
        self.round += 1

    def exchange(self, clients: list[int], number: int) -> None:
        """The server sends models, clients measure, train, measure and report, the server aggregates."""
        received = self.measure_received(clients, number)
        hook = self.algorithm.configure_clients
        plan = self.ask("configure_clients", self.state, received)
        hook_checks.check_plan(hook, plan, len(clients), self.x, self.parameters)
        with blaming(code_of(hook), called=False):  # slopes and forces
            trained = self.train(clients, plan, number)
            if self.round == 0:
                hook_checks.play(hook, plan, self.some_models(trained))
        reports = self.measure_trained(clients, received, trained, plan)
        self.communication.add(reports, plan)
        if plan.epochs != 0:  # clients that only measure models may find one that has diverged
            reports = drop_diverged(reports, self.clients.parts["validation"].lengths)
        self.result.dropped += len(clients) - len(reports.clients)
        self.aggregate(reports)

    def some_models(self, trained: TrainedModels) -> Tensor:
        """Parameters of some trained models, [n, P]; of none if the algorithm's force is not called on several."""
        if self.algorithm.requires_sequential:
            return trained.start.new_empty(0, self.parameters)
        start, moved = (part.flatten(0, -2)[:4] for part in (trained.start, trained.moved))
        return (start - moved)[:, : self.parameters]

    # -- select, measure, train, measure, aggregate ---------------------------------------------
    def select_clients(self) -> list[int]:
        """Clients of this round, ascending ids [m]: selected by the algorithm, by default a uniform draw."""
        K, m, seed = self.clients.count, self.spec.clients_per_round, self.spec.client_seed
        seed = self.spec.seed if seed is None else seed
        self.communication.asked = set()
        draw = generator(seed, "clients", self.round)
        if self.algorithm.draws_uniformly():
            return list(range(K)) if m == K else sorted(first_of_permutation(K, m, draw))
        selection = Selection(
            order=torch.randperm(K, generator=draw),
            clients_per_round=m,
            samples=self.train_part.counts.double(),
            losses=self.losses_of,
            generator=partial(generator, seed, "select", self.round),
            round=self.round,
        )
        answer = self.ask("select", self.state, selection)
        return hook_checks.sort_selected(self.algorithm.select, answer, K)

    def losses_of(self, candidates: Tensor) -> Tensor:
        """F_k(x) of clients that the server asks before it selects, [d] or [M, d] float64, nats, on the CPU."""
        losses = self.losses("train", candidates.tolist()).cpu()
        self.communication.ask(candidates.tolist(), self.x, losses.numel())
        return losses

    def measure_received(self, clients: list[int], number: int = 0) -> Received:
        """Return what the algorithm needs to know of x, measured on the clients of the round only."""
        ids = sent(torch.tensor(clients), self.device)
        measured: dict[str, Any] = {
            "gradient": self.measurements.gradients(self.x, clients, self.round, self.parameters),
            **self.measurements.received(self.x, clients, self.round),
        }
        if "validation_loss_received" in self.needs:
            measured["validation_loss_received"] = self.losses("validation", clients)
        if "local_optimum_loss" in self.needs and self.best is not None:
            measured["local_optimum_loss"] = self.best[ids]
        seed = seed_of(self.spec.seed, "server", self.round, *([number] if number else []))
        received = Received(
            clients=ids,
            samples=self.samples[ids],
            learning_rate=self.learning_rate,
            x=self.x,
            round=self.round,
            exchange=number,
            seed=seed,
            generator=partial(generator, seed),
            **measured,
        )
        return self.modifiers.received(received)

    def train(self, clients: list[int], plan: Plan, number: int = 0) -> TrainedModels:
        """The clients train as planned, on the backend."""
        local = self.local.of_plan(plan, number)
        start = start_of(plan, self.x, len(clients))
        least = 1 + self.backend.normalised
        counts = [local.steps(self.train_part.sizes[k], least) for k in clients]
        steps = sent(torch.tensor(counts, dtype=torch.float64), self.device)
        if plan.epochs == 0:  # clients measure models, of which there may be many: no copies
            moved = start.new_zeros(()).expand_as(start)
            return TrainedModels(start, moved, steps, trained=False)
        work = Work.of_plan(plan, self.x, clients, self.learning_rate)
        trained = self.backend.train(
            work, local, self.round, losses=self.measurements.loss_from_first_step(clients)
        )
        moved = trained.delta.view(start.shape)
        loss_at_start = None if trained.loss is None else trained.loss.view(start.shape[:-1])
        return TrainedModels(start, moved, steps, loss_at_start)

    def measure_trained(
        self, clients: list[int], received: Received, trained: TrainedModels, plan: Plan
    ) -> Reports:
        """Return what clients send back: updates D_k of the parameters, buffers, and what the algorithm needs."""
        P = self.parameters
        reports: dict[str, Any] = vars(received) | {
            "start": trained.start,
            "steps": trained.steps,
            "delta": trained.moved[..., :P],
            "mix": plan.mix,
        }
        if trained.loss_at_start is not None:
            reports["loss_received"] = trained.loss_at_start
        if trained.moved.shape[-1] > P:
            reports["buffers"] = trained.start[..., P:] - trained.moved[..., P:]
        if self.measurements.needed("after"):
            reports |= self.measurements.at("after", trained.models, clients, self.round)
        return Reports(**reports)

    def aggregate(self, reports: Reports) -> None:
        """The server's step; none if all reports were dropped."""
        self.stalled = not len(reports.clients)
        if self.stalled:
            return
        reports = self.modifiers.reports(reports)
        aggregate, following = self.ask("aggregate", self.state, reports)
        hook = self.algorithm.aggregate
        hook_checks.check_aggregate(hook, aggregate, self.x, self.parameters, reports)
        self.state = following
        x = server_step(self.x, self.parameters, aggregate, reports, self.modifiers)
        if len(self.still):
            x[..., self.still] = self.x[..., self.still]
        self.x = x

    # -- evaluate -------------------------------------------------------------------------------
    def record_evaluation(self) -> None:
        """Evaluate every client on the setting's parts. The numbers stay on the device until they are fetched."""
        with self.without_gradients():
            models = self.evaluation_models()
            self.result.mixture = models.mixture
            evaluations: dict[str, Evaluation] = {
                p: self.evaluate(p, models) for p in self.spec.evaluated_parts
            }
            if self.stalled:  # a model that no client can train has diverged, though its loss may still be a number
                evaluations = {
                    part: replace(e, loss=e.loss * float("nan")) for part, e in evaluations.items()
                }
            self.history.add(self.round, evaluations)
            if self.spec.keep == "path":
                self.result.path.append(self.x.cpu().clone())

    def evaluation_models(self) -> EvaluationModels:
        """The models that clients are evaluated with now."""
        models = self.ask("evaluation_models", self.state, self.x)
        hook = self.algorithm.evaluation_models
        hook_checks.check_evaluation_models(hook, models, self.x, self.clients.count)
        return models

    def evaluate(self, part: str, models: EvaluationModels | None = None) -> Evaluation:
        """Every client on its samples of a part, with the models for it."""
        models = models or self.evaluation_models()
        return evaluate(
            self.backend.forward, self.loss, models, self.clients.parts[part], self.clients.classes
        )

    def losses(self, part: str, clients: list[int]) -> Tensor:
        """Mean losses of x on a part, [m] float64, nats; [M, m] if the server keeps several models."""
        return client_losses(
            self.backend.forward, self.loss, self.x, self.clients.parts[part].of_clients(clients)
        )

    def without_gradients(self) -> torch.inference_mode | torch.no_grad:
        """No autograd around rounds and evaluations. Where no step needs it, nor is any tensor made ready for it: on a
        CPU that is a seventh of the time of a small dense model."""
        ready = self.backend.gradients or self.device.type != "cpu"
        return torch.no_grad() if ready else torch.inference_mode()

    # -- the run as a whole -----------------------------------------------------------------------
    @property
    def learning_rate(self) -> float:
        """Local rate of this round."""
        decay = self.spec.lr_decay
        return self.spec.learning_rate * (
            decay.factor ** (self.round // decay.every) if decay else 1.0
        )

    def measures(self) -> dict[str, float]:
        """Measures of the run as a whole, by metric (fairfl.metrics.registry.SUMMED)."""
        rounds = self.spec.rounds
        values = self.communication.measures(
            rounds, self.spec.clients_per_round, self.result.x.shape[-1]
        )
        if "fair_angle_rounds" in self.state:
            values["fair_angle_share"] = float(self.state["fair_angle_rounds"]) / rounds
        if self.result.x.numel() == 1:
            values["parameter_0"] = float(self.result.x)
        sizes, share = self.train_part.sizes, self.spec.clients_per_round / self.clients.count
        batches, steps = map(self.local.batch, sizes), map(self.local.steps, sizes)
        schedule = Schedule(share, rounds, sizes, [*batches], [*steps])
        plain = self.algorithm.uses_plain_sgd() and self.algorithm.draws_uniformly()
        if plain and (epsilon := self.modifiers.epsilon(self.needs, schedule)) is not None:
            values["epsilon"] = epsilon
        return values

    def state_dict(self) -> dict[str, Any]:
        """State that a resumed run needs, on the CPU."""
        self.history.fetch()
        return {
            "x": self.x.cpu(),
            "state": {name: value.cpu() for name, value in self.state.items()},
            "round": self.round,
            "stalled": self.stalled,
            "history": self.history.rows,
            "dropped": self.result.dropped,
            "sent": self.communication.sent,
            "modifiers": self.modifiers.state_dict(),
            "path": self.result.path,
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from what `state_dict` of a run of the same spec returned."""
        self.x = saved["x"].to(self.device)
        self.state = {name: value.to(self.device) for name, value in saved["state"].items()}
        self.round, self.stalled = saved["round"], saved["stalled"]
        self.modifiers.load_state_dict(saved["modifiers"], self.device)
        self.communication.sent = saved["sent"]
        self.history.rows = saved["history"]
        self.result = Result(self.x, self.history.rows, saved["dropped"], saved["path"])
