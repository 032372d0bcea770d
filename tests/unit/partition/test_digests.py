"""Partitions as they have been dealt ever since: stored results are of these."""

import hashlib
import json

import numpy as np
import pytest

from fairfl.partition.deal import PartitionSpec, partition
from tests.unit.partition.partition_tables import SPLIT, job

OFFICIAL = {"train": 0.75, "validation": 0.25, "test": 0.0, "order": "official"}
HALF = {"train": 0.5, "validation": 0.0, "test": 0.5}
LDA = {"name": "dirichlet_by_class", "alpha": 0.5}
FAIRFL = LDA | {"rounding": "per_share", "shuffle": False, "legacy_seed": 0, "min_samples": 1}
SHARDS = {"name": "label_shards"}

# What differs from four clients with a plain partition of 600 rows, and the digest of who has what, with what is said.
DEALT = [
    ({}, "84315bc7af579e43"),
    ({"samples": 150, "seed": 3}, "04cdd27b78237ee5"),
    ({"partition_seed": 7, "seed": 3}, "9fa84fc2faa7ff86"),
    ({"split": SPLIT | {"order": "stored"}}, "b1556336e5ef8d5e"),
    ({"split": HALF | {"order": "stored_one_more"}}, "efeb7671eebc2f82"),
    ({"split": SPLIT | {"order": "stored_by_class"}}, "821a56766c8e8b0f"),
    ({"split": OFFICIAL}, "ce5bbdb78a1e72ed"),
    ({"label_noise": {"ratio": 0.4}}, "8c248a0b8caf1da8"),
    ({"partition": LDA}, "53dd1411645a4b5c"),
    ({"partition": LDA | {"alpha": 1e-4, "max_draws": 3}, "clients": 9}, "1fb90ccb46933f1f"),
    ({"partition": FAIRFL}, "096fced1eadcee8e"),
    ({"partition": {"name": "dirichlet_by_client", "alpha": 0.3}, "clients": 7}, "448a060f946d53d1"),
    ({"partition": {"name": "dirichlet_by_client", "alpha": 1e-5}}, "01c356527e05d68d"),
    ({"partition": SHARDS, "clients": 7}, "3292bac2d16c9891"),
    ({"partition": SHARDS | {"shards_per_client": 3}, "split": OFFICIAL}, "4a42135762b86ff5"),
    ({"partition": {"name": "unequal_sizes", "alpha": 0.5}}, "95273353ce31b4b1"),
    ({"partition": {"name": "by_class"}, "clients": 5}, "5cf2a85a34dd005a"),
    ({"partition": {"name": "by_client"}}, "3e27dde6780db08c"),
    ({"partition": {"name": "by_client", "choose": "random", "min_samples": 50}, "clients": 3}, "07c8a05bc50cf359"),
    ({"partition": {"name": "by_domain", "clients": [3, 2]}, "clients": 5}, "284bfe1a7cbcd805"),
    (
        {"partition": {"name": "rotation_clusters", "angles": [0, 90, 270], "clients": [2, 1, 1], "mixture": 0.8}},
        "acdde85d7973188b",
    ),
    (
        {"partition": {"name": "ambiguous_fraction", "fractions": [0, 0.3, 0.5, 1], "per_client": 60}},
        "eae7a9e5d17d7a83",
    ),
]


def tensors(owners):
    draw = np.random.default_rng(5)
    clean, copies = np.arange(360), 360 + np.repeat(np.arange(24), 10)
    made = {
        "labels": draw.integers(0, 5, 600),
        "groups": np.concatenate([clean, copies]),
        "ambiguous": np.arange(600) >= 360,
        "domain": np.arange(600) % 2,
        "official_test": np.arange(600) % 3 == 1,
    }
    return made | ({"client": draw.permutation(np.arange(600) % 7 * (np.arange(600) % 3 + 1) % 7)} if owners else {})


@pytest.mark.parametrize(("changes", "digest"), DEALT)
def test_partitions_stay_as_they_are(changes, digest):
    rule = changes.get("partition", {"name": "plain"})["name"]
    order = changes.get("split", SPLIT)["order"]
    data = tensors(owners=rule == "by_client")
    if order in ("stored_one_more", "stored_by_class"):
        data["groups"] = np.arange(600)
    if order != "official":
        del data["official_test"]
    columns, assignment = partition(PartitionSpec(**job(**changes)), data)
    said = [assignment.remarks, assignment.changed, assignment.clusters]
    found = hashlib.sha256(json.dumps(said).encode())
    for name, values in sorted(columns.items()):
        found.update(name.encode() + values.astype("<i8").tobytes())
    assert found.hexdigest()[:16] == digest
