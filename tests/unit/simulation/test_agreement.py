"""Every registered algorithm gives the same run in both backends, in float64, and so does every partition.

New algorithms and partitioners are tested here by themselves. Clients differ in size, the last batches are short.
"""

import numpy as np
import pytest
import torch

from fairfl.algorithms import load
from fairfl.experiments.parts import Data, Split
from fairfl.experiments.plugins import names
from fairfl.partition.deal import Method, PartitionSpec, partition
from fairfl.partition.partition_file import PARTS
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from tests.unit.registered import FEDERATING, MEMBERSHIPS, required
from tests.unit.simulation.federations import CPU, spec_of

REQUIRED_PARTITION = {
    "dirichlet_by_class": {"alpha": 0.5, "min_samples": 8},
    "ambiguous_fraction": {"fractions": [0.0, 0.5, 1.0], "per_client": 14},
    "rotation_clusters": {"angles": [0, 90], "clients": [2, 1]},
    "by_domain": {"clients": [2, 1]},
    "dirichlet_by_client": {"alpha": 0.5},
    "unequal_sizes": {"alpha": 0.5, "min_samples": 8},
}
CLIENTS = 3
PARTITIONS = names("partition")


def federation(name: str) -> Clients:
    """Sixty random samples of three classes, dealt out by a partitioner."""
    draw = np.random.default_rng(0)
    tensors = {
        "labels": draw.integers(3, size=60),
        "groups": np.arange(60),
        "ambiguous": np.arange(60) % 2,
        "client": np.sort(draw.integers(CLIENTS, size=60)),
        "domain": np.arange(60) % 2,
    }
    if name == "plain":
        # Unequal on purpose: the equal deal of `plain` would not test padding.
        tensors = {key: value[:58] for key, value in tensors.items()}
    spec = PartitionSpec(
        data=Data(name="toy"),
        seed=3,
        partition_seed=None,
        samples=None,
        partition=Method(name=name, **REQUIRED_PARTITION.get(name, {})),
        clients=CLIENTS,
        split=Split(train=0.6, validation=0.2, test=0.2),
    )
    columns, _ = partition(spec, tensors)
    inputs = torch.from_numpy(draw.normal(size=(60, 1, 2, 3)))
    parts = {}
    for number, part in enumerate(PARTS):
        chosen = np.flatnonzero(columns["part"] == number)
        rows = torch.from_numpy(columns["row"][chosen])
        counts = np.bincount(columns["client"][chosen], minlength=CLIENTS)
        parts[part] = Part(inputs[rows], torch.from_numpy(tensors["labels"])[rows], torch.from_numpy(counts))
    return Clients(parts, 3, (1, 2, 3))


def test_clients_differ_in_size():
    assert len(set(federation("dirichlet_by_class").parts["train"].sizes)) == CLIENTS


@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize(
    ("algorithm", "partition_name"),
    [(name, "dirichlet_by_class") for name in FEDERATING if not load(name).requires_sequential]
    + [("fedeba_plus", name) for name in PARTITIONS if name != "dirichlet_by_class"],
)
def test_both_backends_give_the_same_run(algorithm, partition_name, batch_size):
    clients = federation(partition_name)
    spec = spec_of(
        model={"name": "mlp", "hidden": [4]},
        algorithm=algorithm,
        hyperparameters=required(algorithm),
        batch_size=batch_size,
        local_epochs=2,
        rounds=3,
    )
    best = torch.tensor([0.9, 1.0, 1.1], dtype=torch.float64)
    a, b = (Simulation(spec, clients, best, CPU, backend, MEMBERSHIPS).run() for backend in ("stacked", "sequential"))
    torch.testing.assert_close(a.x, b.x, rtol=1e-9, atol=1e-12)
    for row, other in zip(a.history, b.history, strict=True):
        for key in row:
            torch.testing.assert_close(row[key], other[key], rtol=1e-8, atol=1e-11, equal_nan=True)
