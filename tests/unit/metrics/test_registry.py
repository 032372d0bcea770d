"""Metrics by id: which vector, which unit, who is left out; where other numbers come from."""

import numpy as np
import pandas as pd
import pytest

from fairfl.experiments.origin import STATISTICS, lambda_bound
from fairfl.metrics import fairness
from fairfl.metrics.registry import classified, evaluate, evaluate_along, measured, unit_of

LOSS, BEST = [0.5, 0.8, 1.2], [0.4, 0.9, 0.7]


def vectors(**given):
    plain = {"loss": LOSS, "accuracy": [0.5, 0.75, 1.0], "recall": [0.4, 0.6, 0.8], "gap": fairness.gaps(LOSS, BEST)}
    return {name: pd.Series(value) for name, value in (plain | given).items()}


def test_registry_rows():
    found = evaluate(vectors(), 3)
    wanted = {
        "accuracy_balanced": 0.75, "accuracy_mean": 0.75, "accuracy_balanced_recall": 0.6, "gap_max": 0.5,
        "loss_client_2": 1.2, "gap_client_1": -0.1, "n_skipped": 0, "accuracy_percentile5": 0.525,
        "accuracy_percentile95": 0.975,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("metric", "unit", "of_regression"),
    [
        ("accuracy_mean", "fraction", "fraction"), ("gap_var", "nats^2", "mse^2"), ("gap_var_late", "nats^2", "mse^2"),
        ("gap_max_late_std", "nats", "mse"), ("n_late", "count", "count"), ("n_skipped", "count", "count"),
        ("rounds_to_accuracy65", "rounds", "rounds"), ("accuracy_area", "fraction", "fraction"),
        ("loss_client_2", "nats", "mse"), ("gap_client_k", "nats", "mse"), ("cluster_client_0", "", ""),
        ("local_loss_min_validation", "nats", "mse"), ("inference_seconds", "seconds", "seconds"),
        ("learning_rate", "", ""), ("num_clients", "", ""),
        ("loss_client", None, None), ("accuracy_gain_late", None, None),
        ("accuracy_area_late", None, None), ("x", None, None),
    ],
)  # fmt: skip
def test_units_are_those_of_the_metric(metric, unit, of_regression):
    assert (unit_of(metric), unit_of(metric, True)) == (unit, of_regression)


def test_a_client_without_samples_is_left_out_and_counted():
    found = evaluate(vectors(loss={0: 0.5, 2: 1.5}, accuracy={0: 0.5, 2: 1.0}), 3)
    assert found["accuracy_mean"] == 0.75 and found["loss_mean"] == 1.0
    assert "accuracy_client_1" not in found and found["accuracy_client_2"] == 1.0
    assert found["n_skipped"] == 1


def test_a_regression_has_a_loss_where_it_has_samples_and_no_accuracy():
    rounds = pd.DataFrame({"samples_test": [8, 0, 5], "loss_test": [0.5, np.nan, np.inf]})
    rounds = rounds.assign(accuracy_test=np.nan, recall_test=np.nan, round=1)
    assert not classified(rounds, "test") and evaluate_along(rounds, "test") == {}
    found = measured(rounds, "test")
    assert found.index.tolist() == [0, 2] and found.loc[0, "loss"] == 0.5
    assert found["accuracy"].isna().all() and np.isnan(found.loc[2, "loss"])


@pytest.mark.parametrize(
    ("first", "last", "diverged"),
    [(2.3, 2.299e6, False), (2.3, 2.301e6, True), (0.001, 9e5, False), (0.001, 1.1e6, True), (1e7, 9e12, False)],
)
def test_a_loss_far_above_the_first_ones_is_of_a_model_that_diverged(first, last, diverged):
    """Clients that overflow are left out of a round: then the model may stay at losses of 1e35, which are finite."""
    rounds = rounds_of({0: [0.1, 0.1], 5: [0.1, 0.1]}).assign(loss_test=[first, first / 2, last, 1.0])
    found = measured(rounds.sample(frac=1, random_state=0), "test")
    assert found.isna().all(axis=1).to_dict() == {0: False, 1: False, 2: diverged, 3: False}
    assert measured(rounds.assign(samples_test=0), "test").empty


def rounds_of(curves, samples=(4, 4)):
    """Lines of a run from the accuracies of its clients by round."""
    lines = [
        {"round": t, "client": k, "loss_test": 1.0, "accuracy_test": a, "recall_test": a, "samples_test": samples[k]}
        for t, accuracies in curves.items()
        for k, a in enumerate(accuracies)
    ]
    return pd.DataFrame(lines)


def test_along_training_the_mean_over_clients_with_samples_counts():
    rounds = rounds_of({0: [0.25, 0.75], 10: [0.5, 0.625], 20: [0.75, 0.5], 25: [0.5, 0.25]})
    found = evaluate_along(rounds.sample(frac=1, random_state=0), "test")
    assert [found[f"rounds_to_accuracy{percent}"] for percent in (55, 60, 65)] == [10, 20, np.inf]
    assert found["accuracy_area"] == pytest.approx((0.5625 + 0.625 + 0.375) / 3)
    alone = evaluate_along(rounds_of({0: [0.25, 0], 10: [0.5, 0], 20: [0.75, 0]}, samples=(4, 0)), "test")
    assert alone["rounds_to_accuracy70"] == 20


# -- other numbers ----------------------------------------------------------------------------
def test_statistics_of_a_partition():
    sizes = {"train": [3, 5, 12], "validation": [0, 0, 0], "test": [1, 0, 4]}
    assert {name: function(sizes) for name, function in STATISTICS.items()} == {
        "num_clients": 3, "samples_train": 20, "samples_validation": 0, "samples_test": 5, "lambda_bound": 3 / 20 / 2,
    }  # fmt: skip


def test_the_bound_on_gifairs_lambda_is_the_one_that_vred_prints():
    # VRed table 5, CIFAR-10: 6e-5 with 50 clients and 24,959 samples; its smallest client has about 73.
    assert lambda_bound([73] + [508] * 49) == pytest.approx(6e-5, rel=0.01)
    assert np.isnan(lambda_bound([7]))
