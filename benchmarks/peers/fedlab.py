"""FedLab 1.3.0: its standalone pipeline's loop body, data as tensors."""

import importlib.metadata
import logging

from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer
from fedlab.contrib.algorithm.basic_server import SyncServerHandler
from fedlab.contrib.dataset.basic_dataset import FedDataset
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from benchmarks import models
from benchmarks.worker import Competitor, Job


class Tensors(FedDataset):
    """Clients' tensors behind FedLab's data set interface; the loaders are made once."""

    def __init__(self, job: Job) -> None:
        w = job.workload
        data = (TensorDataset(*job.client(k)) for k in range(w.clients))
        self.loaders = [DataLoader(d, batch_size=w.batch or w.samples, shuffle=True) for d in data]

    def get_dataloader(
        self, id: int, batch_size: int | None = None, type: str = "train"
    ) -> DataLoader:
        return self.loaders[id]


class FedLab(Competitor):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"fedlab": importlib.metadata.version("fedlab")}
        logging.getLogger().setLevel(logging.WARNING)
        w = job.workload
        model = models.build(w.model, w.shape, w.classes)
        self.trainer = SGDSerialClientTrainer(model, w.clients)
        self.trainer.setup_dataset(Tensors(job))
        self.trainer.setup_optim(w.epochs, w.batch or w.samples, w.learning_rate)
        self.server = SyncServerHandler(model, 1_000_000, w.per_round / w.clients)
        self.server.num_clients = w.clients

    def step(self) -> None:
        sampled = self.server.sample_clients()
        self.trainer.local_process(self.server.downlink_package, sampled)
        for package in self.trainer.uplink_package:
            self.server.load(package)

    def parameters(self) -> Tensor:
        return models.flat(self.server.model)


def start(job: Job, competitor: str) -> Competitor:
    return FedLab(job)
