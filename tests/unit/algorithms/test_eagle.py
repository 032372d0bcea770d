"""EAGLE: hand-computed examples, partial rounds, agreement with the objective's gradient."""

from types import SimpleNamespace

import pytest
import torch

from fairfl.algorithms.eagle import Config, Eagle, gap_weights, known_gaps
from tests.unit.algorithms.toy import F, G, X, close, received, reports, start

BEST = torch.tensor([0.4, 0.7, 1.1], dtype=torch.float64)
GAPS = F - BEST  # 0.1, 0.3, 0.9


@pytest.mark.parametrize(
    ("scale", "norm", "expected"),
    [
        (2, "none", [0.5, 0.8, 1.7]),
        (2, "l2", [0.257172, 0.411476, 0.874386]),
        (4, "none", [0.0, 0.6, 2.4]),
        (4, "l2", [0.000000, 0.242536, 0.970143]),
    ],
)
def test_weights(scale, norm, expected):
    close(gap_weights(GAPS, Config(**{"lambda": 0.5}, scale=scale, norm=norm)), expected)


def one_round(**hyperparameters):
    """A round with lag 0, so that the example's weights act in it: the clients' steps are scaled."""
    algorithm, state = start("eagle", lag=0, **hyperparameters)
    plain = reports(best=BEST)
    plan = algorithm.configure_clients(state, received(plain))
    report = reports(best=BEST, scale=plan.lr_scale)
    result, _ = algorithm.aggregate(state, report)
    return X - result.weights @ report.delta


@pytest.mark.parametrize(
    ("scale", "norm", "lam", "x"),
    [
        (2, "none", 0.5, [0.766667, -1.966667]),
        (2, "l2", 0.5, [0.879986, -1.982855]),
        (4, "none", 0.5, [0.700000, -1.900000]),
        (4, "l2", 0.5, [0.878732, -1.959577]),
        (2, "l2", 0.0, [0.903775, -2.019245]),
    ],
)
def test_example(scale, norm, lam, x):
    close(one_round(**{"lambda": lam}, scale=scale, norm=norm), x)


def test_lag_of_one_round():
    """The first round trains with w = 1; the second with the weights of the first round's gaps."""
    algorithm, state = start("eagle", **{"lambda": 0.5}, norm="none")
    report = reports(best=BEST)
    close(algorithm.configure_clients(state, received(report)).lr_scale, [1.0, 1.0, 1.0])
    _, state = algorithm.aggregate(state, report)
    close(algorithm.configure_clients(state, received(report)).lr_scale, [0.5, 0.8, 1.7])


def test_weights_of_some_clients_are_those_of_all_by_the_newest_gap_of_each():
    """Gaps 0.1 and 0.9 of a first round of two; the third client has their mean until it takes part."""
    algorithm, state = start("eagle", **{"lambda": 0.5}, norm="none")

    def weights(*ids):
        return algorithm.configure_clients(state, received(reports(ids, best=BEST))).lr_scale

    _, state = algorithm.aggregate(state, reports((0, 2), best=BEST))
    close(weights(0, 1, 2), [0.4, 1.0, 1.6])
    close(weights(1, 2), [1.0, 1.6])
    _, state = algorithm.aggregate(state, reports((1,), best=BEST))
    close(weights(0, 1), [0.5, 0.8])
    _, state = algorithm.aggregate(state, reports((0,), losses=F + 0.8, best=BEST))  # its gap is 0.9 now
    close(weights(0, 1, 2), [1.3, 0.4, 1.3])


def test_server_side_weights_agree_for_one_local_step():
    algorithm, state = start("eagle", lag=0, where="server", norm="none", **{"lambda": 0.5})
    report = reports(best=BEST)
    assert algorithm.configure_clients(state, received(report)).lr_scale is None
    result, _ = algorithm.aggregate(state, report)
    close(X - result.weights @ report.delta, [0.766667, -1.966667])


@pytest.mark.parametrize("scale", [2, 4])
def test_weights_are_the_gradient_of_the_objective(scale):
    """(1/K) sum w_k g_k equals the numerical gradient of eq. (3); the appendix doubles the penalty."""
    lam, K = 0.5, 3

    def objective(z):
        losses = F + G @ z
        gaps = losses - BEST
        return losses.mean() + (scale / 2) * lam * gaps.var(unbiased=True)

    step_size = 1e-6
    eye = torch.eye(2, dtype=torch.float64)
    numeric = torch.stack([(objective(step_size * e) - objective(-step_size * e)) / (2 * step_size) for e in eye])
    w = gap_weights(GAPS, Config(**{"lambda": lam}, scale=scale, norm="none"))
    close(w @ G / K, numeric, 1e-7)


@pytest.mark.parametrize("where", ["client_lr", "server"])
def test_a_client_without_validation_samples_has_the_mean_gap_of_the_others(where):
    gaps = torch.tensor([1.0, torch.nan, 3.0], dtype=torch.float64)
    assert known_gaps(gaps).tolist() == [1.0, 2.0, 3.0]
    assert known_gaps(gaps * torch.nan).tolist() == [0.0, 0.0, 0.0]
    config = Config(**{"lambda": 0.1}, lag=0, where=where)
    received = SimpleNamespace(val_received=gaps, val_best=torch.zeros(3, dtype=torch.float64), clients=None)
    assert torch.equal(Eagle(config)._weights({}, received), gap_weights(known_gaps(gaps), config))
