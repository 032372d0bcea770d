"""Dealing a prepared data set out to clients, and cutting each client's share."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
from pydantic import AfterValidator, Field

from fairfl.data import prepared
from fairfl.experiments.base import JobSpec
from fairfl.experiments.parts import Choice, Count, Data, LabelNoise, Seed, Split
from fairfl.experiments.plugins import known, module
from fairfl.partition.cut import cut
from fairfl.partition.interface import Assignment, PartitionError, Table
from fairfl.partition.label_noise import flipped
from fairfl.partition.partition_file import PARTS
from fairfl.runtime import validation
from fairfl.runtime.errors import DataError

TYPES = {
    "row": pa.int64(),
    "client": pa.int32(),
    "part": pa.int8(),
    "turn": pa.int8(),
    "label": pa.int64(),
}


COLUMNS = ("official_test", "client", "domain")


class Method(Choice):
    """A file of fairfl.partition with its parameters."""

    name: Annotated[str, AfterValidator(known("partition"))]


class PartitionSpec(JobSpec):
    """Assignment of samples to clients and parts."""

    data: Data
    samples: Count | None = Field(description="drawn from the data set; null: all")
    partition: Method
    partition_seed: Seed | None = Field(
        description="of who owns what, for all runs alike; null: the run's own seed"
    )
    label_noise: LabelNoise | None = None
    clients: Count
    split: Split
    seed: Seed


def check(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Raises DataError unless all columns have a whole number, 0 or more, for each label."""
    rows = len(tensors["labels"]) if tensors["labels"].ndim else 0
    if not rows:
        raise DataError(f"{path}: has no labels; delete it and run again")
    for name in ("groups", "ambiguous", *COLUMNS):
        if name in tensors:
            prepared.convert_column(str(path), name, tensors[name], rows, np.int64, None)


def table_of(
    tensors: dict[str, np.ndarray], samples: int | None, rng: np.random.Generator
) -> tuple[Table, np.ndarray]:
    """The rows that take part (a random subset of `samples`, whole groups) and their row numbers.

    Owners are numbered in order of their first row in all of the data.
    """
    groups = tensors["groups"]
    rows = np.arange(len(groups))
    if samples is not None:
        if samples > len(groups):
            raise PartitionError(f"samples is {samples}, the data set has only {len(groups)}")
        names, first = np.unique(groups, return_inverse=True)
        rank = np.empty(len(names), dtype=np.int64)
        rank[rng.permutation(len(names))] = np.arange(len(names))
        rows = np.sort(np.argsort(rank[first], kind="stable")[:samples])
    if "client" in tensors:
        _, first, owners = np.unique(tensors["client"], return_index=True, return_inverse=True)
        tensors = tensors | {"client": np.argsort(np.argsort(first))[owners]}
    present = [name for name in ("labels", "groups", "ambiguous", *COLUMNS) if name in tensors]
    selected = {name: tensors[name][rows] for name in present}
    flags = {
        name: values.astype(bool)
        for name, values in selected.items()
        if name in ("ambiguous", "official_test")
    }
    return Table(**selected | flags), rows


def partition(
    spec: PartitionSpec, tensors: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], Assignment]:
    """Columns row, client, part of the partition, and how the rows were assigned.

    Where images are turned there is a column `turn`, and with label_noise a column `label`: the labels to be used.
    One generator per purpose and seed. With a partition_seed all runs share who owns which sample, and only the cut and
    the noise are the run's own.
    """
    dealing = spec.seed if spec.partition_seed is None else spec.partition_seed
    seeds = {"subset": dealing, "deal": dealing, "cut": spec.seed, "label_noise": spec.seed}
    draw = {
        purpose: np.random.default_rng(np.random.SeedSequence([seed, number]))
        for number, (purpose, seed) in enumerate(seeds.items())
    }
    table, rows = table_of(tensors, spec.samples, draw["subset"])
    method = module("partition", spec.partition.name)
    config = validation.checked(spec.partition.options, method.Config, "--spec", "partition")
    assignment = method.assign(table, spec.clients, config, draw["deal"])
    columns = {
        "row": rows[np.concatenate(assignment.rows)],
        "client": np.repeat(np.arange(spec.clients), [len(share) for share in assignment.rows]),
        "part": np.concatenate(parts_of(assignment, table, spec.split, draw["cut"])),
    }
    if assignment.turns is not None:
        columns["turn"] = np.concatenate(assignment.turns)
    if (noise := spec.label_noise) is not None:
        columns["label"] = noisy(columns, tensors["labels"], noise.ratio, draw["label_noise"])
        assignment = replace(
            assignment, remarks=[*assignment.remarks, noise_remark(columns, tensors["labels"])]
        )
    return columns, assignment


def noisy(
    columns: dict[str, np.ndarray], labels: np.ndarray, ratio: float, rng: np.random.Generator
) -> np.ndarray:
    """Label of each assigned row, [n]: labels of the training part flipped with probability `ratio`."""
    noisy, train = labels[columns["row"]], columns["part"] == PARTS.index("train")
    noisy[train] = flipped(noisy[train], ratio, int(labels.max()) + 1, rng)
    return noisy


def noise_remark(columns: dict[str, np.ndarray], labels: np.ndarray) -> str:
    """Effect of the noise, in words."""
    wrong = int((columns["label"] != labels[columns["row"]]).sum())
    return f"label noise: {wrong} of {int((columns['part'] == PARTS.index('train')).sum())} training labels are wrong"


def described(
    assignment: Assignment,
    metadata: dict[str, str],
    columns: dict[str, np.ndarray],
    owners: np.ndarray | None,
) -> dict[str, str]:
    """Facts in the partition's file beside its rows: the clients' true clusters, their owners, what was changed.

    Clusters are the partitioner's, or the data's whose owners have some. `columns` are those of the partition,
    `owners` [N] of the data. Clients that are not one owner each have neither; what is left of the clusters, where not
    all owners take part, is numbered from 0.
    """
    facts, changed = {}, assignment.changed
    if assignment.clusters is not None:
        facts["clusters"] = json.dumps(assignment.clusters)
    if owners is not None and metadata.keys() & {"clusters", "owners"}:
        pairs = np.unique(np.stack([columns["client"], owners[columns["row"]]]), axis=1)
        if not (np.diff(pairs[0]) == 0).any():
            if "clusters" in metadata:
                of_clients = np.array(json.loads(metadata["clusters"]))[pairs[1]]
                numbered = np.unique(of_clients, return_inverse=True)[1].tolist()
                facts.setdefault("clusters", json.dumps(numbered))
            if "owners" in metadata:
                names = json.loads(metadata["owners"])
                facts["owners"] = json.dumps([names[owner] for owner in pairs[1]])
        assigned, there = len(columns["row"]), int(np.isin(owners, pairs[1]).sum())
        if assigned < there and "owners" in metadata:
            changed = [*changed, f"{assigned:,} of their {there:,} samples take part"]
    return facts | ({"changed": json.dumps(changed)} if changed else {})


def parts_of(
    assignment: Assignment, table: Table, split: Split, rng: np.random.Generator
) -> list[np.ndarray]:
    """Part of each row of each client. Raises PartitionError if a client has nothing to train on."""
    parts, shares = [], split.model_dump()
    for client, rows in enumerate(assignment.rows):
        place = f"client {client} of {len(assignment.rows)}"
        if len(rows) == 0:
            raise PartitionError(f"{place} got no sample")
        parts.append(cut(rows, table, shares, rng))
        if PARTS.index("train") not in parts[-1]:
            raise PartitionError(
                f"{place} got no training sample: its {len(rows)} are too few "
                f"for split.train {split.train:g}, split.order {split.order}"
            )
    return parts


def statistics(
    columns: dict[str, np.ndarray], labels: np.ndarray, remarks: list[str], data: str
) -> str:
    """CSV: one line per client and part with its size and label counts, the data used and what happened.

    Texts have a label at every position, from as many as there are words, and regressions have numbers: no counts.
    Noisy labels are counted as they are used.
    """
    classes = int(labels.max()) + 1 if labels.ndim == 1 and labels.dtype.kind == "i" else 0
    lines = [
        ",".join(
            [
                "client",
                "part",
                "samples",
                *(f"label_{c}" for c in range(classes)),
                "data",
                "remarks",
            ]
        )
    ]
    used = columns["label"] if "label" in columns else labels[columns["row"]]
    clients, kinds = int(columns["client"].max()) + 1, len(PARTS)
    cells = columns["client"] * kinds + columns["part"]
    samples = np.bincount(cells, minlength=clients * kinds)
    counts = np.zeros((len(samples), 0), dtype=int)
    if classes:
        counts = np.bincount(cells * classes + used, minlength=len(samples) * classes).reshape(
            -1, classes
        )
    end = ",".join(["", data, f'"{"; ".join(remarks)}"'])
    for cell, numbers in enumerate(np.column_stack([samples, counts]).tolist()):
        client, number = divmod(cell, kinds)
        lines.append(f"{client},{PARTS[number]},{','.join(map(str, numbers))}{end}")
    return "\n".join(lines) + "\n"
