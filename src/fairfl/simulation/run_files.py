"""What a training reads of other jobs and what it leaves: curves, final model."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

from fairfl import algorithms
from fairfl.runtime.errors import FairflError
from fairfl.simulation.clients import Clients
from fairfl.simulation.history import Result
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import TrainingSpec
from fairfl.values import result_files
from fairfl.values.result_files import LocalOptimumResult, Summary


def history_table(result: Result) -> pa.Table:
    """One line per evaluated round and client: losses (nats), accuracies and recalls (fractions)."""
    names = [name for name in result.history[0] if name != "round"]
    clients = result.history[0][names[0]].numel()
    columns: dict[str, Any] = {
        "round": torch.stack([row["round"] for row in result.history])
        .repeat_interleave(clients)
        .numpy(),
        "client": torch.arange(clients, dtype=torch.int32).repeat(len(result.history)).numpy(),
    }
    for name in names:
        columns[name] = torch.cat([row[name] for row in result.history]).numpy()
    return pa.table(columns)


def best_losses(algorithm: str, folder: Path | None, clients: int) -> torch.Tensor | None:
    """L*_k on validation data, [K] nats, from the files of the local-optimum jobs; None if the algorithm needs none.

    Raises FairflError if it does and their folder is missing.
    """
    if "local_optimum_loss" not in algorithms.load(algorithm).measurements:
        return None
    if folder is None:
        raise FairflError(f"{algorithm} needs the local optima: name their folder with --optima")
    optima = [
        result_files.read(folder / f"client{k}.json", LocalOptimumResult) for k in range(clients)
    ]
    values = [optimum.loss_validation for optimum in optima]
    return torch.tensor([float("nan") if v is None else v for v in values], dtype=torch.float64)


def memberships(path: Path) -> torch.Tensor:
    """The mixture that a run deployed at last, [K, M], from its summary.json."""
    mixture = result_files.read(path, Summary).memberships
    if mixture is None:
        raise FairflError(f"{path}: the run has no memberships")
    return torch.tensor(mixture, dtype=torch.float64)


def facts(simulation: Simulation) -> dict[str, Any]:
    """Entries of a summary about a run that has ended, beside its numbers."""
    clients, result, model = simulation.clients, simulation.result, simulation.backend.model
    return {
        "backend": type(simulation.backend).__name__.lower(),
        "parameters": simulation.parameters,
        # The model's first values have an origin if they are not drawn.
        "data_source": "; ".join(filter(None, [clients.source, getattr(model, "origin", "")])),
        "dropped_reports": result.dropped,
        "diverged": diverged(clients, result),
        "measures": simulation.measures(),
        **({} if result.mixture is None else {"memberships": result.mixture.tolist()}),
        **({} if clients.clusters is None else {"clusters": clients.clusters}),
        **({"partition": clients.changed} if clients.changed else {}),
        **({"owners": clients.owners} if clients.owners else {}),
    }


def diverged(clients: Clients, result: Result) -> bool:
    """True if the final loss of a client that has samples is not finite."""
    final = result.history[-1]
    losses = {name: final[f"loss_{name}"] for name in clients.parts if f"loss_{name}" in final}
    return any(
        not bool(torch.isfinite(loss[clients.parts[name].counts > 0]).all())
        for name, loss in losses.items()
    )


def kept_tensors(spec: TrainingSpec, result: Result) -> dict[str, torch.Tensor]:
    """The final model and its path over the evaluated rounds, as far as the setting keeps them."""
    tensors = {} if spec.keep == "nothing" else {"theta": result.x.cpu()}
    if spec.keep == "path":
        tensors["path"] = torch.stack(result.path)
        tensors["path_rounds"] = torch.stack([row["round"] for row in result.history])
    return tensors
