"""pfl-research 0.6.0, torch backend: its own FederatedAveraging.run, held at the end of each round."""

import asyncio
import importlib.metadata
import os
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import models
from benchmarks.worker import Competitor, Gated, Job


def start(job: Job, competitor: str) -> Competitor:
    os.environ["PFL_PYTORCH_DEVICE"] = job.device.type
    return Pfl(job)


class Pfl(Gated):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.versions = {"pfl": importlib.metadata.version("pfl")}
        w = job.workload
        self.model = WithLoss(models.build(w.model, w.shape, w.classes))
        self.launch(self.loop)

    def loop(self) -> None:
        from pfl.aggregate.simulate import SimulatedBackend
        from pfl.algorithm.base import NNAlgorithmParams
        from pfl.algorithm.federated_averaging import FederatedAveraging
        from pfl.data.dataset import Dataset
        from pfl.data.federated_dataset import FederatedDataset
        from pfl.data.sampling import get_user_sampler
        from pfl.hyperparam.base import NNTrainHyperParams
        from pfl.model.pytorch import PyTorchModel

        asyncio.set_event_loop(
            asyncio.new_event_loop()
        )  # the main thread has one, this thread has not
        job, w, forever = self.job, self.job.workload, 1_000_000
        users = [
            Dataset([t.to(job.device) for t in job.client(k)], user_id=str(k))
            for k in range(w.clients)
        ]
        sampler = get_user_sampler("minimize_reuse", list(range(w.clients)))
        data = FederatedDataset(users.__getitem__, sampler)
        FederatedAveraging().run(
            NNAlgorithmParams(forever, forever, w.per_round, None),
            SimulatedBackend(data, data),
            PyTorchModel(
                self.model, torch.optim.SGD, torch.optim.SGD(self.model.parameters(), lr=1.0)
            ),
            NNTrainHyperParams(
                local_batch_size=w.batch,
                local_num_epochs=w.epochs,
                local_learning_rate=w.learning_rate,
            ),
            callbacks=[_hold(self)],
            send_metrics_to_platform=False,
        )

    def parameters(self) -> Tensor:
        return models.flat(self.model)


class WithLoss(nn.Module):
    """A module as pfl wants it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.cross_entropy = nn.CrossEntropyLoss()

    def loss(self, inputs: Tensor, labels: Tensor) -> Tensor:
        return self.cross_entropy(self.model(inputs), labels)

    def metrics(self, inputs: Tensor, labels: Tensor) -> dict[str, Any]:
        return {}


def _hold(gate: Gated) -> Any:
    from pfl.callback.base import TrainingProcessCallback
    from pfl.metrics import Metrics

    class Hold(TrainingProcessCallback):
        def on_train_begin(self, *, model: Any) -> Metrics:
            gate.turn()
            return Metrics()

        def after_central_iteration(
            self, aggregate_metrics: Any, model: Any, *, central_iteration: int
        ) -> Any:
            gate.turn()
            return False, Metrics()

    return Hold()
