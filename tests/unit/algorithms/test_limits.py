"""Algorithms that are another one for some values of their hyper-parameters: on the toy, and in the engine."""

import pytest
import torch

from tests.unit.algorithms.toy import F, close, reports, step
from tests.unit.simulation.federations import simulation

SIZE, UNIFORM = {"weighting": "size"}, {"weighting": "uniform"}
# (algorithm, hyper-parameters, weighting of FedAvg)
FEDAVG = [
    ("afl", {"eta_lambda": 0.0}, "size"),
    ("afl", {"eta_lambda": 0.0, "start": "uniform"}, "uniform"),
    ("core_fed", {"M": 1e12}, "uniform"),
    ("core_fed", {"M": 1e12, "weighting": "size"}, "size"),
    ("fedprox", {"weighting": "size"}, "size"),
    ("fedprox", {"weighting": "uniform"}, "uniform"),
    ("fedsgd", {"weighting": "uniform"}, "uniform"),
    ("gifair", {"bound_share": 0.0}, "size"),
    ("propfair", {}, "size"),
    ("qffl", {"q": 0}, "uniform"),
    ("qffl", {"q": 0, "weights": "size"}, "size"),
    ("semi_vred", {"beta": 0.0}, "size"),
    ("term", {"alpha": 0.0}, "size"),
    ("term", {"alpha": 1e-12}, "size"),
    ("vred", {"beta": 0.0}, "size"),
]
EQUAL_LOSSES = [
    ("afl", {"eta_lambda": 5.0}, "size"),
    ("core_fed", {"weighting": "uniform"}, "uniform"),
    ("core_fed", {"weighting": "size"}, "size"),
    ("fedeba", {"prior": "uniform"}, "uniform"),
    ("fedeba", {"prior": "size"}, "size"),
    ("gifair", {"bound_share": 1}, "size"),
    ("semi_vred", {"beta": 0.7}, "size"),
    ("vred", {"beta": 0.7}, "size"),
]
ALONE, FEW, SMALL = {}, {"clients_per_round": 2}, {"batch_size": 3}
BOTH = SMALL | FEW
# (algorithm, hyper-parameters, the other one, its hyper-parameters, tolerance, changes of the setting)
ENGINE = [
    ("ditto", {"lambda": 3.0, "report": "personal"}, "fedavg", SIZE, 1e-12, [BOTH]),
    ("ditto", {"lambda": 3.0, "report": "global"}, "fedavg", SIZE, 1e-12, [BOTH]),
    ("ditto", {"report": "personal", "weighting": "uniform"}, "fedavg", UNIFORM, 1e-12, [BOTH]),
    ("fedavg_hardcluster", {"M": 1}, "fedavg", SIZE, 1e-12, [ALONE, SMALL, FEW]),
    ("feddisco", {"a": 0.0, "b": 0.0}, "fedavg", SIZE, 0, [FEW]),
    ("fedeba", {"tau": 1e12, "prior": "uniform"}, "fedavg", UNIFORM, 1e-9, [SMALL]),
    ("fedeba", {"tau": 1e12, "prior": "size"}, "fedavg", SIZE, 1e-9, [SMALL]),
    ("fedeba_plus", {"alpha": 0.0}, "fedeba", {}, 0, [BOTH]),
    ("fedeba_plus", {"alpha": 1.0, "theta": 90.0, "prior": "size", "gradient": "full"}, "fedsgd",
     {"gradient": "full"}, 1e-12, [SMALL]),
    ("fedeba_plus", {"alpha": 1.0, "theta": 90.0, "prior": "size", "gradient": "batch"}, "fedsgd",
     {"gradient": "batch"}, 1e-12, [SMALL]),
    ("fedprox", {"mu": 0.0}, "fedavg", SIZE, 1e-12, [SMALL]),
    ("focus", {"M": 1}, "fedavg", UNIFORM, 1e-12, [ALONE, SMALL, FEW]),
    ("power_of_choice", {"d": 2, "candidates": "uniform"}, "fedavg", UNIFORM, 0, [FEW, BOTH]),
    ("power_of_choice", {"d": 3, "weighting": "size"}, "fedavg", SIZE, 0, [SMALL]),
    ("prac_fedeba_plus", {"alpha": 0.0}, "fedeba", {}, 0, [BOTH]),
    ("prac_fedeba_plus", {"tau": 1e12}, "fedavg", UNIFORM, 1e-9, [SMALL | {"rounds": 1}]),
    ("rank_core_fed", {"J": 1}, "fedavg", SIZE, 0, [SMALL, BOTH]),
    ("scaffold", {}, "fedavg", UNIFORM, 1e-12, [BOTH | {"rounds": 1}]),
    ("scaffold", {"option": 1, "weighting": "size"}, "fedavg", SIZE, 1e-12, [BOTH | {"rounds": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "weighting", "losses"),
    [*((*case, F) for case in FEDAVG), *((*case, torch.full_like(F, 1.3)) for case in EQUAL_LOSSES)],
)
def test_fedavg(name, given, weighting, losses):
    x, w, _ = step("fedavg", weighting=weighting)
    found, weights, _ = step(name, reports(losses=losses), **given)
    close(found, x, 1e-9)
    close(weights, w, 1e-9)


@pytest.mark.parametrize(
    ("name", "given", "other", "others", "tolerance", "changes"),
    [(*case, changes) for *case, all_changes in ENGINE for changes in all_changes],
)
def test_in_the_engine(name, given, other, others, tolerance, changes):
    plain = simulation(other, others, **changes).run()
    run = simulation(name, given, memberships=torch.ones(3, 1, dtype=torch.float64), **changes).run()
    close(run.x.flatten(), plain.x, tolerance)
    same = [torch.allclose(a["loss_test"], b["loss_test"], rtol=0, atol=max(tolerance, 1e-12))
            for a, b in zip(run.history, plain.history, strict=True)]  # fmt: skip
    assert all(same[1:]) is (given.get("report") != "personal"), "personal models are evaluated, if they are reported"
