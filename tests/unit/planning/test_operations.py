"""Counted operations against formulas worked out by hand."""

import pytest

from fairfl.planning import operations
from fairfl.planning.data import Facts, facts


@pytest.fixture(scope="module")
def workload(load):
    return load()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No prepared data are at hand."""
    monkeypatch.chdir(tmp_path)


def test_a_sample_of_a_perceptron(workload):
    setting = workload.settings["fedeba_fashion_mnist_mlp"]
    cost = operations.sample(setting, facts(workload, "fedeba_fashion_mnist_mlp"))
    first, others = 2 * 784 * 200, 2 * (200 * 200 + 200 * 10)
    assert cost.forward == first + others
    assert cost.train == 2 * first + 3 * others  # no gradient with respect to the images
    assert cost.parameters == 784 * 200 + 200 + 200 * 200 + 200 + 200 * 10 + 10
    assert cost.numbers == 784 + 2 * (200 + 200) + 10  # each hidden layer and its ReLU


def test_a_sample_of_a_convolution(workload):
    setting = workload.settings["fedeba_cifar10_cnn_shallow"]
    cost = operations.sample(setting, facts(workload, "fedeba_cifar10_cnn_shallow"))
    convolution, dense = 2 * 28 * 28 * 64 * 3 * 25, 2 * 64 * 7 * 7 * 10
    assert cost.forward == convolution + dense
    assert cost.train == 2 * convolution + 3 * dense


@pytest.mark.parametrize(
    "setting", ["vred_stackoverflow", "fedeba_tiny_imagenet_mobilenetv2", "focus_rotated_cifar10_10"]
)
def test_other_models_are_counted_without_data_and_a_step_is_at_most_three_predictions(workload, setting):
    cost = operations.sample(workload.settings[setting], facts(workload, setting))
    assert 2 * cost.forward < cost.train <= 3 * cost.forward and cost.parameters > 10**6


def test_a_training(workload):
    name = "fedeba_fashion_mnist_mlp"
    counted = operations.of_training(workload, name)
    cost = operations.sample(workload.settings[name], facts(workload, name))
    # 2000 rounds of 10 clients with 480 of 600 images in batches of 50; 41 evaluations of 12000 test images.
    assert counted.flops == pytest.approx(2000 * 10 * 480 * cost.train + 41 * 12000 * cost.forward)
    assert counted.numbers == pytest.approx((2000 * 10 * 480 + 41 * 12000 / 2) * cost.numbers)
    assert counted.steps == 2000 * 10 * 10 and counted.updated == counted.steps * cost.parameters


def test_an_official_test_part_is_not_trained_on(workload):
    counted = operations.of_training(workload, "focus_rotated_mnist_10")
    cost = operations.sample(workload.settings["focus_rotated_mnist_10"], facts(workload, "focus_rotated_mnist_10"))
    assert counted.flops == pytest.approx(300 * 60000 * 10 * cost.train + 301 * 10000 * cost.forward)


def test_surrogates_and_local_optima(workload):
    counted = operations.of_surrogate(workload, "focus_rotated_mnist_10")
    cost = operations.sample(workload.settings["focus_rotated_mnist_10"], facts(workload, "focus_rotated_mnist_10"))
    clusters = workload.settings["focus_rotated_mnist_10"].surrogate.clusters
    trained = 300 * 10 * 60000 / clusters * cost.train
    assert trained < counted.flops < 1.1 * trained
    assert operations.of_surrogate(workload, "focus_synthetic_10") == operations.NOTHING  # known
    name = "eagle_emnist_linear_a0.5"
    linear = operations.sample(workload.settings[name], facts(workload, name))
    optimum = operations.of_local_optimum(workload, name)
    assert optimum.flops == pytest.approx(10000 * 3000 * linear.train, rel=0.1) and optimum.steps == 10000


def test_facts_of_data_that_are_not_prepared(workload):
    assert facts(workload, "fedfv_fmnist") == Facts(shape=[1, 28, 28], classes=3, samples=21000, official_test=3000)
    assert facts(workload, "fedeba_mnist_mlp").samples == 60000  # part: train
    drawn = facts(workload, "eagle_synthetic_gaussian")
    assert (drawn.shape, drawn.samples) == ([2], 300)
