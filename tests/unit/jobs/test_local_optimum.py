"""Local optima: the minimum that is found, the model that is kept, the reason to stop."""

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from fairfl.algorithms.local_only import is_flat
from fairfl.jobs.local_optimum import Spec
from fairfl.partition.partition_file import PARTS
from fairfl.simulation import local_optimum
from fairfl.simulation.clients import Clients, Part
from fairfl.simulation.simulation import Simulation
from tests.unit.jobs.test_train import SPEC as TRAIN
from tests.unit.simulation.federations import spec_of as run_of

CPU = torch.device("cpu")


LEARNT = {key: TRAIN[key] for key in ("model", "optimizer", "weight_decay", "precision", "batch_size")}
LEARNT |= {"loss": "logistic", "learning_rate": 0.5, "seed": 3}


def spec_of(max_steps=20, flat_window=5, flat_tolerance=0.0, **changes):
    """A spec as fairfl.jobs.local_optimum.spec makes it."""
    rule = {"max_steps": max_steps, "flat_window": flat_window, "flat_tolerance": flat_tolerance}
    return Spec(**LEARNT | {"local_optimum": rule, "client": 0} | changes)


def part_of(inputs, labels):
    return Part(torch.as_tensor(inputs), torch.as_tensor(labels), torch.tensor([len(labels)]))


def client(inputs, labels, classes=2):
    """One client whose three parts are the same samples."""
    part = part_of(inputs, labels)
    return Clients({name: part for name in PARTS}, classes, tuple(part.inputs.shape[1:]))


def noisy(count=60, classes=2, seed=0):
    """Overlapping classes, so that the minimum is finite; float64."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, count)
    return draw.normal(size=(count, 2)) + labels[:, None], labels


def logistic_loss(theta, x, y):
    """The training loss, written anew: mean log(1 + exp(-y z)), y in {-1, 1}."""
    return np.logaddexp(0, -(2 * y - 1) * (x @ theta[:-1] + theta[-1])).mean()


def softmax_loss(theta, x, y):
    z = x @ theta[:6].reshape(3, 2).T + theta[6:]
    return (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]).mean()


def descend(x, y, rate, steps):
    """The models of full-batch descent from zeros, [steps + 1, d + 1]."""
    path = [np.zeros(x.shape[1] + 1)]
    for _ in range(steps):
        sign = 2 * y - 1
        slope = -sign / (1 + np.exp(sign * (x @ path[-1][:-1] + path[-1][-1]))) / len(y)
        path.append(path[-1] - rate * np.append(x.T @ slope, slope.sum()))
    return path


@pytest.mark.parametrize(
    ("loss", "classes", "reference", "size"), [("logistic", 2, logistic_loss, 3), ("cross_entropy", 3, softmax_loss, 9)]
)
def test_the_minimum_of_a_convex_problem_is_found(loss, classes, reference, size):
    x, y = noisy(classes=classes)
    best = minimize(reference, np.zeros(size), (x, y)).fun
    rule = {"max_steps": 600, "flat_window": 50, "flat_tolerance": 1e-5}
    found = local_optimum.pretrain(spec_of(**rule, loss=loss), client(x, y, classes), CPU)
    assert best - 1e-6 < found["loss_train"] < best + 1e-3
    assert best < math.log(classes) - 0.1  # the problem is not trivial
    assert found["stopped"] == "flat" and found["epochs"] < 600


def test_losses_and_accuracies_are_those_of_the_model_on_each_part():
    parts = dict(zip(PARTS, (noisy(seed=seed, count=20 + seed) for seed in range(3)), strict=True))
    clients = Clients({name: part_of(*samples) for name, samples in parts.items()}, 2, (2,))
    found = local_optimum.pretrain(spec_of(max_steps=3), clients, CPU)
    theta = descend(*parts["train"], rate=0.5, steps=3)[-1]
    for name, (x, y) in parts.items():
        assert found[f"loss_{name}"] == pytest.approx(logistic_loss(theta, x, y), rel=1e-12)
        assert found[f"accuracy_{name}"] == ((x @ theta[:-1] + theta[-1] > 0) == y).mean()
    assert (found["epochs"], found["stopped"]) == (3, "cap")


def test_the_model_of_lowest_training_loss_is_kept_and_not_the_last_one():
    (x, y), (held_x, held_y) = noisy(count=30), noisy(count=30, seed=1)
    models = descend(x, y, rate=60.0, steps=20)
    losses = [logistic_loss(theta, x, y) for theta in models]
    best = int(np.argmin(losses))
    assert 0 < best < 20 and losses[-1] > losses[best] + 0.01  # a rate so large that it matters
    parts = {"train": part_of(x, y), "validation": part_of(held_x, held_y), "test": part_of(held_x, held_y)}
    found = local_optimum.pretrain(spec_of(learning_rate=60.0), Clients(parts, 2, (2,)), CPU)
    assert found["loss_train"] == pytest.approx(losses[best], rel=1e-9)
    assert found["loss_validation"] == pytest.approx(logistic_loss(models[best], held_x, held_y), rel=1e-9)


@pytest.mark.parametrize(("window", "size", "epochs"), [(5, 1e30, 1), (5, 1e3, 5), (50, 1e3, 20)])
def test_a_client_whose_loss_only_rises_has_no_optimum(window, size, epochs):
    """Three equal inputs, one of them with the other label: at so large a rate the loss is infinite after the first
    step, or stays above that of the start until the window, or the cap, ends the training."""
    clients = client(np.full((3, 1), size, dtype=np.float32), np.array([1, 1, 0]))
    found = local_optimum.pretrain(spec_of(learning_rate=1e10, flat_window=window, flat_tolerance=1e-6), clients, CPU)
    assert (found["stopped"], found["epochs"]) == ("diverged", epochs)
    assert {found[f"{what}_{part}"] for what in ("loss", "accuracy") for part in PARTS} == {None}


def test_a_part_without_samples_has_no_loss_and_no_accuracy():
    x, y = noisy()
    parts = {"train": part_of(x, y), "validation": part_of(x, y), "test": part_of(x[:0], y[:0])}
    found = local_optimum.pretrain(spec_of(max_steps=2), Clients(parts, 2, (2,)), CPU)
    assert found["loss_test"] is None and found["accuracy_test"] is None
    assert found["loss_validation"] > 0


def test_every_client_and_seed_has_its_own_minibatches():
    clients = client(*noisy())

    def loss(**changes):
        return local_optimum.pretrain(spec_of(max_steps=2, **changes), clients, CPU)["loss_train"]

    assert loss(batch_size=7, client=1) == loss(batch_size=7, client=1)
    assert len({loss(batch_size=7, client=k, seed=s) for k in (0, 1) for s in (3, 4)}) == 4
    assert loss(client=0) == loss(client=1) != loss(batch_size=7)


def test_pretraining_starts_from_the_model_that_training_starts_from():
    clients = client(*noisy())
    drawn = {"model": {"name": "mlp", "hidden": [4]}, "learning_rate": 0.0}
    found = local_optimum.pretrain(spec_of(max_steps=1, **drawn), clients, CPU)
    training = Simulation(run_of(**drawn, loss="logistic", seed=3, clients_per_round=1), clients, None, CPU)
    assert found["loss_train"] == training.losses("train", torch.tensor([0])).item()
    other = local_optimum.pretrain(spec_of(max_steps=1, **drawn, seed=4), clients, CPU)
    assert other["loss_train"] != found["loss_train"]


@pytest.mark.parametrize(
    ("losses", "window", "flat"),
    [
        ([1.0, 1.0], 2, False),  # fewer values than a window and one before
        ([1.0, 1.0, 1.0], 2, True),
        ([1.0, 0.9, 0.8, 0.7], 2, False),  # still falling
        ([1.0, 0.5, 0.4999, 0.4998], 2, True),  # fell by 0.04 %
        ([1.0, 0.5, 0.49, 0.489], 2, False),  # fell by 2.2 %
        ([1.0, 0.5, 0.9, 0.8], 2, True),  # only climbed since the lowest value
        ([1.0, 0.5, 0.9, 0.4], 2, False),  # climbed, then fell on
        ([100.0, 99.9, 99.8], 1, True),  # relative, not absolute
        ([0.0, 0.0, 0.0], 1, False),  # no loss at all: no relative improvement is below 0
    ],
)
def test_flat_means_that_the_lowest_loss_hardly_fell_in_the_window(losses, window, flat):
    assert is_flat(losses, window, 0.01) is flat
