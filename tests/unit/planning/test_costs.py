"""Hours from measurements and estimates, both made up; operations against formulas worked out by hand."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.planning import costs, operations
from fairfl.planning.costs import Costs, Measured
from fairfl.planning.data import Facts, facts, source
from fairfl.runtime.machine import cpu_name
from tests.unit.registered import ours


@pytest.fixture(scope="module")
def workload(root, load):
    return load(device="cpu", mirrors=[], papers=ours(root)[:-1])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """No prepared data are at hand."""
    monkeypatch.chdir(tmp_path)


def made(workload, measured=None, seconds=None, processor=None, estimate=lambda kind: (1.0, 0.1)):
    """Costs where RUN has been recorded, if it took so many `seconds`."""
    origin = SimpleNamespace(processor=processor or cpu_name(), seconds=seconds)
    how = {"device": "cpu", "threads": 2, "peak_memory_mib": 700.0}
    entry = seconds and SimpleNamespace(origin=origin, results={"summary.json": how})
    rerun = SimpleNamespace(
        graph=SimpleNamespace(workload=workload),
        recorded=SimpleNamespace(entry=lambda job: entry),
        verdict=lambda name: SimpleNamespace(reason="never finished"),
    )
    found = Costs(rerun, [RUN])
    found.measured.update(measured or {})
    found.estimate = estimate
    return found


def train(setting, algorithm, variant="default"):
    return "train", setting, algorithm, variant


def hours(*values):
    return [Measured(value, 0.0, 500.0) for value in values]


FASHION, NOISY = "fedeba_fashion_mnist_mlp", "fedeba_fashion_mnist_mlp_noisy"
RUN = SimpleNamespace(name=f"train/{FASHION}/fedavg/default/seed3", rule="train", outputs=(), record="")


def test_a_measured_variant_takes_what_its_fastest_seed_took_whatever_the_estimate(workload):
    found = made(workload, {train(FASHION, "fedavg"): hours(3, 2, 9)}, estimate=lambda kind: None)
    assert found.hours(RUN) == 2 and found.known(train(FASHION, "fedavg")) == "measured"


def test_recorded_seconds_are_taken_with_their_threads_and_memory(workload, monkeypatch):
    found = made(workload, seconds=1800.0)
    assert found.hours(RUN) == pytest.approx(1.0)  # half an hour of two threads
    assert found.of(RUN).memory_mib == 700
    monkeypatch.setattr(costs, "reference", lambda: {"processors": {"other": 50.0, cpu_name(): 200.0}})
    assert made(workload, seconds=3600.0, processor="other").hours(RUN) == pytest.approx(2 * 50 / 200)


def test_an_estimate_alone_says_so_and_nothing_known_counts_nothing(workload):
    assert made(workload).known(train(FASHION, "fedavg")) == "estimated"
    assert made(workload).hours(RUN) == 1.0
    unknown = made(workload, estimate=lambda kind: None)
    assert unknown.hours(RUN) is None and unknown.of(RUN).core_hours == 0.0


def test_other_variants_of_the_setting_stand_in_for_one_that_has_not_run(workload):
    measured = {train(FASHION, "qffl", f"q={q}.0"): hours(value, 9) for q, value in ((0, 3), (1, 5), (2, 4))}
    found = made(workload, {**measured, train(NOISY, "fedavg"): hours(100)})
    assert found.hours(RUN) == 4 and found.known(train(FASHION, "fedavg")) == "measured"


def test_an_estimate_is_within_a_factor_of_two_of_what_was_recorded(workload):
    """Seconds of FedAvg on one core, of the record and of docs/running.md: dense, convolutional, small and large."""
    real = made(workload)
    del real.estimate
    taken = {FASHION: 195, "fedfv_mnist": 3844, "focus_rotated_mnist_10": 1871, "eagle_emnist_linear_a0.1": 750}
    for setting, seconds in (taken | {"fedfv_fmnist": 2.5, "eagle_synthetic_gaussian": 1.9}).items():
        core, gpu = real.estimate(train(setting, "fedavg"))
        assert seconds / 2 < core * 3600 < 2 * seconds and gpu > 0, setting


# -- where files come from --------------------------------------------------------------------------
def test_raw_files_are_here_or_on_the_internet_or_nowhere(root, workload):
    offline = load_workload(root, workload.config.model_dump() | {"offline": True})
    key = workload.prepared("fedeba_cifar10_cnn", 0)
    offline.prepared("fedeba_cifar10_cnn", 0)
    assert (source(workload, key), source(offline, key)) == ("download", "unavailable")
    Path("data/cifar10").mkdir(parents=True)
    Path("data/cifar10/cifar10_jpeg.tar.xz").touch()  # another form of it
    assert source(offline, key) == "local"
    assert source(offline, "weights/resnet18") == "unavailable"


# -- operations
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
