"""python -m fairfl.jobs.local_optimum: the local optimum L*_k of one client (EAGLE section 3.2, appendix B.1)."""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from pydantic import Field

from fairfl.algorithms.interface import EvaluationModels
from fairfl.algorithms.local_only import is_flat
from fairfl.experiments.parts import LocalOptimum
from fairfl.partition.partition_file import PARTS
from fairfl.runtime import atomic, cli, job
from fairfl.runtime.errors import FairflError
from fairfl.runtime.manifest import manifest
from fairfl.simulation import device
from fairfl.simulation.backends.interface import LocalTraining, Work
from fairfl.simulation.backends.select import make_backend
from fairfl.simulation.clients import Clients, load_clients
from fairfl.simulation.evaluation import client_losses, count, evaluate
from fairfl.simulation.losses import LOSSES
from fairfl.simulation.seeds import seed_of
from fairfl.simulation.training_spec import LearningSpec


class Spec(LearningSpec):
    """Training of one client alone."""

    client: int = Field(ge=0, lt=2**31)
    local_optimum: LocalOptimum


def pretrain(spec: Spec, clients: Clients, chosen: torch.device) -> dict[str, Any]:
    """Train client 0 of `clients` alone until the curve is flat or the cap is reached; keep the best model seen.

    Returns loss (nats) and accuracy (fraction) on every part, number of epochs, and why it stopped.
    """
    backend, x = make_backend(spec, clients, "auto", chosen)
    rule = spec.local_optimum
    loss = LOSSES[spec.loss]
    # The client is number 0 in this job; its own branch of the seed tree keeps the clients' batches apart.
    seed = seed_of(spec.seed, "optimum", spec.client)
    local = LocalTraining(1, spec.batch_size, seed, spec.optimizer, spec.weight_decay)
    rate = torch.tensor([spec.learning_rate], dtype=torch.float64)
    # A check costs a forward pass. Ten per window keep that cheap and the stopping epoch exact to a tenth.
    stride = max(1, rule.flat_window // 10)
    losses: list[float] = []
    best, reason, epoch = x, "cap", 0
    while True:
        if epoch % stride == 0 or epoch == rule.max_steps:
            losses.append(float(client_losses(backend.forward, loss, x, clients.parts["train"])[0]))
            if not math.isfinite(losses[-1]):
                reason = "diverged"
                break
            if losses[-1] == min(losses):
                best = x
            if is_flat(losses, rule.flat_window // stride, rule.flat_tolerance):
                reason = "flat"
                break
        if epoch == rule.max_steps:
            break
        x = x - backend.train(Work([0], x.unsqueeze(0), rate), local, epoch).delta[0]
        epoch += 1
    found: dict[str, Any] = {"epochs": epoch, "stopped": reason}
    for part in PARTS:
        own = clients.parts[part]
        measured = evaluate(backend.forward, loss, EvaluationModels(best.unsqueeze(0)), own, clients.classes)
        value = float(measured.loss[0])
        found[f"loss_{part}"] = value if math.isfinite(value) else None
        asked = int(count(own, clients.classes).sum())
        found[f"accuracy_{part}"] = float(measured.hits.sum()) / asked if asked else None
    return found


def main(argv: list[str] | None = None) -> None:
    started = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m fairfl.jobs.local_optimum", description=__doc__)
    job.arguments(parser)
    parser.add_argument("--data", required=True, type=Path, help="prepared data set (.safetensors)")
    parser.add_argument("--partition", required=True, type=Path, help="partition (.parquet)")
    parser.add_argument("--out", required=True, type=Path, help="client<k>.json")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--threads", type=job.whole, default=1)
    args = parser.parse_args(argv)
    spec = job.spec_of(args, Spec)
    with job.run_context(args, args.out, torch=True):
        chosen = device.choose(args.device, args.threads, spec.precision)
        clients = load_clients(args.data, args.partition, chosen, only=spec.client)
        try:
            found = pretrain(spec, clients, chosen)
        except ValueError as error:
            raise FairflError(f"local optimum of client {spec.client}: {error}") from None
        text = json.dumps({**found, **manifest(args.spec, started)}, indent=1, sort_keys=True)
        atomic.write_text(args.out, text + "\n")
    print(f"client {spec.client}: {found['stopped']} after {found['epochs']} epochs, "
          f"L* validation {found['loss_validation']} test {found['loss_test']}")  # fmt: skip


if __name__ == "__main__":
    cli.run(main, teardown=False)
