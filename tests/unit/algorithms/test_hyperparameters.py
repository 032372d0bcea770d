"""Hyper-parameters of all algorithms: values and data that are refused, and the measurements that they need."""

import pytest
import torch
from pydantic import ValidationError

from fairfl import algorithms
from fairfl.algorithms.interface import Federation
from fairfl.runtime.errors import FairflError, OptionError
from fairfl.simulation.simulation import Simulation
from tests.unit.plain_engine import on_quadratics
from tests.unit.simulation.federations import CPU, image_clients, spec_of

MLP = {"name": "mlp", "hidden": [4]}
NAN, INFINITY = float("nan"), float("inf")
# Bounds, and values that must be stated; types and choices are pydantic's.
REFUSED = [
    ("cgsv", {}),
    ("cgsv", {"Gamma": 0.0}),
    ("core_fed", {"M": 0.0}),
    ("ditto", {}),
    ("ditto", {"lambda": -0.1, "report": "personal"}),
    ("eagle", {"lambda": NAN}),
    ("eagle", {"lambda": INFINITY}),
    ("fedavg_hardcluster", {}),
    ("fedeba", {"tau": 0.0}),
    ("fedeba_plus", {"alpha": 1.1}),
    ("fedeba_plus", {"theta": 181.0}),
    ("fedfa", {"alpha": 0.7}),
    ("fedfv", {"alpha": 1.1}),
    ("fedma", {"sigma2": 0.0}),
    ("fedmgda_plus", {"eta_global": 0.0}),
    ("focus", {"M": 0}),
    ("gifair", {"bound_share": 1.1}),
    ("lp_proj", {"b": 0.0}),
    ("pfnm", {"rounds": 2}),
    ("power_of_choice", {"d": 0}),
    ("prac_fedeba_plus", {"alpha": 1.0}),
    ("propfair", {"epsilon": 0.0}),
    ("qffl", {"q": -1.0}),
    ("scaffold", {"eta_g": 0.0}),
    ("vred", {"beta": -0.1}),
]
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


@pytest.mark.parametrize(("name", "bad"), REFUSED)
def test_impossible_values_are_refused(name, bad):
    with pytest.raises(ValidationError):
        algorithms.create(name, bad)


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
