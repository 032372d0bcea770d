"""What jobs compute, counted from their settings: samples, local steps, operations of a sample.

What a sample costs is counted by torch on the model itself, on the device meta, where nothing is computed. Every
algorithm counts as FedAvg does: `local_epochs` passes over the samples of the clients of a round.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.planning.data import Facts, facts
from fairfl.runtime.fingerprint import canonical


@dataclass(frozen=True)
class Sample:
    """What one sample of a model costs."""

    forward: float  # floating-point operations of a prediction
    train: float  # of a local step, per sample of its batch
    numbers: float  # of the sample itself and of what each layer makes of it
    parameters: int


@dataclass(frozen=True)
class Operations:
    """What one job computes."""

    flops: float  # floating-point operations of local steps and predictions
    numbers: float  # numbers that layers read or make
    steps: float  # local steps
    updated: float  # parameters, times steps


NOTHING = Operations(0, 0, 0, 0)


@dataclass(frozen=True)
class _Clients:
    """Samples of an average client."""

    train: float
    evaluated: float  # on all evaluated parts


def _clients(setting: Setting, known: Facts) -> _Clients:
    split = setting.split
    samples = min(known.samples, setting.samples or known.samples)
    if per_client := setting.partition.options.get("per_client"):
        samples = per_client * setting.clients
    test = known.official_test * samples / known.samples if split.order == "official" else 0
    each = (samples - test) / setting.clients
    parts = {"train": split.train * each, "validation": split.validation * each}
    parts["test"] = test / setting.clients if split.order == "official" else split.test * each
    return _Clients(parts["train"], sum(parts[name] for name in setting.evaluated_parts))


def of_training(workload: Workload, name: str, rounds: int | None = None) -> Operations:
    """Operations of a training. Raises FairflError if nothing is known of its data."""
    setting = workload.settings[name]
    known = facts(workload, name)
    each, cost = _clients(setting, known), sample(setting, known)
    epochs = (rounds or setting.rounds) * setting.clients_per_round * setting.local_epochs
    size = max(1.0, min(each.train, setting.batch_size or each.train))
    predicted = _evaluations(setting) * setting.clients * each.evaluated
    return _operations(cost, epochs * each.train, predicted, epochs * math.ceil(each.train / size))


def _operations(cost: Sample, trained: float, predicted: float, steps: float) -> Operations:
    """Operations of so many samples."""
    flops = trained * cost.train + predicted * cost.forward
    return Operations(
        flops, (trained + predicted / 2) * cost.numbers, steps, steps * cost.parameters
    )


def _evaluations(setting: Setting) -> int:
    """The first model's too."""
    rounds = {*range(0, setting.rounds + 1, setting.evaluate_every), setting.rounds}
    if spaced := setting.evaluate_log:
        rounds |= {round(setting.rounds ** (i / (spaced - 1))) for i in range(spaced)}
    return len(rounds)


def of_local_optimum(workload: Workload, name: str) -> Operations:
    """Operations of one client's local optimum, at most: it may be flat earlier."""
    setting = workload.settings[name]
    assert setting.local_optimum is not None
    known = facts(workload, name)
    each, cost, rule = _clients(setting, known), sample(setting, known), setting.local_optimum
    checks = rule.max_steps / max(1, rule.flat_window // 10)
    steps = rule.max_steps * math.ceil(each.train / (setting.batch_size or max(1.0, each.train)))
    return _operations(cost, rule.max_steps * each.train, checks * each.train, steps)


def of_surrogate(workload: Workload, name: str) -> Operations:
    """Operations of one cluster's surrogate, all clusters being of one size."""
    setting = workload.settings[name]
    declared = setting.surrogate
    assert declared is not None
    if declared.method == "known":
        return NOTHING
    known = facts(workload, name)
    each, cost = _clients(setting, known), sample(setting, known)
    clients = setting.clients / declared.clusters
    epochs = declared.epochs or setting.rounds * setting.local_epochs
    size = setting.batch_size or each.train * clients
    if setting.batch_size and declared.batch_size == "pooled":
        size *= clients
    steps = epochs * math.ceil(each.train * clients / max(1.0, size))
    checks = epochs / (declared.every or setting.local_epochs)
    return _operations(
        cost, epochs * each.train * clients, checks * each.evaluated * clients, steps
    )


# -- one sample -------------------------------------------------------------------------------------
def sample(setting: Setting, known: Facts) -> Sample:
    """What a sample of the setting's data costs its model."""
    options = {
        **setting.model.options,
        **({"pretrained": None} if "pretrained" in setting.model.options else {}),
    }
    if setting.model.name == "bert" and setting.model.options.get("pretrained"):
        options |= {
            "hidden": 768,
            "layers": 12,
            "heads": 12,
            "intermediate": 3072,
        }  # bert-base, whose weights they are
    outputs = 1 if setting.loss in ("squared_error", "logistic") else known.classes
    model = canonical({"name": setting.model.name, **options})
    return _sample(model, tuple(known.shape), known.tokens, outputs)


@cache
def _sample(model: str, shape: tuple[int, ...], tokens: bool, outputs: int) -> Sample:
    import json

    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from fairfl import models

    batch = 2  # not 1: a batch normalisation refuses that
    with torch.device("meta"):
        built = models.build(json.loads(model), shape, outputs)
        inputs = (
            torch.zeros(batch, *shape, dtype=torch.int64) if tokens else torch.zeros(batch, *shape)
        )
        numbers = [inputs.numel()]
        for layer in built.modules():
            if not list(layer.children()) and not isinstance(layer, torch.nn.Flatten):
                layer.register_forward_hook(lambda _, __, output: numbers.append(_size(output)))
        with FlopCounterMode(display=False) as forward:
            predicted = built(inputs)
        with FlopCounterMode(display=False) as backward:
            predicted.sum().backward()
    # Twice the prediction at most: what torch counts of grouped convolutions is too much.
    flops = [counter.get_total_flops() / batch for counter in (forward, backward)]
    flops[1] = min(flops[1], 2 * flops[0])
    parameters = sum(parameter.numel() for parameter in built.parameters())
    return Sample(flops[0], sum(flops), sum(numbers) / batch, parameters)


def _size(output: Any) -> int:
    """Numbers in what a layer returns; of a recurrent one without its last state."""
    return output[0].numel() if isinstance(output, tuple) else output.numel()
