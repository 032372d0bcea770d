"""Hyper-parameters of all algorithms: values and data that are refused, and the measurements that they need."""

import pytest
import torch
from pydantic import ValidationError

from fairfl import algorithms
from fairfl.algorithms.interface import Federation
from fairfl.runtime.errors import FairflError, OptionError
from fairfl.simulation.simulation import Simulation
from tests.unit.registered import FEDERATING, required
from tests.unit.simulation.federations import CPU, image_clients, spec_of

MLP = {"name": "mlp", "hidden": [4]}
NAN, INFINITY = float("nan"), float("inf")
REFUSED = {
    "afl": [{"report": "mean"}, {"eta_lambda": -0.1}, {"order": "both"}],
    "cgsv": [{}, *({"Gamma": 0.5} | bad for bad in ({"beta": 0.0}, {"a": 1.0}, {"a": -0.1}, {"floor": 0.0})),
             {"Gamma": 0.0}],
    "core_fed": [{"M": 0.0}, {"epsilon": 0.0}, {"weighting": "loss"}],
    "ditto": [{"lambda": -0.1, "report": "personal"}, {"report": "both"}, {}],
    "eagle": [{"lambda": value} for value in (-0.1, NAN, INFINITY)],
    "fedavg_hardcluster": [{}, {"M": 0}, {"M": 2.0}],
    "fedeba": [{"tau": 0.0}, {"tau": -1.0}, {"tau": 1e-7}, {"kappa": -0.1}, {"weight_loss": "received"},
               {"prior": "loss"}, {"tau_schedule": "step"}],
    "fedeba_plus": [{"alpha": -0.1}, {"alpha": 1.1}, {"theta": -1.0}, {"theta": 181.0}, {"tau": 0.0},
                    {"aggregation": "size"}, {"gradient": "none"}, {"rescale_model_alignment": 1}],
    "feddyn": [{"alpha": 0.0}, {"alpha": -1.0}, {"alpha": INFINITY}],
    "fedfa": [{"sign": 0}, {"gamma_c": 1.0}, {"gamma_s": 1.1}, {"acc_of": "both"}, {"alpha": -0.5}],
    "fedfv": [{"alpha": -0.1}, {"alpha": 1.1}, {"tau": -1}, {"tau": 1.5}, {"order": "losses"}],
    "fedma": [{"sigma2": 0.0}, {"sigma0": 0.0}, {"gamma": -1.0}, {"retrain_epochs": -1}, {"momentum": 1.0},
              {"max_width": 0}],
    "fedmgda_plus": [{"epsilon": -0.1}, {"center": "mean"}, {"eta_global": 0.0}, {"eta_global": -1.0}],
    "fedprox": [{"mu": -0.1}, {"mu": INFINITY}, {"weighting": "loss"}],
    "fedsgd": [{"gradient": "some"}, {"weighting": "loss"}],
    "focus": [{}, {"M": 0}, {"M": 2.0}, {"M": 2, "weighting": "loss"}],
    "gifair": [{"bound_share": 1.1}, {"bound_share": -0.1}, {"lambda": -1.0}],
    "lp_proj": [{"p": 3}, {"lambda": -1.0}, {"b": 0.0}, {"repeats": 0}, {"start": "noise"}],
    "pfnm": [{"sigma2": 0.0}, {"sigma0": -1.0}, {"gamma": 0.0}, {"sweeps": -1}, {"max_width": 0}, {"rounds": 2}],
    "power_of_choice": [{}, {"d": 0}, {"d": 1.5}, {"d": 3, "candidates": "loss"}, {"d": 3, "weighting": "loss"}],
    "prac_fedeba_plus": [{"alpha": -0.1}, {"alpha": 1.0}, {"theta": -1.0}, {"tau": 0.0}, {"angle_from": "next"},
                         {"gradient_weights": "uniform"}],
    "propfair": [{"M": 0.0}, {"M": -1.0}, {"epsilon": 0.0}],
    "qffl": [{"q": -1.0}, {"loss": "before"}, {"weights": "uniform"}, {"epsilon": 0.0}],
    "scaffold": [{"option": 3}, {"eta_g": 0.0}, {"weighting": "loss"}],
    "semi_vred": [{"beta": -0.1}, {"beta": NAN}],
    "vred": [{"beta": -0.1}, {"beta": NAN}],
}  # fmt: skip
# What is measured with these values; the others that the class names are not.
MEASURED = [
    ("fedeba", {}, {"loss_after"}),
    ("fedeba", {"weight_loss": "before"}, {"loss_received"}),
    ("fedeba_plus", {}, {"loss_received", "loss_after", "gradient_batch"}),
    ("fedeba_plus", {"gradient": "full"}, {"loss_received", "loss_after", "gradient_full"}),
    ("fedeba_plus", {"weight_loss": "before"}, {"loss_received", "gradient_batch"}),
    (
        "fedeba_plus",
        {"gradient": "local_epoch", "fair_weights": "after", "weight_loss": "before"},
        {"loss_received", "loss_after", "gradient_local_epoch"},
    ),
    ("fedeba_plus", {"gradient": "local_epoch", "weight_loss": "before"}, {"loss_received", "gradient_local_epoch"}),
    ("fedeba_plus", {"gradient": "local_epoch", "alpha": 0.0}, {"loss_after"}),
    ("fedeba_plus", {"aggregation": "uniform"}, {"loss_received", "gradient_batch"}),
    ("fedeba_plus", {"alpha": 0.0}, {"loss_after"}),
    ("fedeba_plus", {"alpha": 0.0, "weight_loss": "before"}, {"loss_received"}),
    ("fedeba_plus", {"alpha": 0.0, "aggregation": "uniform"}, set()),
    ("fedfa", {}, {"accuracy_after"}),
    ("fedfa", {"acc_of": "global"}, {"accuracy_received"}),
    ("fedfa", {"weighting": "uniform"}, set()),
    ("fedfv", {"order": "loss"}, {"loss_received"}),
    ("fedfv", {"order": "reverse"}, {"loss_received"}),
    ("fedfv", {"order": "random"}, set()),
    ("prac_fedeba_plus", {}, {"loss_received", "loss_after"}),
    ("prac_fedeba_plus", {"angle_from": "previous"}, {"loss_after"}),
    ("prac_fedeba_plus", {"angle_from": "previous", "gradient_weights": "received"}, {"loss_received", "loss_after"}),
    ("prac_fedeba_plus", {"weight_loss": "before"}, {"loss_received"}),
    ("prac_fedeba_plus", {"alpha": 0.0}, {"loss_after"}),
    ("qffl", {"loss": "received"}, {"loss_received"}),
    ("qffl", {"loss": "after"}, {"loss_after"}),
    ("rank_core_fed", {"J": 1}, set()),
]


@pytest.mark.parametrize("name", FEDERATING)
def test_defaults_are_possible(name):
    algorithms.create(name, required(name))


@pytest.mark.parametrize(("name", "bad"), [(name, bad) for name, values in REFUSED.items() for bad in values])
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


def test_what_could_not_be_read_in_full_is_marked_as_reconstructed():
    marked = [name for name in FEDERATING if algorithms.load(name).is_reconstructed]
    assert marked == ["core_fed", "fedwavg", "rank_core_fed"]
