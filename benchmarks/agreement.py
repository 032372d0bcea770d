"""Do all competitors do the same work? Two rounds on data where the order of samples cannot matter.

All samples of a client are copies of one, all clients take part, the batch size does not divide their number. Then
every correct FedAvg with local SGD from the same weights ends at the same model, whatever batches it draws.
"""

from pathlib import Path

import numpy as np

from benchmarks.driver import Failed, Setting, Worker, clean
from benchmarks.peers import REFERENCE
from benchmarks.workloads import Workload

SMALL_MLP = {"name": "mlp", "hidden": [16, 8]}
SMALL_CNN = {"name": "cnn", "channels": [4, 8], "kernel": 5, "padding": 2, "hidden": 16}
WORKLOADS = tuple(
    Workload(
        f"agreement_{model['name']}_{epochs}",
        model,
        5,
        clients=4,
        samples=12,
        per_round=4,
        epochs=epochs,
    )
    for model, epochs in ((SMALL_MLP, 1), (SMALL_MLP, 3), (SMALL_CNN, 1))
)
TOLERANCE = 1e-4  # of the largest parameter difference; float32, other summation orders


def prepare(target: Path) -> None:
    """Inputs and labels as benchmarks.data writes them: client k's 12 samples are one image of class k."""
    w = WORKLOADS[0]
    images = np.random.default_rng(1).integers(0, 256, (w.clients, 1, *w.shape), dtype=np.uint8)
    target.mkdir(parents=True, exist_ok=True)
    np.save(target / "inputs.npy", images.repeat(w.samples, axis=1).reshape(-1, *w.shape))
    np.save(target / "labels.npy", np.arange(w.clients).repeat(w.samples))


def model_of(competitor: str, workload: Workload, source: Path, device: str) -> np.ndarray:
    """The global model after two rounds, flat. Raises Failed."""
    worker = Worker(competitor, workload, source, Setting(device, warm_up=1))
    try:
        return np.array(worker.model())
    finally:
        worker.close()


def differences(competitors: list[str], source: Path, device: str) -> dict[str, float | str]:
    """Largest difference between a competitor's parameters and fairfl's over all models, or why there is none."""
    prepare(source)
    found: dict[str, float | str] = {}
    for workload in WORKLOADS:
        reference = model_of(REFERENCE, workload, source, device)
        for name in competitors:
            if name == REFERENCE or isinstance(found.get(name), str):
                continue
            try:
                difference = float(
                    np.abs(model_of(name, workload, source, device) - reference).max()
                )
            except Failed as error:
                found[name] = clean(str(error))
            else:
                found[name] = max(difference, found.get(name, 0.0))
    return found
