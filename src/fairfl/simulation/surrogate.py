"""Central training on the data of a true cluster: its loss stands for the smallest possible one (FOCUS section 5.1)."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairfl.data import prepared
from fairfl.runtime.errors import FairflError
from fairfl.runtime.progress import Progress
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.evaluation import client_losses, finite
from fairfl.simulation.losses import LOSSES
from fairfl.simulation.seeds import seed_of
from fairfl.simulation.training_spec import SurrogateSpec


def members(spec: SurrogateSpec, clients: Clients) -> list[int]:
    """Clients of the job's true cluster, ascending; all of them if the setting asks for one surrogate.

    Raises FairflError if there are not as many clusters as the setting says.
    """
    expected = spec.surrogate.clusters
    clusters = (
        [0] * clients.count if expected == 1 or clients.clusters is None else clients.clusters
    )
    actual = len(set(clusters))
    if expected != actual:
        raise FairflError(
            f"surrogate.clusters is {expected}, the partition's number of true clusters is {actual}"
        )
    return [k for k, cluster in enumerate(clusters) if cluster == spec.cluster]


def pooled(part: Part) -> Part:
    """The samples of all clients as one client's."""
    return Part(part.inputs, part.labels, part.counts.sum().view(1))


class Pooled:
    """Central training on the data of a cluster's clients, from the model that federated training starts from.

    Raises ValueError if model, loss and data do not fit, FairflError if there is nothing to measure.
    """

    def __init__(
        self, spec: SurrogateSpec, clients: Clients, chosen: torch.device, backend: str = "auto"
    ) -> None:
        self.spec = spec
        self.parts: dict[str, Part] = {part: clients.parts[part] for part in spec.evaluated_parts}
        self.tested = self.parts["test"].counts.double()
        if not self.tested.sum():
            raise FairflError(
                f"surrogate of cluster {spec.cluster}: its clients have no test samples"
            )
        together = replace(
            clients,
            parts={name: pooled(part) for name, part in clients.parts.items()},
            clusters=None,
        )
        self.backend, self.x = make_backend(spec, together, backend, chosen)
        self.loss, self.device = LOSSES[spec.loss], chosen
        size = spec.batch_size
        if size is not None and spec.surrogate.batch_size == "pooled":
            size *= clients.count
        # The pooled client is number 0 in every job: its own branch of the seed tree keeps the clusters' batches apart.
        seed = seed_of(spec.seed, "surrogate", spec.cluster)
        # Between two measurements.
        self.local = LocalTraining(
            spec.surrogate.every, size, seed, spec.optimizer, spec.weight_decay
        )
        self.rate = torch.tensor([spec.learning_rate], dtype=torch.float64)
        self.epoch = 0
        self.curve: list[tuple[int, float]] = []  # epoch, pooled test loss
        self.best: dict[str, Any] = {}

    def losses(self, part: str) -> Tensor:
        """Mean loss of each client of the cluster, [K] float64; NaN for one without samples."""
        return client_losses(self.backend.forward, self.loss, self.x, self.parts[part]).cpu()

    def snapshot(self) -> dict[str, Any]:
        """The present epoch with the losses of each client on each part; None without a finite number."""
        losses = {f"loss_{part}": self.losses(part).tolist() for part in self.parts}
        return {
            "epoch": self.epoch,
            **{name: list(map(finite, values)) for name, values in losses.items()},
        }

    def measure(self) -> None:
        """Extend the curve; keep the losses of the epoch of smallest pooled test loss."""
        present = self.tested > 0
        value = float(self.losses("test")[present] @ self.tested[present] / self.tested.sum())
        if not self.curve or value < min(loss for _, loss in self.curve):
            self.best = self.snapshot()
        self.curve.append((self.epoch, value))

    @property
    def diverged(self) -> bool:
        return not math.isfinite(self.curve[-1][1])

    def train(self) -> None:
        """As many epochs as lie between two measurements, fewer at the end."""
        local = replace(
            self.local, epochs=min(self.local.epochs, self.spec.surrogate.epochs - self.epoch)
        )
        self.x = (
            self.x
            - self.backend.train(
                Work([0], self.x.unsqueeze(0), self.rate), local, self.epoch
            ).delta[0]
        )
        self.epoch += local.epochs

    def state_dict(self) -> dict[str, Any]:
        """State that a resumed run needs, on the CPU."""
        return {"x": self.x.cpu(), "epoch": self.epoch, "curve": self.curve, "best": self.best}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned."""
        self.x, self.epoch = saved["x"].to(self.device), saved["epoch"]
        self.curve, self.best = saved["curve"], saved["best"]

    def run(self, checkpoint: Checkpoint | None = None) -> dict[str, Any]:
        """From where the checkpoint stands to the last epoch, or until the test loss is not finite."""
        if checkpoint and (saved := checkpoint.restore()) is not None:
            self.load_state_dict(saved)
        else:
            self.measure()
        epochs, every = self.spec.surrogate.epochs, self.local.epochs
        progress = Progress(-(-epochs // every), self.latest, self.epoch // every)
        while self.epoch < epochs and not self.diverged:
            self.train()
            self.measure()
            progress.step(-(-self.epoch // every), force=self.epoch == epochs)
            if checkpoint and self.epoch < epochs:
                checkpoint.step(self.epoch, self.state_dict, self.load_state_dict)
        curve = {
            "epoch": [epoch for epoch, _ in self.curve],
            "loss_test": [finite(loss) for _, loss in self.curve],
        }
        return {
            "diverged": self.diverged,
            "best": self.best,
            "last": self.snapshot(),
            "curve": curve,
        }

    def latest(self) -> str:
        return f"epoch {self.epoch}  loss {self.curve[-1][1]:.4f}  best {self.best['epoch']}"


def known(spec: SurrogateSpec, data: Path, clients: int) -> dict[str, Any]:
    """The smallest possible loss that the data come with, for each of the cluster's clients."""
    _, metadata = prepared.load(data)
    if "bayes_loss" not in metadata:
        name = spec.data.name
        raise FairflError(
            f"surrogate.method is known, but {name} has no bayes_loss; the other method is trained"
        )
    (value,) = prepared.read_numbers(data, metadata, "bayes_loss")
    losses = {f"loss_{part}": [value] * clients for part in spec.evaluated_parts}
    snapshot = {"epoch": 0, **losses}
    return {
        "diverged": False,
        "best": snapshot,
        "last": snapshot,
        "curve": {"epoch": [], "loss_test": []},
    }
