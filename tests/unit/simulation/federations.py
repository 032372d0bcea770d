"""Clients and run specs made in memory, float64."""

import torch

from fairfl.simulation.backends.interface import Work
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from fairfl.simulation.training_spec import TrainingSpec

CPU = torch.device("cpu")


def clients_of(samples, classes):
    """Clients from lists of (inputs, label) per client; the same samples serve as all parts."""
    inputs = torch.tensor([x for own in samples for x, _ in own], dtype=torch.float64)
    labels = torch.tensor([y for own in samples for _, y in own])
    part = Part(inputs, labels, torch.tensor([len(own) for own in samples]))
    return Clients(dict.fromkeys(("train", "validation", "test"), part), classes, tuple(inputs.shape[1:]))


def image_clients(counts, shape=(1, 2, 2), classes=3, seed=0, dtype=torch.float64):
    """Random images; client k has counts[k] samples in every part."""
    draw = torch.Generator().manual_seed(seed)
    parts = {}
    for name in ("train", "validation", "test"):
        inputs = torch.randn(sum(counts), *shape, generator=draw, dtype=dtype)
        labels = torch.randint(classes, (sum(counts),), generator=draw)
        parts[name] = Part(inputs, labels, torch.tensor(counts))
    return Clients(parts, classes, shape)


TRAINING = {
    "setting": "toy",
    "variant": "default",
    "model": {"name": "logistic_regression", "init": "pytorch"},
    "loss": "cross_entropy",
    "clients_per_round": 3,
    "rounds": 6,
    "local_epochs": 1,
    "batch_size": None,
    "learning_rate": 0.1,
    "optimizer": "sgd",
    "weight_decay": 0.0,
    "lr_decay": None,
    "modifiers": {},
    "evaluated_parts": ["train", "validation", "test"],
    "evaluate_every": 2,
    "keep": "nothing",
    "precision": "fp32",
    "algorithm": "fedavg",
    "hyperparameters": {"weighting": "size"},
    "seed": 1,
}


def spec_of(**changes):
    """The spec of a run."""
    return TrainingSpec(**TRAINING | changes)


def simulation(algorithm="fedavg", hyperparameters=None, backend="auto", counts=(4, 6, 9), shape=(1, 2, 2), **changes):
    """A run on small images, by default of two local epochs in three rounds."""
    memberships = changes.pop("memberships", None)
    changes = {"local_epochs": 2, "rounds": 3} | changes
    spec = spec_of(algorithm=algorithm, hyperparameters=hyperparameters or {}, **changes)
    best = torch.linspace(0.9, 1.1, len(counts), dtype=torch.float64)
    return Simulation(spec, image_clients(list(counts), shape), best, CPU, backend, memberships)


def close(actual, expected):
    """Equal up to the rounding of float64."""
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-12)


def work_of(run, clients, plan):
    """What a run asks of its backend for a plan in this round."""
    return Work.of_plan(plan, run.x, clients, run.learning_rate)
