"""EAGLE: hand-computed examples, partial rounds, agreement with the objective's gradient."""

from dataclasses import replace

import pytest
import torch

from fairfl.algorithms.eagle import Config, fill_gaps, gap_weights
from tests.unit.algorithms.toy import F, G, X, close, gradient_at_zero, received, reports, start, vector

BEST = vector(0.4, 0.7, 1.1)
GAPS = F - BEST  # 0.1, 0.3, 0.9
HALF = {"lambda": 0.5}


def one_round(**hyperparameters):
    """(w, x) of a round with lag 0, so that the example's weights act in it."""
    algorithm, state = start("eagle", lag=0, **hyperparameters)
    scale = algorithm.configure_clients(state, received(reports(best=BEST))).lr_scale
    report = reports(best=BEST, scale=scale)
    return scale, X - algorithm.aggregate(state, report)[0].weights @ report.delta


@pytest.mark.parametrize(
    ("scale", "norm", "lam", "w", "x"),
    [
        (2, "none", 0.5, [0.5, 0.8, 1.7], [0.766667, -1.966667]),
        (2, "l2", 0.5, [0.257172, 0.411476, 0.874386], [0.879986, -1.982855]),
        (4, "none", 0.5, [0.0, 0.6, 2.4], [0.700000, -1.900000]),
        (4, "l2", 0.5, [0.000000, 0.242536, 0.970143], [0.878732, -1.959577]),
        (2, "l2", 0.0, [0.577350, 0.577350, 0.577350], [0.903775, -2.019245]),
    ],
)
def test_example(scale, norm, lam, w, x):
    found, after = one_round(**{"lambda": lam}, scale=scale, norm=norm)
    close(found, w)
    close(after, x)


def test_server_side_weights_agree_for_one_local_step():
    scale, x = one_round(**HALF, where="server", norm="none")
    assert scale is None
    close(x, [0.766667, -1.966667])


@pytest.mark.parametrize("scale", [2, 4])
def test_weights_are_the_gradient_of_the_objective(scale):
    """(1/K) sum w_k g_k equals the numerical gradient of eq. (3); the appendix doubles the penalty."""
    numeric = gradient_at_zero(lambda losses: losses.mean() + scale / 2 * 0.5 * (losses - BEST).var(unbiased=True))
    close(gap_weights(GAPS, Config(**HALF, scale=scale, norm="none")) @ G / 3, numeric, 1e-7)


@pytest.mark.parametrize("where", ["client_lr", "server"])
def test_a_client_without_validation_samples_has_the_mean_gap_of_the_others(where):
    gaps = vector(1.0, torch.nan, 3.0)
    assert fill_gaps(gaps).tolist() == [1.0, 2.0, 3.0] and fill_gaps(gaps * torch.nan).tolist() == [0.0, 0.0, 0.0]
    algorithm, state = start("eagle", **HALF, lag=0, where=where)
    report = replace(reports(), validation_loss_received=gaps)
    w = algorithm.configure_clients(state, report).lr_scale
    w = 3 * algorithm.aggregate(state, report)[0].weights if w is None else w
    close(w, gap_weights(vector(1.0, 2.0, 3.0), algorithm.config), 1e-12)
