"""Every model that a paper names can be built for its data, at every scale."""

import pytest
import torch

from fairfl import models
from fairfl.experiments.workload import load_workload
from tests.defaults import PAPERS

# Shape of a sample and outputs, by data set. BERT and an LSTM take token ids.
RGB, GREY, EMBEDDED = (3, 32, 32), (1, 28, 28), (1, 8, 8)
SAMPLES = {
    "ambiguous_digits": (GREY, 10),
    "cifar10": (RGB, 10),
    "cifar100": (RGB, 100),
    "cinic10": (RGB, 10),
    "digits": (EMBEDDED, 10),
    "dirty_mnist": (GREY, 10),
    "emnist": (GREY, 62),
    "fashion_mnist": (GREY, 10),
    "femnist": (GREY, 62),
    "mnist": (GREY, 10),
    "python_text": ((12,), 1000),
    "reddit": ((10,), 9998),
    "sentiment": ((32,), 2),
    "stackoverflow": ((20,), 10_004),
    "synthetic_gaussian": ((2,), 1),
    "synthetic_regression": ((10,), 1),
    "tiny_imagenet": ((3, 64, 64), 200),
    "two_quadratics": ((1,), 1),
    "yelp_imdb": ((128,), 2),
}


@pytest.mark.parametrize("scale", ["quick", "small", "full"])
def test_every_model_of_a_paper_can_be_built(root, scale):
    workload = load_workload(root, {"scale": scale, "papers": [*PAPERS, "template"]})
    for name, setting in workload.settings.items():
        shape, outputs = SAMPLES[setting.data.name]
        if getattr(setting.data, "base", None) == "digits":
            shape = EMBEDDED
        if tokens := getattr(setting.data, "max_tokens", None):
            shape = (tokens,)
        model = setting.model.model_dump() | (
            {"pretrained": None} if getattr(setting.model, "pretrained", None) else {}
        )
        with torch.device("meta"):
            assert list(models.build(model, shape, outputs).parameters()), name
