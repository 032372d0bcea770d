"""Tables to deal out, made in memory, and prepared data dealt out by the job."""

import json

import numpy as np
import pyarrow.parquet as pq
import torch

from fairfl.jobs.partition import main
from fairfl.jobs.prepare import write
from fairfl.partition.interface import Table
from fairfl.simulation.clients import load_clients

SPLIT = {"train": 0.6, "validation": 0.2, "test": 0.2, "order": "shuffled"}


def table(labels, groups=None, ambiguous=None, client=None):
    labels = np.asarray(labels)
    return Table(labels, np.arange(len(labels)) if groups is None else np.asarray(groups), ambiguous, client)


def rng(seed=0):
    return np.random.default_rng(seed)


def job(**changes):
    """The spec of a partition."""
    return {
        "data": {"name": "x", "stands_in_for": None},
        "samples": None,
        "partition": {"name": "plain"},
        "partition_seed": None,
        "clients": 4,
        "split": SPLIT,
        "seed": 0,
    } | changes


def dealt(folder, data, **changes):
    """Prepared data, dealt out by the job: its table."""
    write(folder / "d.safetensors", data)
    paths = ["--data", str(folder / "d.safetensors"), "--out", str(folder / "p.parquet")]
    main(["--spec", json.dumps(job(**changes)), *paths, "--statistics", str(folder / "s.csv")])
    return pq.read_table(folder / "p.parquet")


def loaded(folder, *dtype, **options):
    """Clients as the engine has them, after `dealt`."""
    return load_clients(folder / "d.safetensors", folder / "p.parquet", torch.device("cpu"), *dtype, **options)
