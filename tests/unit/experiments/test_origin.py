"""Where numbers come from and what they belong to; what a setting says about itself."""

import pytest

from fairfl.experiments.origin import TIMED, origin, origins, owner, reference
from fairfl.metrics.registry import METRICS, PER_CLIENT


@pytest.mark.parametrize(
    ("metric", "where", "whose"),
    [
        ("accuracy_mean", "tidy", "variant"),
        ("rounds_to_accuracy70", "tidy", "variant"),
        ("learning_rate", "tuned", "algorithm"),
        ("hp_q", "tuned", "algorithm"),
        ("samples_train", "statistics", "setting"),
        ("train_seconds_per_round", "timed", "variant"),
        ("metric_seconds_faa", "timed", "setting"),
        ("config_batch_size", "setting", "setting"),
    ],
)
def test_origin_and_owner(metric, where, whose) -> None:
    assert (origin(metric), owner(metric)) == (where, whose)


def test_origins_name_each_kind_once() -> None:
    assert origins([*TIMED, "config_rounds"]) == ("timed", "setting")
    assert origins(["hp_q", "accuracy_mean", "hp_beta"]) == ("tuned", "tidy")


def test_what_a_metric_is_held_against_is_what_its_values_are_above() -> None:
    values = {metric: vector for metric, (_, vector, *_) in (METRICS | PER_CLIENT).items()}
    for metric, vector in values.items():
        above = {"gap": "local_optimum", "excess": "surrogate"}.get(vector.partition("_")[0])
        assert reference(metric) == above, metric
