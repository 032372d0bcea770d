"""What is checked: model kinds and algorithms, on drawn data, small or as papers have them."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fairfl.experiments import plugins
from fairfl.simulation.backends import cuda_graph
from fairfl.simulation.backends.interface import Backend, LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import Model, TrainingSpec

CPU = torch.device("cpu")
IMAGES = {"mnist": (1, 28, 28), "cifar": (3, 32, 32), "tiny": (3, 64, 64)}


@dataclass(frozen=True)
class Kind:
    """A model on data of a shape: images, `text` with a label for each, or `tokens` with one at each position."""

    model: dict[str, Any]
    shape: tuple[Any, ...]
    classes: int
    batch: int | None
    small: dict[str, Any] = field(
        default_factory=dict
    )  # options of a model for a CPU, and quick checks
    loss: str = "cross_entropy"
    optimizer: str = "sgd"
    draws: bool = False  # masks of dropout, which differ between devices
    needs: str = ""  # a module of a package beyond torch, numpy and pydantic

    def reduced(self) -> "Kind":
        shape = (*self.shape[:-2], 32, 32) if self.shape == IMAGES["tiny"] else self.shape
        return replace(
            self, model=self.model | self.small, shape=shape, classes=min(self.classes, 100)
        )

    @property
    def missing(self) -> bool:
        try:
            importlib.import_module(self.needs or "torch")
        except ImportError:
            return True
        return False

    def part(self, counts: list[int], seed: int, device: torch.device) -> Part:
        draw, n = torch.Generator().manual_seed(seed), sum(counts)
        if self.shape[0] in ("tokens", "text"):
            inputs = torch.randint(
                5,
                64 if self.shape[0] == "text" else self.classes,
                (n, self.shape[1]),
                generator=draw,
            )
        else:
            inputs = torch.rand(n, *self.shape, generator=draw)
        places = (n, self.shape[1]) if self.shape[0] == "tokens" else (n,)
        labels = torch.randint(0, self.classes, places, generator=draw)
        if self.loss == "squared_error":
            labels = torch.rand(n, generator=draw)
        return Part(inputs.to(device), labels.to(device), torch.tensor(counts))

    def clients(self, counts: list[int], device: torch.device) -> Clients:
        train, test = self.part(counts, 1, device), self.part([20] * len(counts), 2, device)
        parts = {"train": train, "validation": test, "test": test}
        return Clients(parts, self.classes, tuple(train.inputs.shape[1:]))

    def spec(self, **changes: Any) -> TrainingSpec:
        given = {
            "setting": "check", "variant": "default", "model": Model(**self.model), "loss": self.loss,
            "clients_per_round": 3, "rounds": 3, "local_epochs": 1, "batch_size": self.batch, "lr_decay": None,
            "learning_rate": 0.05 if self.optimizer == "sgd" else 1e-4, "optimizer": self.optimizer,
            "weight_decay": 0.0, "modifiers": {}, "evaluated_parts": ["train", "validation", "test"],
            "evaluate_every": 1, "keep": "nothing", "precision": "fp32", "algorithm": "fedavg",
            "hyperparameters": {}, "seed": 0,
        }  # fmt: skip
        return TrainingSpec(**given | changes)

    def backend(self, counts: list[int], device: torch.device) -> tuple[Backend, Tensor]:
        return make_backend(self.spec(), self.clients(counts, device), "auto", device)


KINDS = {
    "mlp, batches": Kind({"name": "mlp", "hidden": [200, 200]}, IMAGES["mnist"], 10, 50),
    "mlp, full batch": Kind(
        {"name": "mlp", "hidden": [200, 200, 10]}, IMAGES["cifar"], 10, None, loss="softmax_cross_entropy"
    ),
    "logistic regression": Kind({"name": "logistic_regression"}, IMAGES["mnist"], 62, 10),
    "linear regression": Kind({"name": "linear_regression"}, (20,), 1, 10, loss="squared_error"),
    "cnn": Kind(
        {"name": "cnn", "channels": [64, 64], "kernel": 5, "hidden": [384, 192]},
        IMAGES["cifar"], 10, 64, {"channels": [4, 4], "hidden": [16]},
    ),
    "resnet, batch norm": Kind(
        {"name": "resnet", "norm": "batch", "stem": "cifar"}, IMAGES["cifar"], 10, 64,
        {"widths": [8, 8], "blocks": [1, 1]},
    ),
    "resnet, group norm": Kind({"name": "resnet"}, IMAGES["cifar"], 10, 64, {"widths": [8, 8], "blocks": [1, 1]}),
    "mobilenet, dropout": Kind(
        {"name": "mobilenet_v2"}, IMAGES["tiny"], 200, 64, {"stages": 2, "width": 0.25}, draws=True,
        needs="torchvision.models.mobilenetv2",
    ),
    "lstm": Kind(
        {"name": "lstm"}, ("tokens", 20), 1000, 64, {"embedding": 8, "hidden": 16, "projection": 8}, loss="next_word"
    ),
    "lstm, two layers": Kind(
        {"name": "lstm", "embedding": 200, "hidden": 256, "layers": 2, "projection": None},
        ("tokens", 10), 1000, 20, {"embedding": 8, "hidden": 16}, loss="next_word",
    ),
    "bert, AdamW": Kind(
        {"name": "bert", "pretrained": None, "vocabulary": 64, "positions": 32}, ("text", 32), 2, 64,
        {"hidden": 16, "intermediate": 16}, optimizer="adamw", draws=True,
        needs="transformers.models.bert.modeling_bert",
    ),
}  # fmt: skip
FEMNIST = Kind(
    {"name": "cnn", "channels": [32, 64], "kernel": 5, "padding": 2, "hidden": 2048}, IMAGES["mnist"], 62, 100,
    {"channels": [2, 2], "hidden": 8},
)  # fmt: skip


def trained(
    made: tuple[Backend, Tensor], kind: Kind, clients: int, rounds: list[int]
) -> list[Tensor]:
    """Updates of each of these rounds, all from the first model."""
    backend, x = made
    ids, rate = list(range(clients)), kind.spec().learning_rate
    local = LocalTraining(1, kind.batch, 0, kind.optimizer)
    work = Work(
        ids, x.unsqueeze(0).expand(clients, -1), torch.full((clients,), rate, dtype=torch.float64)
    )
    return [backend.train(work, local, round).delta.clone() for round in rounds]


@contextmanager
def eagerly() -> Iterator[None]:
    """Without CUDA graphs."""
    cuda_graph.allow("off")
    yield
    cuda_graph.allow("auto")


def apart(found: Tensor, expected: Tensor) -> float:
    """Norm of the difference as a share of the norm."""
    one, other = found.double().cpu(), expected.double().cpu()
    return float((one - other).norm() / other.norm().clamp(min=1e-300))


# -- algorithms ---------------------------------------------------------------------------------------------------
# Hyper-parameters without a default.
NEEDED: dict[str, dict[str, Any]] = {
    "cgsv": {"gamma": 0.5}, "ditto": {"report": "personal"}, "eagle": {"lambda": 2.0},
    "fedavg_hardcluster": {"M": 2}, "focus": {"M": 2}, "power_of_choice": {"d": 8},
}  # fmt: skip
# Methods whose model grows from round to round.
GROWING = ("fedma", "pfnm")


@dataclass(frozen=True)
class Case:
    """An algorithm with its default hyper-parameters and perhaps modifiers, on an MLP or, if `conv`, a small CNN."""

    name: str
    algorithm: str = "fedavg"
    modifiers: dict[str, dict[str, Any]] = field(default_factory=dict)
    conv: bool = False
    full: bool = False  # full batches
    draws: bool = False  # noise on the device, which differs between devices
    limit: float = 1e-4  # of what float32 may differ between devices after four rounds

    def simulation(self, device: torch.device, counts: list[int]) -> Simulation:
        kind = replace(
            KINDS["cnn"].reduced() if self.conv else KINDS["mlp, batches"],
            batch=None if self.full else 16,
        )
        if self.algorithm in GROWING:
            kind = replace(kind, model={"name": "mlp", "hidden": [8]})
        spec = kind.spec(
            algorithm=self.algorithm,
            hyperparameters=NEEDED.get(self.algorithm, {}),
            modifiers=self.modifiers,
            clients_per_round=min(6, len(counts)),
            local_epochs=2,
        )
        best = torch.linspace(0.9, 1.1, len(counts), dtype=torch.float64)
        memberships = torch.full((len(counts), 2), 0.5, dtype=torch.float64)
        return Simulation(spec, kind.clients(counts, device), best, device, "auto", memberships)


def cases() -> list[Case]:
    """All algorithms that train in rounds, in batches and with full ones; all modifiers."""
    names = [name for name in plugins.names("algorithms") if name != "local_only"]
    found = [
        Case(f"{name}{', full batch' * full}", name, full=full)
        for name in names
        for full in (False, True)
    ]
    noisy = {"sigma": 0.1}
    return [
        *found,
        Case("fedprox on a cnn", "fedprox", conv=True),
        Case("propfair on a cnn", "propfair", conv=True),
        Case("dp: gradient", modifiers={"dp": noisy}, draws=True),
        Case(
            "dp: gradient of each sample",
            modifiers={"dp": noisy | {"per_sample": True}},
            conv=True,
            draws=True,
        ),
        Case("dp: update", modifiers={"dp": noisy | {"target": "update"}}, draws=True),
        Case("dp: auxiliary", "fedeba_plus", {"dp": noisy}, draws=True),
        # Rounding decides which pixel is the nearest one of a rotated image.
        Case("lsr", modifiers={"lsr": {}}, limit=2e-2),
        Case("fedvarp", modifiers={"fedvarp": {}}),
        Case("server_momentum", modifiers={"server_momentum": {}}),
    ]
