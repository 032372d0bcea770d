"""What a data set module offers and what prepared data look like.

Prepared data are one safetensors file. Its tensors (N rows):

============= ======= ============= ===========================================================
name          dtype   shape         meaning
============= ======= ============= ===========================================================
inputs        uint8   [N, C, H, W]  images, 0..255; or
              float32 [N, d]        features, used as they are; or
              int64   [N, T]        tokens of a text, 0 or more
labels        int64   [N]           class, 0..classes-1; or, with tokens,
                      [N, T]        the token that follows each, -1 where none is asked for; or
              float32 [N]           the number to predict in a regression: classes is 0
groups        int64   [N]           rows of one distinct image share an id; a split must not
                                    cut a group
ambiguous     uint8   [N]           optional: 1 where the true class is uncertain
client        int64   [N]           optional: owner of the row, where the data have clients
domain        int64   [N]           optional: where the row comes from, where there are several
                                    sources, 0 or more
official_test uint8   [N]           optional: 1 where the row belongs to the data's own test part
============= ======= ============= ===========================================================

Its metadata, all strings: ``dataset``, ``classes``, ``source`` (a sentence), ``sha256`` (of the
tensors' content) and ``scale_mean``, ``scale_std``: for images the engine computes
``(x / 255 - scale_mean) / scale_std``, where each is one number, or one per channel with commas
between them ("0.4914,0.4822,0.4465"); "0.0" and "1.0" mean no further scaling. For features and
tokens both are "0.0" and "1.0". Where tokens follow tokens, ``classes`` is the size of the
vocabulary. Data whose clients have known clusters say them in ``clusters``, a JSON list of one
whole number per client, from 0, and data whose owners have names in ``owners``, one each; data whose
smallest possible expected loss is known, the same for all clients, say it in ``bayes_loss``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import BaseModel

from fairfl.data.prepared import (
    check_form,
    check_scale,
    check_values,
    convert_column,
    convert_targets,
)
from fairfl.runtime.errors import DataError

# One number, or one per channel.
Scale = float | Sequence[float]


@dataclass(frozen=True)
class RemoteFile:
    """One raw file of a data set and how to recognise it.

    Attributes:
        name: file name, a constant without any path.
        urls: upstream addresses, tried in order.
        sha256: accepted digests (hex); any of them will do.
        md5: digest (hex) for files whose publisher gives nothing better.
        magic: container whose first bytes the file must show.
        folder: subfolder of the data folder and of mirrors; "" means the data set's own name.
        instead: another form of the same data set, asked for when no source has this one. It may be a lossy copy or
            a part: its numbers are checked as the data set's, and the ``source`` says what it is.
        otherwise: what the data set does where no source has the file, in words; "": it fails.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: tuple[str, ...] = ()
    md5: str | None = None
    magic: Literal["gzip", "zip", "torch"] | None = None
    folder: str = ""
    instead: RemoteFile | None = None
    otherwise: str = ""

    @property
    def is_published(self) -> bool:
        """True unless only the user has the file, which is then known by its content."""
        return bool(self.urls or self.sha256 or self.md5 or self.instead)

    def relative(self, dataset: str) -> str:
        """``<folder>/<name>``: where the file lies in the data folder and in every mirror."""
        return f"{self.folder or dataset}/{self.name}"


@dataclass(frozen=True)
class Prepared:
    """Tensors and metadata in the form that the module docstring describes."""

    tensors: dict[str, np.ndarray]
    metadata: dict[str, str]


class Dataset(Protocol):
    """Interface of every module ``fairfl.data.<name>``.

    Attributes:
        PER_SEED: True where the data themselves are sampled again for each run seed; may be missing, False.
        Config: the options, each with a default.
    """

    PER_SEED: bool
    Config: type[BaseModel]

    def files(self, options: Any) -> tuple[RemoteFile, ...]:
        """Raw files under these options, a Config; may be missing, where data are generated or embedded."""

    def prepare(self, raw: Path | None, options: Any, seed: int) -> Prepared:
        """Read or draw the data; ``raw`` is the data folder, ``seed`` counts if PER_SEED.

        Raises:
            SourceError: a raw file is missing or damaged.
            DataError: a raw file has unexpected content.
        """


def assemble(
    dataset: str,
    classes: int,
    source: str,
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    groups: np.ndarray | None = None,
    ambiguous: np.ndarray | None = None,
    client: np.ndarray | None = None,
    domain: np.ndarray | None = None,
    official_test: np.ndarray | None = None,
    clusters: Sequence[int] | None = None,
    owners: Sequence[str] | None = None,
    mean: Scale = 0.0,
    std: Scale = 1.0,
) -> Prepared:
    """Check the arrays, bring them to their documented dtypes and add the metadata.

    ``classes`` is 0 for a regression. ``groups`` defaults to one group per row; ``mean`` and ``std`` are one number or
    one per channel.

    Raises:
        DataError: a wrong dtype, shape or length, a label out of range or a value not finite.
    """
    check_form(dataset, inputs)
    if inputs.size == 0:
        raise DataError(f"{dataset}: inputs are empty ({list(inputs.shape)})")
    check_values(dataset, inputs)
    rows = len(inputs)
    groups = np.arange(rows) if groups is None else groups
    labels = convert_targets(dataset, classes, labels, inputs)
    tensors = {"inputs": np.ascontiguousarray(inputs), "labels": labels}
    ids = {"groups": groups, "client": client, "domain": domain}
    flags = {"ambiguous": ambiguous, "official_test": official_test}
    for columns, dtype, highest in ((ids, np.int64, None), (flags, np.uint8, 1)):
        for name, values in columns.items():
            if values is not None:
                tensors[name] = convert_column(dataset, name, values, rows, dtype, highest)
    metadata = {
        "dataset": dataset,
        "classes": str(classes),
        "source": source,
        "scale_mean": _scale(dataset, "mean", mean, inputs),
        "scale_std": _scale(dataset, "std", std, inputs),
        "sha256": content_sha256(tensors),
    }
    if owners is not None:
        metadata["owners"] = json.dumps(list(owners))
    if clusters is not None:
        metadata["clusters"] = _clusters(dataset, clusters, client)
    return Prepared(tensors, metadata)


def content_sha256(tensors: dict[str, np.ndarray]) -> str:
    """Digest of names, dtypes, shapes and values; independent of the order of the dict."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.data.cast("B"))
    return digest.hexdigest()


def _scale(dataset: str, name: str, value: Scale, inputs: np.ndarray) -> str:
    """One number, or one per channel with commas between them."""
    values = np.atleast_1d(value).astype(float).tolist()
    check_scale(dataset, name, values, inputs.shape[1], positive=name == "std")
    return ",".join(map(str, values))


def _clusters(dataset: str, clusters: Sequence[int], client: np.ndarray | None) -> str:
    """JSON list of the cluster of each client."""
    owners = 0 if client is None else int(np.max(client)) + 1
    if len(clusters) != owners:
        raise DataError(
            f"{dataset}: clusters has {len(clusters)} entries; the rows have {owners} clients"
        )
    return json.dumps(
        convert_column(dataset, "clusters", np.asarray(clusters), owners, np.int64, None).tolist()
    )
