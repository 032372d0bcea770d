"""A small valid setting that the tests of comparison, claims and page share."""

from fairfl.spec.setting import SOURCED

SETTING = {
    "data": {"name": "synthetic_gaussian"},
    "model": {"name": "logistic_regression"},
    "partition": {"name": "plain"},
    "clients": 3,
    "clients_per_round": 3,
    "split": {"train": 0.6, "validation": 0.2, "test": 0.2},
    "rounds": 100,
    "learning_rate": 0.1,
    "evaluate_every": 10,
    "seeds": [0, 1],
    "sources": dict.fromkeys(SOURCED, "paper section 4"),
}
