"""Toy A of the specification as what clients send: x = (1, -2), n = (100, 200, 100), D of each client."""

import torch

from fairfl.algorithms.interface import Aggregate, Federation, Reports
from tests.unit.algorithms.toy import ETA, SAMPLES, G, X

D = ETA * G


def federation(samples=SAMPLES, x=X) -> Federation:
    return Federation(samples, x, parameters=x.shape[-1])


def reports(ids, delta, rate=0.1, samples=SAMPLES, **more) -> Reports:
    ids = torch.tensor(ids)
    return Reports(clients=ids, samples=samples[ids], learning_rate=rate, delta=delta, **more)


def summed(modifier, state, report, weights):
    """(G, state) after `modify_reports` and `modify_sum`, as the engine calls them; the weights are [m]."""
    report = modifier.modify_reports(state, report)
    return modifier.modify_sum(state, weights @ report.delta, Aggregate(weights=weights), report)
