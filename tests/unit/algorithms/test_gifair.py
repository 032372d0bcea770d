"""GIFAIR-FL: rank term and client mode by hand."""

import torch

from fairfl.algorithms import gifair
from tests.unit.algorithms.reweighting import vector
from tests.unit.algorithms.toy import SAMPLES, F, close, received, reports, start

P = SAMPLES / SAMPLES.sum()


def test_ranks():
    close(gifair.rank_term(F), [-2, 0, 2])
    close(gifair.rank_term(vector(1.0, 3.0, 1.0, 2.0, 3.0)), [-3, 3, -3, 0, 3])  # ties share the middle of their places
    close(gifair.rank_term(vector(float("nan"), 1.0, 2.0)), [0, -1, 1])


def client_mode(c=0.5, report=None):
    """Rates of the first round, and of the second, after everybody of `report` has reported."""
    algorithm, state = start("gifair", mode="client", bound_share=c)
    report = report or reports()
    first = algorithm.configure_clients(state, received(report)).lr_scale
    result, state = algorithm.aggregate(state, report)
    return first, result.weights, algorithm.configure_clients(state, received(reports())).lr_scale


def test_rates_of_client_mode():
    first, w, second = client_mode()
    close(first, [1.0, 1.0, 1.0])  # nobody has reported a loss
    close(w, P)
    close(second, [0.5, 1.0, 1.5])


def test_client_mode_keeps_the_newest_loss_of_each_client():
    algorithm, state = start("gifair", mode="client", bound_share=0.5)
    state = algorithm.aggregate(state, reports(ids=(0, 2)))[1]
    rates = algorithm.configure_clients(state, received(reports(ids=(1, 2)))).lr_scale
    close(rates, [1.0, 1 + 0.0625 * 1 / 0.25])  # client 1 has not reported: it ties; client 2 is above client 0
    swapped = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    state = algorithm.aggregate(state, reports(ids=(0, 1), losses=swapped))[1]
    close(state["F"], [3.0, 1.0, 2.0])
    close(algorithm.configure_clients(state, received(reports())).lr_scale, [1.5, 0.75, 1.0])
