"""python -m fairfl.jobs.timing: seconds that rounds, test passes and metrics take here (FOCUS tables 9 and 12).

One job measures all variants of a setting in turns, round by round: what else the machine does then hits all of them
alike, and their ratios mean something where the seconds themselves tell more about the machine than about the
algorithms.
"""

import argparse
import time
from typing import TYPE_CHECKING, Any

from fairfl.jobs import job, train
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.runtime.machine import processor
from fairfl.simulation.training_spec import TimingSpec as Spec

if TYPE_CHECKING:
    import torch

    from fairfl.experiments.workload import Workload
    from fairfl.simulation.simulation import Simulation

FILES = {
    "data": "prepared data set (.safetensors); read if the spec has variants",
    "partition": "partition (.parquet); read if the spec has variants",
}


def spec(workload: "Workload", setting: str) -> dict[str, Any]:
    """The trainings of the setting's variants (first seed), and how often what is repeated (0: never)."""
    from fairfl.experiments.origin import EVALUATING, INFERENCE, TRAINING
    from fairfl.experiments.variant import Run

    declared, requested = workload.settings[setting], workload.seconds[setting]
    assert declared.timing is not None  # loading has looked
    variants = [
        {
            "shown": variant.csv,
            **train.spec_of_run(workload, Run(setting, variant, 0)),
            "seed": declared.seeds[0],
        }
        for variant in workload.timed_variants.get(setting, ())
    ]
    return {
        "setting": setting,
        "clients": declared.clients,
        "variants": variants,
        "rounds": declared.timing.rounds if requested & {*TRAINING} else 0,
        "inferences": declared.timing.inferences if requested & {*INFERENCE} else 0,
        "metrics": declared.timing.metrics if requested & {*EVALUATING} else 0,
        "precision": workload.config.precision,
    }


def plugins(spec: dict[str, Any]) -> list[str]:
    """The modules that the spec names, looked up at run time."""
    return [module for variant in spec["variants"] for module in train.plugins(variant)]


def main(argv: list[str] | None = None) -> None:
    import torch

    from fairfl.simulation import device
    from fairfl.simulation.timing import Stopwatch, measure

    started = time.monotonic()
    options = "device", "backend", "cuda-graphs", "threads"
    args, spec = job.parse(
        argv, "timing", Spec, *options, optional=FILES, out="the seconds (.json)"
    )
    with job.run_context(args, args.out, torch=True):
        chosen = device.choose_for(args, spec.precision, alone=True)
        watch = Stopwatch(wait=torch.cuda.synchronize) if chosen.type == "cuda" else Stopwatch()
        simulations = _simulations(spec, args, chosen) if spec.variants else []
        # By the kind of device and the processor seconds of several machines are told apart.
        where = {
            "device": chosen.type,
            "processor": processor(chosen.type),
            "threads": args.threads,
        }
        facts = where | measure(spec, simulations, watch)
        record = device.record(args, args.out, chosen, started, **facts)
    print(f"done in {record['seconds']} s on {record['processor']}")


def _simulations(
    spec: Spec, args: argparse.Namespace, device: "torch.device"
) -> list["Simulation"]:
    """The federation of each variant before its first round."""
    from fairfl.simulation.clients import load_clients
    from fairfl.simulation.simulation import Simulation

    if args.data is None or args.partition is None:
        raise FairflError(f"{spec.setting}: timing variants needs --data and --partition")
    clients = load_clients(args.data, args.partition, device)
    try:
        return [
            Simulation(variant, clients, None, device, args.backend) for variant in spec.variants
        ]
    except ValueError as error:
        raise FairflError(f"{spec.setting}: {error}") from None


if __name__ == "__main__":
    cli.run(main, teardown=False)
