"""What is measured: federated rounds of fixed size, and the floating-point operations in them."""

import itertools
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

GEMM_SIDE = {
    "cpu": 2048,
    "cuda": 8192,
}  # rows of the yardstick's matrices: enough for the peak, and quick
MLP = {"name": "mlp", "hidden": [200, 200]}
LINEAR = {"name": "logistic_regression", "init": "pytorch"}
CNN = {"name": "cnn", "channels": [32, 64], "kernel": 5, "padding": 2, "hidden": 512}


@dataclass(frozen=True)
class Workload:
    """One round: `per_round` of `clients` clients train with SGD on `samples` samples each; no evaluation."""

    name: str
    model: dict[str, Any]
    batch: int | None  # None: full batch
    precision: str = "fp32"  # fp32 | tf32 | bf16
    shape: tuple[int, ...] = (1, 28, 28)
    classes: int = 10
    clients: int = 100
    samples: int = 600
    per_round: int = 10
    learning_rate: float = 0.1
    epochs: int = 1

    @property
    def batches(self) -> list[int]:
        """Sizes of the batches of one epoch of one client."""
        size = self.batch or self.samples
        whole, rest = divmod(self.samples, size)
        return [size] * whole + [rest] * bool(rest)

    @property
    def steps(self) -> int:
        """SGD steps of one client in one round."""
        return self.epochs * len(self.batches)

    @property
    def samples_per_round(self) -> int:
        """Samples that are trained on, each as often as there are epochs."""
        return self.per_round * self.samples * self.epochs

    @property
    def convolutions(self) -> list[tuple[int, int, int, int]]:
        """Channels in and out, height and width of the outputs of each convolution; none in a dense model."""
        found, (channels, height, width) = [], (*self.shape, 1, 1)[:3]
        for out in self.model.get("channels", []):
            grow = 2 * self.model["padding"] - self.model["kernel"] + 1
            height, width = height + grow, width + grow
            found.append((channels, out, height, width))
            channels, height, width = out, height // 2, width // 2  # pooled
        return found

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each dense layer."""
        *_, shape = (
            self.shape,
            *((out, height // 2, width // 2) for _, out, height, width in self.convolutions),
        )
        hidden = self.model.get("hidden", [])
        sizes = hidden if isinstance(hidden, list) else [hidden]
        return list(itertools.pairwise([math.prod(shape), *sizes, self.classes]))

    @property
    def flops(self) -> int:
        """Operations of one round: forward, gradient of weights, gradient of inputs (not of the first layer's)."""
        area = self.model.get("kernel", 0) ** 2
        macs = [h * w * out * inputs * area for inputs, out, h, w in self.convolutions]
        macs += [inputs * out for inputs, out in self.layers]
        return self.samples_per_round * 2 * (3 * sum(macs) - macs[0])

    def at(self, **changes: Any) -> "Workload":
        return replace(self, **changes)

    def plain(self) -> dict[str, Any]:
        return asdict(self) | {"shape": list(self.shape)}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Workload":
        return cls(**plain | {"shape": tuple(plain["shape"])})


def gemm_flops(device: str) -> int:
    """Operations of one matrix product of the yardstick."""
    return 2 * GEMM_SIDE[device] ** 3


MLP_B64 = Workload("mlp_b64", MLP, 64)
MLP_FULL = Workload("mlp_full", MLP, None)
MLP_B10 = Workload("mlp_b10", MLP, 10)
LINEAR_B10 = Workload("linear_b10", LINEAR, 10)
LINEAR_B64 = Workload("linear_b64", LINEAR, 64)
CNN_B64 = Workload("cnn_b64", CNN, 64)
FEDFV = Workload("fedfv_table2", MLP, None, shape=(3, 32, 32), samples=400)
FOCUS = Workload("focus_mnist", MLP | {"hidden": [200]}, None, clients=10, samples=6000, epochs=10)

_BASE = (MLP_B64, MLP_FULL, MLP_B10, LINEAR_B64, LINEAR_B10, CNN_B64)
_PAPERS = (FEDFV, FOCUS)
# Neighbours of the rows above: no size may be slower than a plain loop.
_SIZES = (
    MLP_B64.at(name="mlp_b32", batch=32),
    MLP_B64.at(name="mlp_b128", batch=128),
    MLP_B64.at(name="mlp_b64_20", per_round=20),
    MLP_B64.at(name="mlp50_b64", model=MLP | {"hidden": [50]}),
    MLP_B64.at(name="mlp400_b64", model=MLP | {"hidden": [400, 400]}),
    LINEAR_B64.at(name="linear_b32", batch=32),
    LINEAR_B64.at(name="linear_b128", batch=128),
    LINEAR_B64.at(name="linear_full", batch=None),
    # EAGLE's rounds on EMNIST ByClass.
    LINEAR_B64.at(name="eagle_linear", batch=None, classes=62, clients=10, samples=1200),
)

NEIGHBOURS = {w.name for w in _SIZES}  # measured against the quickest alone


def _in(precision: str, *workloads: Workload) -> list[Workload]:
    return [w.at(name=f"{w.name}_{precision}", precision=precision) for w in workloads]


def workloads(device: str) -> list[Workload]:
    """The rows of the table on a device, cpu or cuda."""
    if device == "cpu":
        return [*_BASE, *_PAPERS, *_SIZES, *_in("bf16", MLP_FULL, CNN_B64)]
    rows = (*_BASE, *_PAPERS)
    return [
        *rows,
        *_in("tf32", MLP_B64, MLP_FULL, CNN_B64, FEDFV),
        *_in("bf16", MLP_FULL, CNN_B64, FEDFV),
    ]
