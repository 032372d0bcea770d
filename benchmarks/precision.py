"""What bf16 products do to a result: accuracy of FedAvg after some rounds, bf16 against fp32, same seeds.

    PYTHONPATH=src python -m benchmarks.precision [--rounds 100] [--seeds 3] [--mnist FOLDER]

Ninety of the benchmark's hundred clients train (two label shards each), the samples of the other ten are the test set.
A CNN gets a tenth of the rounds. Prints one JSON line per workload: mean accuracy (fraction) of both precisions, mean
and largest absolute difference over the seeds, and the spread of fp32 alone over the seeds to compare it with.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import torch

from benchmarks import data
from benchmarks.workloads import CNN, MLP, Workload
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.device import choose
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import Model, TrainingSpec

TRAINING = 90  # clients; the rest is for testing
WORKLOADS = [
    Workload("mlp_b10", MLP, 10),
    Workload("mlp_b64", MLP, 64),
    Workload("mlp_full", MLP, None),
    Workload("cnn_b64", CNN, 64),
]


def federation(inputs: torch.Tensor, labels: torch.Tensor, workload: Workload) -> Clients:
    """Clients that train, and the rest as the test samples of client 0."""
    cut = TRAINING * workload.samples
    train = Part(inputs[:cut], labels[:cut], torch.full((TRAINING,), workload.samples))
    counts = torch.zeros(TRAINING, dtype=torch.int64)
    counts[0] = len(labels) - cut
    test = Part(inputs[cut:], labels[cut:], counts)
    return Clients(
        {"train": train, "validation": test, "test": test}, workload.classes, workload.shape
    )


def accuracy(
    clients: Clients, workload: Workload, precision: str, seed: int, rounds: int, device: str
) -> float:
    """Accuracy (fraction) on the test samples after `rounds` rounds of FedAvg."""
    spec = TrainingSpec(
        setting="benchmark", variant="default", model=Model(**workload.model), loss="cross_entropy",
        clients_per_round=workload.per_round, rounds=rounds, local_epochs=1, batch_size=workload.batch,
        learning_rate=workload.learning_rate, evaluate_every=rounds, optimizer="sgd", weight_decay=0.0, lr_decay=None,
        modifiers={}, evaluated_parts=["train", "validation", "test"], keep="nothing", precision=precision,
        algorithm="fedavg", hyperparameters={"weighting": "size"}, seed=seed,
    )  # fmt: skip
    run = Simulation(spec, clients, None, choose(device, 1, precision))
    for _ in range(rounds):
        run.run_round()
    return float(run.evaluate("test").hits.sum()) / len(clients.parts["test"].labels)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--mnist", type=Path, help="folder with MNIST's files; default: the mirrors of config.yaml"
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        first = WORKLOADS[0]
        source = data.prepare(Path(name), first.shape, first.clients * first.samples, args.mnist)
        inputs, labels = (t.to(choose(args.device, 1)) for t in data.load(Path(name), first))
    for workload in WORKLOADS:
        clients = federation(inputs, labels, workload)
        rounds = args.rounds if workload.model is MLP else max(1, args.rounds // 10)
        fp32, bf16 = (
            [
                accuracy(clients, workload, precision, seed, rounds, args.device)
                for seed in range(args.seeds)
            ]
            for precision in ("fp32", "bf16")
        )
        differences = [b - a for a, b in zip(fp32, bf16, strict=True)]
        found = {
            "workload": workload.name, "data": source, "rounds": rounds, "seeds": args.seeds,
            "accuracy_fp32": statistics.mean(fp32), "accuracy_bf16": statistics.mean(bf16),
            "difference": statistics.mean(differences), "largest": max(map(abs, differences)),
            "spread_over_seeds_fp32": statistics.stdev(fp32) if args.seeds > 1 else None,
        }  # fmt: skip
        print(
            json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in found.items()}),
            flush=True,
        )


if __name__ == "__main__":
    main()
