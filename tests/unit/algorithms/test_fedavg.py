"""FedAvg: shares of the clients of a round."""

import torch

from tests.unit.algorithms.toy import SAMPLES, close, reports, step


def test_sampled_round_renormalises_sizes():
    close(step("fedavg", reports(ids=(0, 1)))[1], [1 / 3, 2 / 3])


def test_one_client_takes_its_model():
    close(step("fedavg", reports(ids=(2,)))[1], [1.0])


def test_equal_sizes_make_both_weightings_agree(monkeypatch):
    from tests.unit.algorithms import toy

    monkeypatch.setattr(toy, "SAMPLES", torch.full_like(SAMPLES, 7.0))
    close(step("fedavg", toy.reports())[0], step("fedavg", toy.reports(), weighting="uniform")[0])
