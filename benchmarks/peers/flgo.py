"""FLGo 0.4.4: its MNIST benchmark on our samples and partition, FedAvg, no evaluation; variant mem: load_mode=mem."""

import importlib.metadata
import tempfile
from pathlib import Path

import numpy as np
from torch import Tensor

from benchmarks import models
from benchmarks.worker import Competitor, Job, Unfit


def write_idx(values: np.ndarray, path: Path) -> None:
    """Unsigned bytes in MNIST's file format."""
    head = bytes((0, 0, 8, values.ndim)) + np.array(values.shape, dtype=">u4").tobytes()
    path.write_bytes(head + np.ascontiguousarray(values, dtype=np.uint8).tobytes())


def raw_files(source: Path, root: Path) -> None:
    """Our samples where torchvision looks for MNIST's; a few of them stand in for the test part, which is not used."""
    images, labels = np.load(source / "inputs.npy")[:, 0], np.load(source / "labels.npy")
    folder = root / "MNIST" / "MNIST" / "raw"
    folder.mkdir(parents=True)
    for part, rows in (("train", slice(None)), ("t10k", slice(0, 10))):
        write_idx(images[rows], folder / f"{part}-images-idx3-ubyte")
        write_idx(labels[rows], folder / f"{part}-labels-idx1-ubyte")


class Flgo(Competitor):
    def __init__(self, job: Job, mode: str) -> None:
        super().__init__(job)
        w = job.workload
        if w.shape != (1, 28, 28):
            raise Unfit("its MNIST benchmark takes 28x28 images only")
        self.versions = {"flgo": importlib.metadata.version("flgo")}
        import flgo
        import flgo.algorithm.fedavg
        import flgo.benchmark.partition

        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name)
        raw_files(job.source, root)
        flgo.benchmark.data_root = str(
            root
        )  # before the benchmark is imported, which reads the files

        class AsGiven(flgo.benchmark.partition.BasicPartitioner):
            def __call__(self, data: object) -> list[list[int]]:
                return [list(range(k * w.samples, (k + 1) * w.samples)) for k in range(w.clients)]

        import flgo.benchmark.mnist_classification as mnist

        patch()
        task = str(root / "task")
        mnist.visualize = lambda *_: None
        flgo.gen_task_by_(mnist, AsGiven(), task)
        option = {
            "num_rounds": 1_000_000,
            "num_epochs": w.epochs,
            "batch_size": float(w.batch or -1),
            "learning_rate": w.learning_rate,
            "proportion": w.per_round / w.clients,
            "sample": "uniform",
            "train_holdout": 0.0,
            "eval_interval": 0,
            "load_mode": mode,
            "no_log_console": True,
            "no_tqdm": True,
        }
        model = flgo.convert_model(lambda: models.build(w.model, w.shape, w.classes))
        self.server = flgo.init(task, flgo.algorithm.fedavg, option, model=model)

    def step(self) -> None:
        """The body of the server's own run() without logging."""
        self.server.gv.clock.step()
        self.server.iterate()
        self.server.current_round += 1

    def parameters(self) -> Tensor:
        return models.flat(self.server.model)

    def close(self) -> None:
        self.folder.cleanup()


def patch() -> None:
    """torch >= 2.13 asks a Subset for whole batches; FLGo's Subset then indexes torchvision's MNIST with a list."""
    from flgo.benchmark.toolkits.cv.classification import FromDatasetPipe

    FromDatasetPipe.TaskDataset.__getitems__ = lambda self, batch: [self[i] for i in batch]


def start(job: Job, competitor: str) -> Competitor:
    return Flgo(job, "mem" if competitor.endswith("-mem") else "")
