"""Measurements that hyper-parameters need, and data that are refused; refused values: tests/bad_input."""

import pytest
import torch

from fairfl import algorithms
from fairfl.algorithms.interface import Federation
from fairfl.runtime.errors import FairflError, OptionError
from fairfl.simulation.simulation import Simulation
from tests.unit.plain_engine import on_quadratics
from tests.unit.simulation.federations import CPU, image_clients, spec_of

MLP = {"name": "mlp", "hidden": [4]}
# What is measured with these values; the others that the class names are not. Defaults: test_plain_engine.py.
MEASURED = [
    ("fedeba", {"weight_loss": "before"}, {"loss_received"}),
    ("fedeba_plus", {"gradient": "full"}, {"loss_received", "loss_after", "gradient_full"}),
    ("fedeba_plus", {"gradient": "local_epoch", "weight_loss": "before"}, {"loss_received", "gradient_local_epoch"}),
    ("fedeba_plus", {"aggregation": "uniform"}, {"loss_received", "gradient_batch"}),
    ("fedeba_plus", {"alpha": 0.0}, {"loss_after"}),
    ("fedeba_plus", {"alpha": 0.0, "aggregation": "uniform"}, set()),
    ("fedfa", {"acc_of": "global"}, {"accuracy_received"}),
    ("fedfa", {"weighting": "uniform"}, set()),
    ("fedfv", {"order": "random"}, set()),
    ("prac_fedeba_plus", {"angle_from": "previous"}, {"loss_after"}),
    ("prac_fedeba_plus", {"alpha": 0.0}, {"loss_after"}),
    ("qffl", {"loss": "after"}, {"loss_after"}),
    ("rank_core_fed", {"J": 1}, set()),
    ("scaffold", {"option": 1}, {"gradient_full"}),
    ("scaffold", {}, set()),
]


@pytest.mark.parametrize(("name", "given", "needed"), MEASURED)
def test_only_what_is_used_is_measured(name, given, needed):
    algorithm = algorithms.create(name, given)
    assert set(algorithm.required_measurements()) == needed <= set(algorithm.measurements)


@pytest.mark.parametrize("name", ["feddisco", "fedwavg"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "a regression has none"),
        (torch.zeros(2, 0), "a regression has none"),
        (torch.ones(2, 3), "6 are to be predicted in 5 samples"),
    ],
)
def test_samples_without_a_class_are_refused(name, labels, message):
    with pytest.raises(FairflError, match=f"{name}: loss: .*{message}"):
        algorithms.create(name, {}).init_state(Federation(torch.tensor([2.0, 3.0]), labels=labels))


@pytest.mark.parametrize("name", ["fedma", "pfnm"])
@pytest.mark.parametrize(
    ("message", "given", "changes"),
    [
        ("model: .* mlp with ReLU, logistic_regression is none", {}, {}),
        ("max_width: 3 .* at least 4", {"max_width": 3}, {"model": MLP}),
        ("loss: .* one output for each class, not 1 for 2", {}, {"model": MLP, "loss": "logistic"}),
    ],
)
def test_what_cannot_be_matched_is_refused_before_the_run(name, message, given, changes):
    spec = spec_of(algorithm=name, hyperparameters=given, **changes)
    with pytest.raises((FairflError, OptionError), match=f"{name}: {message}"):
        Simulation(spec, image_clients([4, 6, 9], classes=2 if "loss" in changes else 3), None, CPU)


def test_a_pull_that_diverges_is_refused():
    on_quadratics("fedprox", mu=19.9).rounds()
    with pytest.raises(OptionError, match=r"fedprox: mu: 20.0 diverges at learning_rate 0.1; .* below 2 / 0.1 = 20"):
        on_quadratics("fedprox", mu=20.0).rounds()
