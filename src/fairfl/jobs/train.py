"""python -m fairfl.jobs.train: one run, setting x variant x seed."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from fairfl.jobs import job
from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError
from fairfl.simulation.training_spec import TrainingSpec
from fairfl.values import result_files
from fairfl.values.result_files import TunedChoice

if TYPE_CHECKING:
    import torch

    from fairfl.experiments.variant import Run
    from fairfl.experiments.workload import Workload
    from fairfl.simulation.clients import Clients
    from fairfl.simulation.simulation import Simulation

OUTPUTS = ("metrics.parquet", "summary.json", "model.safetensors")


class TrainSpec(TrainingSpec):
    """A run, perhaps with what fairfl.jobs.tune chose."""

    tuned: Literal["rates", "all"] | None = Field(
        None,
        description="rates: learning_rate and batch_size are the chosen ones; all: the hyper-parameters too",
    )


def spec(workload: "Workload", setting: str, algorithm: str, variant: str) -> dict[str, Any]:
    """Everything but its seed that a run depends on."""
    return spec_of_run(workload, workload.run(setting, algorithm, variant, 0))


def spec_of_run(workload: "Workload", run: "Run") -> dict[str, Any]:
    """TrainSpec of any run, also of one that is timed only."""
    from fairfl.data import own_weights

    training = workload.settings[run.setting].training_of(run.algorithm)
    # The first comes in as files, the others matter after training only.
    for key in ("local_optimum", "surrogate", "reported_part", "gap_part", "late_evaluations"):
        training.pop(key)
    return {
        "setting": run.setting,
        **training,
        **own_weights.hash_for_spec(workload, run.setting),
        "precision": workload.config.precision,
        "algorithm": run.algorithm,
        "variant": run.variant.folder,
        "hyperparameters": workload.hyperparameters(run),
        "modifiers": workload.modifiers(run),
        **({"tuned": tuning.applies} if (tuning := workload.tuning_of(run)) else {}),
    }


def plugins(spec: dict[str, Any]) -> list[str]:
    """The modules that the spec names, looked up at run time."""
    modifiers = [f"modifiers.{name}" for name in spec["modifiers"]]
    return [f"models.{spec['model']['name']}", f"algorithms.{spec['algorithm']}", *modifiers]


def tuned(spec: TrainSpec, choice: TunedChoice) -> TrainSpec:
    """The spec with what fairfl.jobs.tune chose in place of its values; spec.tuned says how much of it.

    Raises FairflError if the choice was made for another run.
    """
    for key in ("setting", "algorithm"):
        if getattr(choice, key) != getattr(spec, key):
            raise FairflError(
                f"--tuned: chosen for {key} {getattr(choice, key)!r}, the run has {getattr(spec, key)!r}"
            )
    chosen: dict[str, Any] = {
        "learning_rate": choice.learning_rate,
        "batch_size": choice.batch_size,
    }
    if spec.tuned == "all":
        chosen["hyperparameters"] = {**spec.hyperparameters, **choice.hyperparameters}
    return spec.model_copy(update=chosen)


def main(argv: list[str] | None = None) -> None:
    import pyarrow.parquet as pq
    from safetensors.torch import save

    from fairfl.simulation import device, run_files
    from fairfl.simulation.checkpoint import Checkpoint
    from fairfl.simulation.clients import load_clients

    started = time.monotonic()
    optional = {
        "optima": "folder of the local optima; read if the algorithm needs L*_k",
        "tuned": "what fairfl.jobs.tune chose; read if the spec says so",
        "after": "summary.json of the run that this one comes after",
    }
    out = "folder for metrics.parquet, summary.json, model"
    args, requested = job.parse(argv, "train", TrainSpec, *job.OPTIONS, optional=optional, out=out)
    spec, choice = _resolve(requested, args.tuned)
    metrics, described, model = outputs = [args.out / name for name in OUTPUTS]
    with job.run_context(args, *outputs, scratch=[args.checkpoint], torch=True) as key:
        chosen = device.choose_for(args, spec.precision)
        clients = load_clients(args.data, args.partition, chosen)
        simulation = _simulation(spec, clients, args, chosen)
        checkpoint = Checkpoint(args.checkpoint, key, args.checkpoint_seconds)
        ready = time.monotonic()
        result = simulation.run(checkpoint)
        training = time.monotonic() - ready
        with atomic.replacing(metrics) as temporary:
            pq.write_table(run_files.history_table(result), temporary)
        atomic.write_bytes(model, save(run_files.kept_tensors(spec, result)))
        facts = run_files.facts(simulation) | {"training_seconds": round(training, 3)}
        facts |= {"chosen": choice.model_dump(exclude={"value", "tried"})} if choice else {}
        summary = device.record(args, described, chosen, started, **facts)
        checkpoint.remove()
    print(
        f"done in {summary['seconds']} s, training {training:.1f} s, peak {summary['peak_memory_mib']} MiB"
    )


def _resolve(requested: TrainSpec, file: Path | None) -> tuple[TrainSpec, TunedChoice | None]:
    """The spec of the run, and what fairfl.jobs.tune chose for it if the request is tuned."""
    if not requested.tuned:
        return requested, None
    if file is None:
        raise FairflError(
            f"{requested.setting}: a tuned run needs the file of chosen values: name it with --tuned"
        )
    choice = result_files.read(file, TunedChoice)
    return tuned(requested, choice), choice


def _simulation(
    spec: TrainSpec, clients: "Clients", args: argparse.Namespace, device: "torch.device"
) -> "Simulation":
    """The federation before its first round. Raises FairflError if options, data and algorithm do not fit together."""
    from fairfl.simulation import run_files
    from fairfl.simulation.simulation import Simulation

    memberships = run_files.memberships(args.after) if args.after else None
    best = run_files.best_losses(spec.algorithm, args.optima, clients.count)
    try:
        return Simulation(spec, clients, best, device, args.backend, memberships)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(map(str, problem["loc"]))
        raise FairflError(
            f"{spec.setting}: {key}: {problem['input']!r}: {problem['msg']}"
        ) from None
    except ValueError as error:
        raise FairflError(f"{spec.setting}: {error}") from None


if __name__ == "__main__":
    cli.run(main, teardown=False)
