"""python -m fairfl.jobs.surrogate: what stands for the smallest possible loss of a true cluster (FOCUS section 5.1).

FAA compares excess risks, E_e = L_e(model of agent e) - min_w L_e(w). The minimum is not known, so a model is trained
centrally on the training data of all agents of e's true cluster. The paper does not say which of its epochs is taken:
the one of smallest test loss, as the minimum is what is meant, and the last one are both written. Data of a known
distribution come with the minimum itself.
"""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairfl.jobs import job
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.simulation.training_spec import SurrogateSpec as Spec

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload", setting: str) -> dict[str, Any]:
    """Training of a cluster's model: as long as the federated one, where the setting does not say."""
    from fairfl.data import own_weights

    declared = workload.settings[setting]
    training = declared.training()
    requested = training["surrogate"]
    lengths = {"epochs": declared.rounds * declared.local_epochs, "every": declared.local_epochs}
    return {
        **{key: value for key, value in training.items() if key in Spec.model_fields},
        **own_weights.hash_for_spec(workload, setting),
        "surrogate": {
            **requested,
            **{key: requested[key] or length for key, length in lengths.items()},
        },
        "precision": workload.config.precision,
    }


def plugins(spec: dict[str, Any]) -> list[str]:
    """The module that the spec names, looked up at run time."""
    return [f"models.{spec['model']['name']}"]


def main(argv: list[str] | None = None) -> None:
    from fairfl.simulation import device, surrogate
    from fairfl.simulation.checkpoint import Checkpoint
    from fairfl.simulation.clients import load_clients

    started = time.monotonic()
    args, spec = job.parse(argv, "surrogate", Spec, *job.OPTIONS, out="cluster<c>.json")
    with job.run_context(args, args.out, scratch=[args.checkpoint], torch=True) as key:
        chosen = device.choose_for(args, spec.precision)
        checkpoint = Checkpoint(args.checkpoint, key, args.checkpoint_seconds)
        clients = load_clients(args.data, args.partition, chosen)
        members = surrogate.members(spec, clients)
        if spec.surrogate.method == "known":
            result = surrogate.known(spec, args.data, len(members))
        else:
            cluster = replace(
                clients,
                parts={name: part.of_clients(members) for name, part in clients.parts.items()},
                clusters=None,
            )
            try:
                training = surrogate.Pooled(spec, cluster, chosen, args.backend)
            except ValueError as error:
                raise FairflError(f"surrogate of cluster {spec.cluster}: {error}") from None
            result = training.run(checkpoint)
        device.record(args, args.out, chosen, started, clients=members, **result)
        checkpoint.remove()
    best, last = result["best"]["epoch"], result["last"]["epoch"]
    print(f"cluster {spec.cluster}, {len(members)} clients: best epoch {best} of {last}")


if __name__ == "__main__":
    cli.run(main, teardown=False)
