"""The samples: written once by the driver, read by every worker. Client k owns rows k*n : (k+1)*n."""

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads import Workload

ROOT = Path(__file__).resolve().parents[1]
MEAN, STD = 0.1307, 0.3081


def prepare(target: Path, shape: tuple[int, ...], rows: int, folder: Path | None = None) -> str:
    """Write inputs.npy (uint8 [rows, *shape]) and labels.npy into `target`, two label shards per client.

    Real MNIST if its shape is asked for and `folder` or a mirror of config.yaml has it, else generated pixels.
    Returns which.
    """
    real = _mnist(folder) if shape == (1, 28, 28) and rows == 60_000 else None
    inputs, labels = real or _generated(shape, rows)
    order = np.argsort(labels, kind="stable")
    if rows % 200 == 0:
        order = order.reshape(200, -1)[np.random.default_rng(0).permutation(200)].reshape(-1)
    target.mkdir(parents=True, exist_ok=True)
    np.save(target / "inputs.npy", inputs[order])
    np.save(target / "labels.npy", labels[order])
    return "MNIST" if real else "generated pixels"


def _generated(shape: tuple[int, ...], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A pattern for each of ten classes, and noise: learnable, like digits mostly dark."""
    draw = np.random.default_rng(0)
    labels = draw.permutation(np.arange(rows) % 10)
    patterns = 200 * (draw.random((10, *shape)) < 0.2)
    noise = draw.integers(0, 50, (rows, *shape), dtype=np.uint8)
    return patterns.astype(np.uint8)[labels] + noise, labels


def _mnist(folder: Path | None) -> tuple[np.ndarray, np.ndarray] | None:
    """Training images [60000, 1, 28, 28] and labels from the first folder that has them; None if nobody has."""
    from fairfl.runtime.errors import FairflError

    for place in [folder] if folder else _places():
        images, labels = (
            place / f"train-{kind}.gz" for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
        )
        if not (images.is_file() and labels.is_file()):
            continue
        try:
            return _read_idx(images)[:, None], _read_idx(labels).astype(np.int64)
        except Exception as error:  # a damaged file may raise nearly anything
            print(f"not used: {place}: damaged ({error})", file=sys.stderr)
    if folder:
        raise FairflError(
            f"--mnist {folder}: train-images-idx3-ubyte.gz and its labels are not there (or damaged)"
        )
    return None


def _read_idx(file: Path) -> np.ndarray:
    """uint8 array of a file: its number of dimensions in byte 3, the dimensions, then the values."""
    data = gzip.decompress(file.read_bytes())
    shape = np.frombuffer(data, ">u4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + shape.nbytes).reshape(shape)


def _places() -> list[Path]:
    """Folders of MNIST named by config.yaml; none where there is no YAML reader."""
    try:
        import yaml
    except ImportError:
        return []
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    folders = [config["data_folder"], *(m for m in config["mirrors"] if "://" not in m)]
    return [(ROOT / folder / "mnist").resolve() for folder in folders]


def load(source: Path, workload: Workload) -> tuple[Any, Any]:
    """Inputs float32 [clients * samples, *shape], standardised, and labels int64, as torch tensors."""
    import torch

    rows = workload.clients * workload.samples
    inputs = torch.from_numpy(np.load(source / "inputs.npy"))
    labels = torch.from_numpy(np.load(source / "labels.npy"))
    if rows > len(labels):
        raise ValueError(f"{workload.name}: {rows} rows are needed, the data have {len(labels)}")
    # All rows become floats, then a view is taken: series over the number of clients hold equal memory.
    scaled = inputs.float().div_(255).sub_(MEAN).div_(STD)
    return scaled[:rows], labels[:rows]
