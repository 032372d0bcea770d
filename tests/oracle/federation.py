"""Rounds drawn at random, and an algorithm of fairfl run through them: clients sampled, float64, no training."""

from dataclasses import dataclass

import numpy as np
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Federation, Reports
from tests.unit.algorithms.toy import ETA, told

K, P = 7, 6


@dataclass(frozen=True)
class Round:
    """What a round brings: ids of its clients, and per client update [K, P], loss, samples, local steps [K]."""

    t: int
    S: list[int]
    update: np.ndarray
    loss: np.ndarray
    samples: np.ndarray
    steps: np.ndarray


def rounds(seed: int, m: int, count: int = 9) -> list[Round]:
    """Updates in a few dimensions: about half of all pairs conflict, within a round and across rounds."""
    rng = np.random.default_rng(seed)
    samples = rng.integers(5, 50, K).astype(float)
    lengths = rng.uniform(0.2, 3, (K, 1))
    steps = np.ceil(samples / 10)
    drawn = []
    for t in range(count):
        S = sorted(rng.choice(K, m, replace=False).tolist())
        drawn.append(Round(t, S, lengths * rng.normal(size=(K, P)), rng.uniform(0.01, 3, K), samples, steps))
    return drawn


def reports(round: Round, x: torch.Tensor) -> Reports:
    """What the round's clients tell, the received loss included."""
    S = round.S
    delta, loss, samples, steps = (
        torch.from_numpy(values[S]) for values in (round.update, round.loss, round.samples, round.steps)
    )
    return told(delta, S, samples, x=x, round=round.t, seed=round.t, loss_received=loss, steps=steps)


def path(name: str, drawn: list[Round], **hyperparameters) -> tuple[list[np.ndarray], np.ndarray]:
    """Models after every round, each [P], from x = 0, and the model that is evaluated at the end."""
    algorithm = algorithms.create(name, hyperparameters)
    x = torch.zeros(P, dtype=torch.float64)
    samples = torch.from_numpy(drawn[0].samples)
    state = algorithm.init_state(Federation(samples, x, clients_per_round=len(drawn[0].S)))
    found = []
    for round in drawn:
        report = reports(round, x)
        result, state = algorithm.aggregate(state, report)
        x = x - result.weights @ report.delta - (0 if result.extra is None else result.extra)
        found.append(x.numpy())
    return found, algorithm.evaluation_models(state, x).models[0].numpy()


def naive_path(algorithm, drawn: list[Round]) -> list[np.ndarray]:
    """The same rounds by an algorithm of tests/oracle/naive.py."""
    x, found = np.zeros(P), []
    for round in drawn:
        x = algorithm.round(x, round.t, round.S, round.update, round.loss, round.samples, ETA, round.steps)
        found.append(x)
    return found
