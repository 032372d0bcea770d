"""GIFAIR-FL: rank term and client mode by hand; server mode in test_examples.py."""

from fairfl.algorithms import gifair
from tests.unit.algorithms.toy import SAMPLES, F, close, received, reports, start, vector


def test_ranks():
    close(gifair.rank_term(F), [-2, 0, 2])
    close(gifair.rank_term(vector(1.0, 3.0, 1.0, 2.0, 3.0)), [-3, 3, -3, 0, 3])  # ties share the middle of their places
    close(gifair.rank_term(vector(float("nan"), 1.0, 2.0)), [0, -1, 1])


def test_rates_of_client_mode_go_by_the_newest_loss_of_each_client():
    algorithm, state = start("gifair", mode="client", bound_share=0.5)

    def rates(*ids):
        return algorithm.configure_clients(state, received(reports(ids=ids))).lr_scale

    close(rates(0, 1, 2), [1.0, 1.0, 1.0])  # nobody has reported a loss
    result, after = algorithm.aggregate(state, reports())
    close(result.weights, SAMPLES / SAMPLES.sum())
    close(algorithm.configure_clients(after, received(reports())).lr_scale, [0.5, 1.0, 1.5])
    state = algorithm.aggregate(state, reports(ids=(0, 2)))[1]
    close(rates(1, 2), [1.0, 1 + 0.0625 * 1 / 0.25])  # client 1 has not reported: it ties; client 2 is above client 0
    state = algorithm.aggregate(state, reports(ids=(0, 1), losses=vector(3.0, 1.0, 2.0)))[1]
    close(state["F"], [3.0, 1.0, 2.0])
    close(rates(0, 1, 2), [1.5, 0.75, 1.0])
