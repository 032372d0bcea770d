"""FedAvg: hand-computed example and limiting cases."""

import torch

from tests.unit.algorithms.toy import SAMPLES, close, reports, step


def test_size_weights():
    x, w, _ = step("fedavg")
    close(x, [0.900000, -2.100000])
    close(w, [0.25, 0.5, 0.25])


def test_uniform_weights():
    close(step("fedavg", weighting="uniform")[0], [0.833333, -2.033333])


def test_sampled_round_renormalises_sizes():
    close(step("fedavg", reports(ids=(0, 1)))[1], [1 / 3, 2 / 3])


def test_one_client_takes_its_model():
    close(step("fedavg", reports(ids=(2,)))[1], [1.0])


def test_equal_sizes_make_both_weightings_agree(monkeypatch):
    from tests.unit.algorithms import toy

    monkeypatch.setattr(toy, "SAMPLES", torch.full_like(SAMPLES, 7.0))
    close(step("fedavg", toy.reports())[0], step("fedavg", toy.reports(), weighting="uniform")[0])
