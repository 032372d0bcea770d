"""One model of each engine, as it came out when this was written: two engines that are wrong alike agree.

In float64 another processor moves the last digits only, so whatever changes no number stays within 1e-9.
"""

import pytest
import torch

from fairfl.simulation.backends import conv_kernels
from fairfl.simulation.backends.sequential import Sequential
from fairfl.simulation.backends.stacked import Stacked
from tests.unit.simulation.federations import simulation

LINEAR = {"name": "logistic_regression", "init": "pytorch"}
MLP = {"name": "mlp", "hidden": [5]}
CNN = {"name": "cnn", "channels": [2, 3], "hidden": [4], "kernel": 3}
RESNET = {"name": "resnet", "blocks": [1], "widths": [4], "norm": "batch"}
# Backend, model, shape of an image; of the final model the norm, and the product with cos(0), cos(1), cos(2), ...
GOLDEN = {
    "stacked, one layer": (Stacked, LINEAR, (1, 2, 2), [1.2557430059967913, -1.0470308817196439]),
    "stacked": (Stacked, MLP, (1, 2, 2), [1.7237885062503486, -0.26348856549772226]),
    "sequential, autograd": (Sequential, MLP, (1, 2, 2), [1.7237885062503486, -0.26348856549772226]),
    "sequential, by hand": (Sequential, CNN, (1, 12, 12), [2.312059299553701, 0.08689577275587923]),
    "sequential, running statistics": (Sequential, RESNET, (3, 8, 8), [7.026208596055907, -0.48939407568284804]),
}  # fmt: skip


@pytest.mark.parametrize("engine", GOLDEN)
def test_a_small_run_ends_with_the_same_model_as_ever(engine):
    backend, model, shape, golden = GOLDEN[engine]
    run = simulation("qffl", {"q": 1.0}, backend.__name__.lower(), shape=shape, model=model, batch_size=4)
    assert isinstance(run.backend, backend) and conv_kernels.supports(run.backend.model) == engine.endswith("by hand")
    theta = run.run().x
    found = [theta.norm().item(), (theta @ torch.arange(len(theta)).double().cos()).item()]
    assert found == pytest.approx(golden, rel=1e-9)
