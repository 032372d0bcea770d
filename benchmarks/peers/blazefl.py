"""BlazeFL 3.0.0: its server handler and sequential client trainer for FedAvg, data as tensors."""

import importlib.metadata

import torch
from blazefl.contrib import FedAvgBaseClientTrainer, FedAvgBaseServerHandler
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks import models
from benchmarks.worker import Competitor, Job


class Tensors:
    """Clients' tensors behind BlazeFL's data set interface."""

    def __init__(self, job: Job) -> None:
        self.clients = [TensorDataset(*job.client(k)) for k in range(job.workload.clients)]

    def get_dataloader(
        self, type_: str, cid: int, batch_size: int, generator: torch.Generator | None
    ) -> DataLoader:
        return DataLoader(
            self.clients[cid], batch_size=batch_size, shuffle=True, generator=generator
        )


class Selector:
    """The benchmark's model behind BlazeFL's interface."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def select_model(self, model_name: str) -> nn.Module:
        w = self.job.workload
        return models.build(w.model, w.shape, w.classes)


class BlazeFL(Competitor):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"blazefl": importlib.metadata.version("blazefl")}
        w = job.workload
        shared = {
            "model_selector": Selector(job),
            "model_name": w.model["name"],
            "dataset": Tensors(job),
        }
        shared |= {
            "num_clients": w.clients,
            "device": "cpu",
            "batch_size": w.batch or w.samples,
            "seed": 0,
        }
        self.server = FedAvgBaseServerHandler(
            **shared, global_round=1_000_000, sample_ratio=w.per_round / w.clients
        )
        self.trainer = FedAvgBaseClientTrainer(**shared, epochs=w.epochs, lr=w.learning_rate)

    def step(self) -> None:
        """The body of its pipeline's loop without the evaluation."""
        sampled = self.server.sample_clients()
        self.trainer.local_process(self.server.downlink_package(), sampled)
        for package in self.trainer.uplink_package():
            self.server.load(package)

    def parameters(self) -> Tensor:
        return models.flat(self.server.model)


def start(job: Job, competitor: str) -> Competitor:
    return BlazeFL(job)
