"""python -m fairfl.jobs.local_optimum: the local optimum L*_k of one client (EAGLE section 3.2, appendix B.1)."""

import time
from typing import TYPE_CHECKING, Any

from fairfl.jobs import job
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.simulation.training_spec import LocalOptimumSpec as Spec

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload", setting: str) -> dict[str, Any]:
    """Training of a client alone."""
    from fairfl.data import own_weights

    training = workload.settings[setting].training()
    return {
        **{key: value for key, value in training.items() if key in Spec.model_fields},
        **own_weights.hash_for_spec(workload, setting),
        "precision": workload.config.precision,
    }


def plugins(spec: dict[str, Any]) -> list[str]:
    """The modules that the spec names, looked up at run time."""
    return [f"models.{spec['model']['name']}", "algorithms.local_only"]


def main(argv: list[str] | None = None) -> None:
    from fairfl.simulation import device
    from fairfl.simulation.clients import load_clients
    from fairfl.simulation.local_optimum import pretrain

    started = time.monotonic()
    options = ("data", "partition", "device", "cuda-graphs", "threads")
    args, spec = job.parse(argv, "local_optimum", Spec, *options, out="client<k>.json")
    with job.run_context(args, args.out, torch=True):
        chosen = device.choose_for(args, spec.precision)
        clients = load_clients(args.data, args.partition, chosen, only=spec.client)
        try:
            optimum = pretrain(spec, clients, chosen)
        except ValueError as error:
            raise FairflError(f"local optimum of client {spec.client}: {error}") from None
        device.record(args, args.out, chosen, started, **optimum)
    print(f"client {spec.client}: {optimum['stopped']} after {optimum['epochs']} epochs, "
          f"L* validation {optimum['loss_validation']} test {optimum['loss_test']}")  # fmt: skip


if __name__ == "__main__":
    cli.run(main, teardown=False)
