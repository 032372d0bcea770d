"""fairfl's own simulator."""

import torch
from torch import Tensor

from benchmarks import models
from benchmarks.worker import Competitor, Job, Unfit
from fairfl.runtime.errors import FairflError
from fairfl.simulation import flat_parameters
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.device import choose
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import Model, TrainingSpec


def simulation(job: Job, precision: str) -> Simulation:
    """A FedAvg run that starts from the benchmark's common weights."""
    choose(job.device.type, 1, precision)
    w = job.workload
    counts = torch.full((w.clients,), w.samples)
    train = Part(job.inputs.to(job.device), job.labels.to(job.device), counts)
    spec = TrainingSpec(
        setting="benchmark",
        variant="default",
        model=Model(**w.model),
        loss="cross_entropy",
        clients_per_round=w.per_round,
        rounds=1_000_000,
        local_epochs=w.epochs,
        batch_size=w.batch,
        learning_rate=w.learning_rate,
        evaluate_every=1_000_000,
        optimizer="sgd",
        lr_decay=None,
        modifiers={},
        weight_decay=0.0,
        evaluated_parts=["train", "validation", "test"],
        keep="nothing",
        precision=precision,
        algorithm="fedavg",
        hyperparameters={"weighting": "size"},
        seed=0,
    )
    clients = Clients({part: train for part in ("train", "validation", "test")}, w.classes, w.shape)
    run = Simulation(spec, clients, best=None, device=job.device, backend="auto")
    run.x.copy_(flat_parameters.flatten(models.build(w.model, w.shape, w.classes)))
    return run


def after_one_round(job: Job, precision: str) -> Tensor:
    """The model after a round of two clients with eight samples each."""
    workload = job.workload.at(clients=2, per_round=2, samples=8, batch=None)
    run = simulation(
        Job(workload, job.inputs[:16], job.labels[:16], job.device, job.source), precision
    )
    run.run_round()
    return run.x.clone()


class Fairfl(Competitor):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        precision = job.workload.precision
        try:
            if precision != "fp32" and torch.equal(
                after_one_round(job, "fp32"), after_one_round(job, precision)
            ):
                raise Unfit(f"{precision} changes nothing on this device")
            self.run = simulation(job, precision)
        except (FairflError, ValueError) as error:
            raise Unfit(str(error)) from None

    def step(self) -> None:
        self.run.run_round()

    def parameters(self) -> Tensor:
        w = self.job.workload
        model = models.build(w.model, w.shape, w.classes)
        flat_parameters.bind(model, self.run.x.detach().float().cpu())
        return models.flat(model)


def start(job: Job, competitor: str) -> Competitor:
    return Fairfl(job)
