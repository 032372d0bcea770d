"""python -m fairfl.jobs.train: one run, setting x variant x seed."""

import argparse
import json
import time
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from pydantic import Field, ValidationError
from safetensors.torch import save

from fairfl import algorithms
from fairfl.runtime import atomic, cli, job, result_files
from fairfl.runtime.errors import FairflError
from fairfl.runtime.manifest import manifest
from fairfl.runtime.result_files import LocalOptimum, Summary, TunedChoice
from fairfl.simulation import device
from fairfl.simulation.checkpoint import Checkpoint
from fairfl.simulation.clients import Clients, load_clients
from fairfl.simulation.simulation import Result, Simulation
from fairfl.simulation.training_spec import TrainingSpec

OUTPUTS = ("metrics.parquet", "summary.json", "model.safetensors")


class Spec(TrainingSpec):
    """A run, perhaps with what fairfl.jobs.tune chose."""

    tuned: Literal["rates", "all"] | None = Field(
        None, description="rates: learning_rate and batch_size are the chosen ones; all: the hyper-parameters too"
    )


def history_table(result: Result) -> pa.Table:
    """One line per evaluated round and client: losses (nats), accuracies and recalls (fractions)."""
    names = [name for name in result.history[0] if name != "round"]
    clients = result.history[0][names[0]].numel()
    columns: dict[str, Any] = {
        "round": torch.stack([row["round"] for row in result.history]).repeat_interleave(clients).numpy(),
        "client": torch.arange(clients, dtype=torch.int32).repeat(len(result.history)).numpy(),
    }
    for name in names:
        columns[name] = torch.cat([row[name] for row in result.history]).numpy()
    return pa.table(columns)


def best_losses(folder: Path, clients: int, part: str) -> torch.Tensor:
    """L*_k of one part, [K] nats, from the files of the local-optimum jobs."""
    optima = [result_files.read(folder / f"client{k}.json", LocalOptimum) for k in range(clients)]
    values = [getattr(optimum, f"loss_{part}") for optimum in optima]
    return torch.tensor([float("nan") if v is None else v for v in values], dtype=torch.float64)


def memberships(path: Path) -> torch.Tensor:
    """The mixture that a run deployed at last, [K, M], from its summary.json."""
    found = result_files.read(path, Summary).memberships
    if found is None:
        raise FairflError(f"{path}: the run has no memberships")
    return torch.tensor(found, dtype=torch.float64)


def source(clients: Clients, model: torch.nn.Module) -> str:
    """Where the data came from, and the model's first values if those are not drawn."""
    return "; ".join(filter(None, [clients.source, getattr(model, "origin", "")]))


def diverged(clients: Clients, result: Result) -> bool:
    """True if the final loss of a client that has samples is not finite."""
    final = result.history[-1]
    losses = {name: final[f"loss_{name}"] for name in clients.parts if f"loss_{name}" in final}
    return any(not bool(torch.isfinite(loss[clients.parts[name].counts > 0]).all()) for name, loss in losses.items())


def kept_tensors(spec: Spec, result: Result) -> dict[str, torch.Tensor]:
    """The final model and its path over the evaluated rounds, as far as the setting keeps them."""
    tensors = {} if spec.keep == "nothing" else {"theta": result.x.cpu()}
    if spec.keep == "path":
        tensors["path"] = torch.stack(result.path)
        tensors["path_rounds"] = torch.stack([row["round"] for row in result.history])
    return tensors


def tuned(spec: Spec, choice: TunedChoice) -> Spec:
    """The spec with what fairfl.jobs.tune chose in place of its own values; spec.tuned says how much of it.

    Raises FairflError if the choice was made for another run.
    """
    for key in ("setting", "algorithm"):
        if getattr(choice, key) != getattr(spec, key):
            raise FairflError(f"--tuned: chosen for {key} {getattr(choice, key)!r}, the run has {getattr(spec, key)!r}")
    chosen: dict[str, Any] = {"learning_rate": choice.learning_rate, "batch_size": choice.batch_size}
    if spec.tuned == "all":
        chosen["hyperparameters"] = {**spec.hyperparameters, **choice.hyperparameters}
    return spec.model_copy(update=chosen)


def main(argv: list[str] | None = None) -> None:
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m fairfl.jobs.train", description=__doc__)
    job.arguments(parser)
    parser.add_argument("--data", required=True, type=Path, help="prepared data set (.safetensors)")
    parser.add_argument("--partition", required=True, type=Path, help="partition (.parquet)")
    parser.add_argument("--optima", type=Path, help="folder of the local optima; read if the algorithm needs L*_k")
    parser.add_argument("--tuned", nargs="?", type=Path, help="what fairfl.jobs.tune chose; read if the spec says so")
    parser.add_argument("--after", nargs="?", type=Path, help="summary.json of the run that this one comes after")
    parser.add_argument("--out", required=True, type=Path, help="folder for metrics.parquet, summary.json, model")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--backend", default="auto", choices=("auto", "stacked", "sequential"))
    parser.add_argument("--threads", type=job.whole, default=1)
    parser.add_argument("--checkpoint-seconds", type=job.seconds, default=60.0)
    args = parser.parse_args(argv)
    spec = asked = job.spec_of(args, Spec)
    choice = None
    if asked.tuned:
        if args.tuned is None:
            raise FairflError(f"{asked.setting}: a tuned run needs the file of chosen values: name it with --tuned")
        choice = result_files.read(args.tuned, TunedChoice)
        spec = tuned(asked, choice)
    metrics, described, model = outputs = [args.out / name for name in OUTPUTS]
    saved = args.out / "checkpoint.pt"
    with job.run_context(args, *outputs, scratch=[saved], torch=True) as key:
        chosen = device.choose(args.device, args.threads, spec.precision)
        clients = load_clients(args.data, args.partition, chosen)
        needed = "val_best" in algorithms.load(spec.algorithm).measurements
        if needed and args.optima is None:
            raise FairflError(f"{spec.algorithm} needs the local optima: name their folder with --optima")
        best = best_losses(args.optima, clients.count, "validation") if needed else None
        checkpoint = Checkpoint(saved, key, args.checkpoint_seconds)
        earlier = memberships(args.after) if args.after else None
        try:
            simulation = Simulation(spec, clients, best, chosen, args.backend, earlier)
        except ValidationError as error:
            problem = error.errors()[0]
            key = ".".join(map(str, problem["loc"]))
            raise FairflError(f"{spec.setting}: {key}: {problem['input']!r}: {problem['msg']}") from None
        except ValueError as error:
            raise FairflError(f"{spec.setting}: {error}") from None
        ready = time.monotonic()
        result = simulation.run(checkpoint)
        training = time.monotonic() - ready

        summary = manifest(
            args.spec,
            started,
            device=str(chosen) if chosen.type == "cpu" else torch.cuda.get_device_name(chosen),
            backend=type(simulation.backend).__name__.lower(),
            parameters=simulation.parameters,
            training_seconds=round(training, 3),
            data_source=source(clients, simulation.backend.model),
            dropped_reports=result.dropped,
            diverged=diverged(clients, result),
            measures=simulation.measures(),
            **({"chosen": choice.model_dump(exclude={"value"})} if choice else {}),
            **({} if result.mixture is None else {"memberships": result.mixture.tolist()}),
            **({} if clients.clusters is None else {"clusters": clients.clusters}),
        )
        with atomic.replacing(metrics) as temporary:
            pq.write_table(history_table(result), temporary)
        atomic.write_bytes(model, save(kept_tensors(spec, result)))
        atomic.write_text(described, json.dumps(summary, indent=1, sort_keys=True) + "\n")
        checkpoint.remove()
    print(f"done in {summary['seconds']} s, training {training:.1f} s, peak {summary['peak_memory_mib']} MiB")


if __name__ == "__main__":
    cli.run(main, teardown=False)
