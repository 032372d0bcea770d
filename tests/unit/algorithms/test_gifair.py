"""GIFAIR-FL: hand-computed examples, rank term, bound, both modes, agreement with the objective's gradient."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fairfl.algorithms import gifair
from fairfl.algorithms.interface import Federation
from tests.unit.algorithms.reweighting import CLIENTS, columns, vector, weights
from tests.unit.algorithms.toy import SAMPLES, F, X, close, received, reports, start, step

P = SAMPLES / SAMPLES.sum()
BOUND = 0.125


def test_ranks():
    close(gifair.rank_term(F), [-2, 0, 2])
    close(gifair.rank_term(vector(1.0, 3.0, 1.0, 2.0, 3.0)), [-3, 3, -3, 0, 3])  # ties share the middle of their places
    close(gifair.rank_term(vector(float("nan"), 1.0, 2.0)), [0, -1, 1])


@settings(max_examples=40)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=8))
def test_ranks_sum_to_zero_and_lie_in_their_range(losses):
    r = gifair.rank_term(vector(*losses))
    assert r.sum() == 0 and r.abs().max() <= len(losses) - 1
    if len(set(losses)) == len(losses):
        assert r.sort().values.tolist() == list(range(-len(losses) + 1, len(losses), 2))


def test_lambda_itself_may_be_given():
    close(step("gifair", **{"lambda": BOUND})[1], step("gifair", bound_share=1)[1], 1e-12)
    assert step("gifair", **{"lambda": 2 * BOUND})[1][0] == -0.25  # beyond the bound weights turn negative, and stay


def test_lambda_and_its_share_of_the_bound_exclude_each_other():
    with pytest.raises(ValidationError, match="bound_share 0.5 and lambda 0.01 exclude each other"):
        gifair.Config(**{"lambda": 0.01}, bound_share=0.5)


def test_two_clients_differ_by_lambda():
    w = weights("gifair", vector(1.0, 2.0), vector(30, 70), **{"lambda": 0.07})
    close(w, [0.3 - 0.07, 0.7 + 0.07], 1e-12)


@settings(max_examples=40)
@given(CLIENTS, st.floats(0, 1))
def test_weights_are_not_negative_up_to_the_bound(clients, c):
    assert (weights("gifair", *columns(clients), bound_share=c) >= -1e-12).all()


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


def test_both_modes_agree_on_one_local_step():
    """The losses of the second round are those of the first, so that client mode has them."""
    _, w, rates = client_mode(c=0.7)
    close(X - w @ reports(scale=rates).delta, step("gifair", bound_share=0.7)[0], 1e-12)


def test_client_mode_keeps_the_newest_loss_of_each_client():
    algorithm, state = start("gifair", mode="client", bound_share=0.5)
    state = algorithm.aggregate(state, reports(ids=(0, 2)))[1]
    rates = algorithm.configure_clients(state, received(reports(ids=(1, 2)))).lr_scale
    close(rates, [1.0, 1 + 0.0625 * 1 / 0.25])  # client 1 has not reported: it ties; client 2 is above client 0
    swapped = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    state = algorithm.aggregate(state, reports(ids=(0, 1), losses=swapped))[1]
    close(state["F"], [3.0, 1.0, 2.0])
    close(algorithm.configure_clients(state, received(reports())).lr_scale, [1.5, 0.75, 1.0])


def test_client_mode_averages_by_size():
    close(client_mode(report=reports(ids=(0, 1)))[1], [1 / 3, 2 / 3])


def test_clients_without_samples_do_not_lower_the_bound():
    config = gifair.Config(mode="client", bound_share=1)
    state = gifair.GIFAIR(config).init_state(Federation(vector(100, 0, 300)))
    assert gifair.strength(state["p"], config) == 0.25


def test_server_mode_neither_plans_nor_remembers():
    algorithm, state = start("gifair")
    assert state == {} and algorithm.configure_clients(state, received(reports())).lr_scale is None
