"""What jobs compute, counted without their data: operations of a sample, passes over the samples, local steps.

What a sample costs is counted by torch on the model itself, on the device meta, where nothing is computed. How often an
algorithm passes over the samples of a client is counted too: one round of it runs on a toy federation, whose backend
counts. So neither models nor algorithms are described here a second time.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

from fairfl.experiments.setting import Setting
from fairfl.experiments.variant import Run
from fairfl.experiments.workload import Workload
from fairfl.planning.data import Facts, facts
from fairfl.planning.speed import one_thread
from fairfl.runtime import hooks
from fairfl.runtime.fingerprint import canonical

TOY_SECONDS = 30.0  # after which a hook is stopped: here it has next to nothing to do
SAMPLES, IMAGE = 12, (3, 4, 4)  # of a toy client: training samples, and the shape of each


@dataclass(frozen=True)
class Sample:
    """What one sample of a model costs."""

    forward: float  # floating-point operations of a prediction
    train: float  # of a local step, per sample of its batch
    numbers: float  # of the sample itself and of what each layer makes of it
    parameters: int


@dataclass(frozen=True)
class Passes:
    """Of an algorithm, per client of a round, unless another unit is named."""

    epochs: float  # over its training samples, with gradients
    batches: float  # single batches with gradients beside them
    forward: float  # over its training samples, without gradients
    models: float  # predictions of a sample when clients are evaluated


@dataclass(frozen=True)
class Operations:
    """Of one job."""

    train: float  # floating-point operations of local steps
    forward: float  # of predictions
    steps: float  # local steps
    updated: float  # parameters, times steps
    trained_numbers: float  # numbers of layers in local steps
    predicted_numbers: float  # and in predictions
    rounds: float
    evaluations: float

    def __add__(self, other: "Operations") -> "Operations":
        return Operations(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def __mul__(self, factor: float) -> "Operations":
        return Operations(*(value * factor for value in vars(self).values()))


NOTHING = Operations(0, 0, 0, 0, 0, 0, 0, 0)


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


def of_run(workload: Workload, run: Run) -> Operations:
    """Of a training. Raises FairflError if nothing is known of its data, or its algorithm refuses the toy clients."""
    setting = workload.settings[run.setting]
    known = facts(workload, run.setting)
    each, cost = _clients(setting, known), sample(setting, known)
    size = max(1.0, each.train if setting.batch_size is None else min(each.train, setting.batch_size))
    passes = passes_of(workload, run, setting.batch_size is None or setting.batch_size >= each.train)
    in_all, evaluations = setting.rounds * setting.clients_per_round, _evaluations(setting)
    return _operations(
        cost,
        trained=in_all * (passes.epochs * each.train + passes.batches * size),
        predicted=in_all * passes.forward * each.train + evaluations * setting.clients * each.evaluated * passes.models,
        steps=in_all * (passes.epochs * math.ceil(each.train / size) + passes.batches),
        rounds=setting.rounds,
        evaluations=evaluations,
    )


def _operations(
    cost: Sample, trained: float, predicted: float, steps: float, rounds: float, evaluations: float
) -> Operations:
    """Of so many samples."""
    return Operations(
        train=trained * cost.train,
        forward=predicted * cost.forward,
        steps=steps,
        updated=steps * cost.parameters,
        trained_numbers=trained * cost.numbers,
        predicted_numbers=predicted * cost.numbers,
        rounds=rounds,
        evaluations=evaluations,
    )


def _evaluations(setting: Setting) -> int:
    """The first model's too."""
    rounds = {*range(0, setting.rounds + 1, setting.evaluate_every), setting.rounds}
    if spaced := setting.evaluate_log:
        rounds |= {round(setting.rounds ** (i / (spaced - 1))) for i in range(spaced)}
    return len(rounds)


def of_local_optimum(workload: Workload, name: str) -> Operations:
    """Of one client's, at most: it may be flat earlier."""
    setting = workload.settings[name]
    assert setting.local_optimum is not None
    known = facts(workload, name)
    each, cost, rule = _clients(setting, known), sample(setting, known), setting.local_optimum
    checks = rule.max_steps / max(1, rule.flat_window // 10)
    steps = rule.max_steps * math.ceil(each.train / (setting.batch_size or max(1.0, each.train)))
    return _operations(cost, rule.max_steps * each.train, checks * each.train, steps, rule.max_steps, checks)


def of_surrogate(workload: Workload, name: str) -> Operations:
    """Of one cluster's, all clusters being of one size."""
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
    samples = each.train * clients, each.evaluated * clients
    return _operations(cost, epochs * samples[0], checks * samples[1], steps, checks, checks)


# -- one sample -------------------------------------------------------------------------------------
def sample(setting: Setting, known: Facts) -> Sample:
    """What a sample of the setting's data costs its model."""
    options = {**setting.model.options, **({"pretrained": None} if "pretrained" in setting.model.options else {})}
    if setting.model.name == "bert" and setting.model.options.get("pretrained"):
        options |= {"hidden": 768, "layers": 12, "heads": 12, "intermediate": 3072}  # bert-base, whose weights they are
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
        inputs = torch.zeros(batch, *shape, dtype=torch.int64) if tokens else torch.zeros(batch, *shape)
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


# -- one algorithm ------------------------------------------------------------------------------------
def passes_of(workload: Workload, run: Run, full_batch: bool) -> Passes:
    """What a round of the run's algorithm does, with batches that hold all samples of a client or a part of them."""
    from fairfl.algorithms import load

    setting = workload.settings[run.setting]
    hidden = setting.model.options.get("hidden") if setting.model.name == "mlp" else None
    earlier = workload.predecessor(run)
    clusters = workload.hyperparameters(earlier).get("M", 1) if earlier else 0
    spec = {
        "setting": run.setting,
        "variant": run.variant.folder,
        "model": {"name": "mlp", "hidden": [3] * len(hidden or [0])},
        "loss": "cross_entropy",
        "local_epochs": setting.local_epochs,
        "batch_size": None if full_batch else SAMPLES // 3,
        "learning_rate": setting.learning_rates.get(run.algorithm, setting.learning_rate),
        "optimizer": setting.optimizer,
        "modifiers": workload.modifiers(run),
        "algorithm": run.algorithm,
        "hyperparameters": workload.hyperparameters(run),
    }
    clients = (4, 4) if setting.clients_per_round == setting.clients else (8, 4)
    if not load(run.algorithm).draws_uniformly():  # how many it asks may depend on how many there are
        clients = setting.clients, setting.clients_per_round
    validation = setting.split.validation / setting.split.train
    return _passes(canonical(spec), clients, round(validation * SAMPLES), clusters)


@cache
@one_thread()
def _passes(spec: str, sizes: tuple[int, int], validation: int, clusters: int) -> Passes:
    """Of a round with so many of all clients, (all, of a round)."""
    import json

    import torch

    from fairfl.simulation.clients import Clients, Part
    from fairfl.simulation.simulation import Simulation
    from fairfl.simulation.training_spec import TrainingSpec

    clients, drawn = sizes
    draw = torch.Generator().manual_seed(0)

    def part(count: int) -> Part:
        inputs = torch.randn(clients * count, *IMAGE, generator=draw)
        labels = torch.arange(clients * count) % 3
        return Part(inputs, labels, torch.full((clients,), count))

    federation = Clients({"train": part(SAMPLES), "validation": part(max(1, validation)), "test": part(1)}, 3, IMAGE)
    fixed: dict[str, Any] = {
        "clients_per_round": drawn,
        "rounds": 2,
        "evaluate_every": 1,
        "evaluated_parts": ["test"],
        "weight_decay": 0.0,
        "lr_decay": None,
        "keep": "nothing",
        "precision": "fp32",
        "seed": 0,
    }
    memberships = torch.eye(max(clusters, 1))[torch.arange(clients) % max(clusters, 1)].double() if clusters else None
    training, best = TrainingSpec(**json.loads(spec), **fixed), torch.zeros(clients, dtype=torch.float64)
    with hooks.limited(TOY_SECONDS):
        return _counted(Simulation(training, federation, best, torch.device("cpu"), memberships=memberships), drawn)


def _counted(simulation: Any, drawn: int) -> Passes:
    """What the first round and an evaluation do."""
    backend, train, forward = simulation.backend, simulation.backend.train, simulation.backend.forward
    done = {"epochs": 0, "batches": 0, "forward": 0}

    def counting_train(work: Any, local: Any, *arguments: Any, **options: Any) -> Any:
        whole = not local.single or local.batch(SAMPLES) == SAMPLES
        done["epochs" if whole else "batches"] += len(work.clients) * local.passes
        return train(work, local, *arguments, **options)

    def counting_forward(x: Any, inputs: Any) -> Any:
        done["forward"] += len(inputs)
        return forward(x, inputs)

    backend.train, backend.forward = counting_train, counting_forward
    simulation.run_round()
    in_round = dict(done)
    simulation.record_evaluation()
    return Passes(
        in_round["epochs"] / drawn,
        in_round["batches"] / drawn,
        in_round["forward"] / (drawn * SAMPLES),
        (done["forward"] - in_round["forward"]) / simulation.clients.count,
    )
