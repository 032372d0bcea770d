"""Prepared data: what their arrays have to be, checked when they are made and again when they are read.

The form is described in fairfl.data.interface. `place` is what messages begin with: a data set or a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairfl.runtime.errors import DataError

_FORMS = ((np.dtype(np.uint8), 4), (np.dtype(np.float32), 2), (np.dtype(np.int64), 2))


def load(
    path: Path, *needed: str, optional: tuple[str, ...] = (), framework: Literal["np", "pt"] = "np"
) -> tuple[dict[str, Any], dict[str, str]]:
    """Tensors by name, and the metadata. Only those asked for are read.

    Raises:
        DataError: the file is damaged, or lacks a tensor that is needed.
        OSError: it cannot be read.
    """
    from safetensors import SafetensorError, safe_open  # here: the GPU check has no such package

    try:
        with safe_open(str(path), framework=framework) as file:
            names = set(file.keys())
            if missing := [name for name in needed if name not in names]:
                raise DataError(f"{path}: has no tensor {missing[0]!r}; delete it and run again")
            read = [*needed, *(name for name in optional if name in names)]
            return {name: file.get_tensor(name) for name in read}, file.metadata() or {}
    except FileNotFoundError:
        raise
    except (
        SafetensorError,
        OSError,
        TypeError,
        ValueError,
    ) as error:  # the last two: a dtype that nobody knows
        raise DataError(f"{path}: damaged ({error}); delete it and run again") from None


def read_numbers(path: Path, metadata: dict[str, str], name: str) -> list[float]:
    """Numbers of the metadata with commas between them."""
    text = metadata.get(name, "")
    try:
        return list(map(float, text.split(",")))
    except ValueError:
        raise DataError(
            f"{path}: metadata {name}: {text[:40]!r} are no numbers; delete it and run again"
        ) from None


def read_scale(path: Path, metadata: dict[str, str], name: str, channels: int) -> list[float]:
    """`scale_mean` or `scale_std`: one number, or one per channel."""
    values = read_numbers(path, metadata, name)
    check_scale(str(path), name, values, channels, positive=name == "scale_std")
    return values


def check_scale(place: str, name: str, values: list[float], channels: int, positive: bool) -> None:
    """Raises DataError unless the values are finite (and above 0 if `positive`): one, or one per channel."""
    if len(values) not in (1, channels):
        raise DataError(
            f"{place}: {name} has {len(values)} values; expected 1 or {channels} (channels)"
        )
    if not np.isfinite(values).all() or (positive and min(values) <= 0):
        raise DataError(
            f"{place}: {name} is {values}; expected finite numbers{' > 0' if positive else ''}"
        )


def check_form(place: str, inputs: Any) -> None:
    """Raises DataError unless array or tensor `inputs` is of one of the documented dtypes and dimensions."""
    dtype = str(inputs.dtype).removeprefix("torch.")
    if (dtype, inputs.ndim) not in [(kind.name, ndim) for kind, ndim in _FORMS]:
        raise DataError(
            f"{place}: inputs are {dtype} {list(inputs.shape)}; "
            "expected uint8 [N, C, H, W], float32 [N, d] or int64 [N, T]"
        )


def check_values(place: str, inputs: np.ndarray) -> None:
    """Raises DataError for features [N, d] that are not finite and for tokens [N, T] below 0."""
    if inputs.dtype == np.float32 and not np.isfinite(inputs).all():
        row = int(np.argwhere(~np.isfinite(inputs))[0, 0])
        raise DataError(f"{place}: inputs row {row} holds a value that is not finite")
    if inputs.dtype == np.int64 and (inputs < 0).any():
        row = int(np.argwhere(inputs < 0)[0, 0])
        raise DataError(
            f"{place}: inputs row {row} holds the token {inputs[row].min()}; expected 0 or more"
        )


def convert_targets(place: str, classes: int, labels: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Labels in their documented dtype: of classes, of tokens that follow tokens, or the numbers of a regression."""
    if classes == 0:
        return _convert_numbers(place, labels, len(inputs))
    if np.ndim(labels) == 2:
        return _convert_next_tokens(place, labels, inputs, classes)
    return convert_column(place, "labels", labels, len(inputs), np.int64, classes - 1)


def _convert_next_tokens(
    place: str, labels: np.ndarray, inputs: np.ndarray, classes: int
) -> np.ndarray:
    """int64 [N, T], for tokens [N, T] of the same vocabulary. Each row asks for a prediction."""
    if inputs.dtype != np.int64 or labels.shape != inputs.shape:
        raise DataError(
            f"{place}: labels have shape {list(labels.shape)}; expected [{len(inputs)}], "
            f"or the shape of the inputs if these are tokens (they are {inputs.dtype} {list(inputs.shape)})"
        )
    if labels.dtype.kind != "i":
        raise DataError(f"{place}: labels are {labels.dtype}; expected whole numbers with a sign")
    for name, tokens, lowest in (("inputs", inputs, 0), ("labels", labels, -1)):
        wrong = ((tokens < lowest) | (tokens >= classes)).any(1)
        if wrong.any():
            raise DataError(
                f"{place}: {name} row {wrong.argmax()} is not within {lowest}..{classes - 1}"
            )
    idle = (labels < 0).all(1)
    if idle.any():
        raise DataError(f"{place}: labels row {idle.argmax()} asks for no prediction")
    return np.ascontiguousarray(labels, dtype=np.int64)


def _convert_numbers(place: str, labels: np.ndarray, rows: int) -> np.ndarray:
    """float32 [N], the targets of a regression."""
    labels = np.asarray(labels)
    if labels.shape != (rows,) or labels.dtype.kind != "f":
        form = f"{labels.dtype} {list(labels.shape)}"
        raise DataError(
            f"{place}: labels are {form}; a regression (classes 0) has floating numbers [{rows}]"
        )
    wrong = ~np.isfinite(labels)
    if wrong.any():
        raise DataError(
            f"{place}: labels row {wrong.argmax()} is {labels[wrong.argmax()]}; expected a finite number"
        )
    return np.ascontiguousarray(labels, dtype=np.float32)


def convert_column(
    place: str, name: str, values: np.ndarray, rows: int, dtype: type, highest: int | None
) -> np.ndarray:
    """[N] whole numbers from 0 to `highest` (None: any)."""
    values = np.asarray(values)
    if values.shape != (rows,):
        raise DataError(f"{place}: {name} have shape {list(values.shape)}; expected [{rows}]")
    if values.dtype.kind not in "iub":
        raise DataError(f"{place}: {name} are {values.dtype}; expected whole numbers")
    wrong = values < 0 if highest is None else (values < 0) | (values > highest)
    if wrong.any():
        row = int(wrong.argmax())
        allowed = "0 or more" if highest is None else f"0..{highest}"
        raise DataError(f"{place}: {name} row {row} is {values[row]}; expected {allowed}")
    return np.ascontiguousarray(values, dtype=dtype)
