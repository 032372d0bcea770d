"""Hours from measurements and estimates, both made up."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.planning import costs
from fairfl.planning.costs import Costs, Measured
from fairfl.planning.data import source
from fairfl.runtime.machine import cpu_name
from tests.unit.registered import ours


@pytest.fixture(scope="module")
def workload(root, load):
    return load(device="cpu", mirrors=[], papers=ours(root)[:-1])


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


def test_an_estimate_is_within_a_factor_of_two_of_what_was_recorded(workload, monkeypatch, tmp_path):
    """Seconds of FedAvg on one core, of the record and of docs/running.md: dense, convolutional, small and large."""
    monkeypatch.chdir(tmp_path)
    real = made(workload)
    del real.estimate
    taken = {FASHION: 195, "fedfv_mnist": 3844, "focus_rotated_mnist_10": 1871, "eagle_emnist_linear_a0.1": 750}
    for setting, seconds in (taken | {"fedfv_fmnist": 2.5, "eagle_synthetic_gaussian": 1.9}).items():
        core, gpu = real.estimate(train(setting, "fedavg"))
        assert seconds / 2 < core * 3600 < 2 * seconds and gpu > 0, setting


# -- where files come from --------------------------------------------------------------------------
def test_raw_files_are_here_or_on_the_internet_or_nowhere(root, workload, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    offline = load_workload(root, workload.config.model_dump() | {"offline": True})
    key = workload.prepared("fedeba_cifar10_cnn", 0)
    offline.prepared("fedeba_cifar10_cnn", 0)
    assert (source(workload, key), source(offline, key)) == ("download", "unavailable")
    Path("data/cifar10").mkdir(parents=True)
    Path("data/cifar10/cifar10_jpeg.tar.xz").touch()  # another form of it
    assert source(offline, key) == "local"
    assert source(offline, "weights/resnet18") == "unavailable"
