"""Hours from measurements and estimates, both made up; the speed that is remembered."""

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from fairfl.experiments.workload import load_workload
from fairfl.planning import costs, speed
from fairfl.planning.costs import Costs, Measured
from fairfl.planning.data import source
from fairfl.runtime.errors import FairflError
from fairfl.runtime.machine import cpu_name
from tests.unit.registered import ours


@pytest.fixture(scope="module")
def workload(root):
    config = yaml.safe_load((root / "config.yaml").read_text()) | {"scale": "paper", "device": "cpu", "mirrors": []}
    return load_workload(root, config | {"papers": ours(root)[:-1]})


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    """On a processor that reference.json does not know."""
    monkeypatch.setattr(Costs, "trusted", False)


class Entries:
    """A record of some jobs."""

    def __init__(self, **seconds):
        self.seconds = {name.replace("__", "/"): value for name, value in seconds.items()}

    def entry(self, job):
        if job.name not in self.seconds:
            return None
        how = {"device": "cpu", "threads": 2, "peak_memory_mib": 700.0}
        origin = SimpleNamespace(processor=cpu_name(), seconds=self.seconds[job.name])
        return SimpleNamespace(origin=origin, results={"summary.json": how})


def made(workload, measured=None, entries=None, estimate=lambda kind: (1.0, 0.1)):
    rerun = SimpleNamespace(
        graph=SimpleNamespace(workload=workload),
        recorded=entries or Entries(),
        verdict=lambda name: SimpleNamespace(reason="never finished"),
    )
    jobs = [job(name) for name in (entries.seconds if entries else ())]
    found = Costs(rerun, jobs)
    found.measured.update(measured or {})
    found.estimate = estimate
    return found


def job(name):
    return SimpleNamespace(name=name, rule=name.partition("/")[0], outputs=(), record="")


def train(setting, algorithm, variant="default"):
    return "train", setting, algorithm, variant


def hours(*values):
    return [Measured(value, 0.0, 500.0) for value in values]


FASHION, NOISY, CNN = "fedeba_fashion_mnist_mlp", "fedeba_fashion_mnist_mlp_noisy", "fedeba_cifar10_cnn"
RUN = job(f"train/{FASHION}/fedavg/default/seed3")


def test_a_measured_variant_takes_what_its_fastest_seed_took_whatever_the_estimate(workload):
    found = made(workload, {train(FASHION, "fedavg"): hours(3, 2, 9)}, estimate=lambda kind: None)
    assert found.hours(RUN) == 2 and found.known(train(FASHION, "fedavg")) == "measured"


def test_recorded_seconds_are_taken_with_their_threads_and_memory(workload):
    entries = Entries(**{f"train__{FASHION}__fedavg__default__seed0": 1800.0})
    found = made(workload, entries=entries)
    assert found.hours(RUN) == pytest.approx(1.0)  # half an hour of two threads
    assert found.of(RUN).memory_mib == 700


def test_hours_of_another_processor_are_scaled_by_their_speeds(workload, monkeypatch):
    monkeypatch.setattr(costs, "reference", lambda: {"processors": {"other": 50.0, cpu_name(): 200.0}})
    entries = Entries(**{f"train__{FASHION}__fedavg__default__seed0": 3600.0})
    entry = entries.entry

    def elsewhere(job):
        if found := entry(job):
            found.origin.processor = "other"
        return found

    entries.entry = elsewhere
    assert made(workload, entries=entries).hours(RUN) == pytest.approx(2 * 50 / 200)


def test_jobs_are_expected_to_take_what_others_of_the_variant_or_the_setting_took(workload):
    """Two core-hours each, on one thread here."""
    recorded = {f"train__{FASHION}__fedavg__default__seed{n}": 3600.0 * n for n in (1, 2)}
    recorded |= {f"train__{FASHION}__afl__default__seed0": 300.0}
    entries = Entries(**recorded)
    rerun = made(workload, entries=entries).rerun
    rerun.graph.everything = list
    rerun.needed = lambda targets: [job(name) for name in entries.seconds]
    names = [f"train/{FASHION}/{run}/seed3" for run in ("fedavg/default", "term/default")]
    found = costs.expected(rerun, [*names, f"train/{CNN}/fedavg/default/seed0", "page"])
    assert found == pytest.approx({names[0]: 2 * 1.5 * 3600, names[1]: 2 * (3 * 3600 + 300) / 3})
    rerun.recorded = None
    assert costs.expected(rerun, names) == {}  # nothing has finished here


def test_an_estimate_alone_says_so_and_nothing_known_counts_nothing(workload):
    assert made(workload).known(train(FASHION, "fedavg")) == "estimated"
    assert made(workload).hours(RUN) == 1.0
    unknown = made(workload, estimate=lambda kind: None)
    assert unknown.hours(RUN) is None and unknown.of(RUN).core_hours == 0.0


def test_other_variants_of_the_algorithm_correct_the_estimate(workload):
    measured = {train(FASHION, "qffl", "q=0.5"): hours(3), train(FASHION, "fedavg"): hours(1.2)}
    found = made(workload, measured)
    assert found.hours(job(f"train/{FASHION}/qffl/q=5.0/seed0")) == pytest.approx(3.0)
    assert found.known(train(FASHION, "qffl", "q=5.0")) == "scaled"


def test_an_algorithm_departs_from_its_setting_as_it_does_elsewhere(workload):
    elsewhere = {train(NOISY, "fedavg"): hours(1), train(NOISY, "afl"): hours(1), train(NOISY, "qffl"): hours(3)}
    found = made(workload, {train(FASHION, "fedavg"): hours(2), **elsewhere})
    assert found.hours(job(f"train/{FASHION}/qffl/q=5.0/seed0")) == pytest.approx(2 * 3)
    assert found.hours(job(f"train/{FASHION}/term/t=1.0/seed0")) == pytest.approx(2)


def test_runs_beside_other_work_do_not_make_others_dear(workload):
    busy = {train(FASHION, "fedprox", f"mu={i}"): hours(2.2) for i in range(15)}
    quiet = {train(FASHION, "fedprox", f"mu=9{i}"): hours(1.0) for i in range(2)}
    found = made(workload, {**busy, **quiet})
    assert found.hours(job(f"train/{FASHION}/fedprox/mu=77/seed0")) == pytest.approx(1.0)
    assert found.hours(job(f"train/{FASHION}/fedprox/mu=3/seed1")) == pytest.approx(1.25)  # was busy then
    assert found.hours(job(f"train/{FASHION}/fedprox/mu=91/seed1")) == pytest.approx(1.0)


def test_a_setting_without_runs_is_corrected_by_those_with_such_models_only(workload):
    found = made(workload, {train(FASHION, "fedavg"): hours(4)})
    assert found.hours(job(f"train/{NOISY}/fedavg/default/seed0")) == pytest.approx(4)
    assert found.known(train(CNN, "fedavg")) == "estimated"


def test_where_efficiencies_are_known_waiting_for_a_core_does_not_count(workload, monkeypatch):
    monkeypatch.setattr(Costs, "trusted", True)
    found = made(workload, {train(FASHION, "fedavg"): hours(2.5), train(FASHION, "afl"): hours(5)})
    assert found.hours(job(f"train/{FASHION}/term/t=1.0/seed0")) == pytest.approx(costs.TRUSTED)
    assert found.hours(RUN) == pytest.approx(costs.MORE * costs.TRUSTED * 2 / 3)  # departs so from the middle of both
    fast = made(workload, {train(FASHION, "fedavg"): hours(0.6)})
    assert fast.hours(RUN) == fast.hours(job(f"train/{FASHION}/term/t=1.0/seed0")) == pytest.approx(0.6)


def test_settings_with_such_models_count_by_their_hours(workload):
    seconds = {train("fedeba_toy", "fedavg"): hours(0.001), train("fedfv_fmnist", "fedavg"): hours(0.002)}
    found = made(workload, {**seconds, train(FASHION, "fedavg"): hours(2)})
    assert found.hours(job(f"train/{NOISY}/fedavg/default/seed0")) == pytest.approx(2)


def test_short_jobs_cost_nothing(workload):
    assert made(workload).hours(job(f"collect/{FASHION}")) == 0.0


def test_an_estimate_adds_operations_and_fixed_costs(workload, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "gflops", lambda: 100.0)
    real = made(workload)
    del real.estimate
    core, gpu = real.estimate(train(FASHION, "fedavg"))
    monkeypatch.setattr(speed, "gflops", lambda: 50.0)
    real._estimates.clear()
    slower, same = real.estimate(train(FASHION, "fedavg"))
    assert core < slower < 2 * core and gpu == same > 0
    assert 30 < core * 3600 < 600  # a minute or two on a machine of today


def test_every_run_of_the_papers_can_be_estimated(workload, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "gflops", lambda: 100.0)
    real = made(workload)
    del real.estimate
    for setting, variants in workload.variants.items():
        by_algorithm = {v.algorithm: v for v in variants if workload.declared(v.algorithm).is_federated}
        for variant in by_algorithm.values():
            kind = train(setting, variant.algorithm, variant.folder)
            core, gpu = real.estimate(kind) or (0, 0)
            assert core > 0 and gpu > 0, kind


# -- speed --------------------------------------------------------------------------------------------
def test_waiting_for_a_core_does_not_count(monkeypatch):
    """A product of 2 x 1024^3 operations in 10 ms of the processor, however long it takes on the wall."""
    ticks = itertools.count()
    monkeypatch.setattr(speed, "SECONDS", 0.001)
    monkeypatch.setattr(speed.time, "thread_time", lambda: next(ticks) / 100)
    assert speed._measured.__wrapped__() == pytest.approx(214.748, rel=1e-4)


def test_the_speed_is_measured_once_and_remembered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measured = []
    monkeypatch.setattr(speed, "_measured", lambda: measured.append(1) or 123.44)
    assert speed.gflops() == speed.gflops() == 123.4 and len(measured) == 1
    known = json.loads(Path("results/speed.json").read_text())
    Path("results/speed.json").write_text(json.dumps(known | {"processor": "another"}))
    assert speed.gflops() == 123.4 and len(measured) == 2
    Path("results/speed.json").write_text("{half")
    assert speed.gflops() == 123.4 and len(measured) == 3


def test_the_measured_speed_is_that_of_a_matrix_product(monkeypatch):
    monkeypatch.setattr(speed, "SECONDS", 0.05)
    assert 0.5 < speed._measured.__wrapped__() < 5000


# -- where files come from --------------------------------------------------------------------------
def test_raw_files_are_here_or_on_the_internet_or_nowhere(root, workload, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    offline = load_workload(root, workload.config.model_dump() | {"offline": True})
    key = workload.prepared("fedeba_cifar10_cnn", 0)
    offline.prepared("fedeba_cifar10_cnn", 0)
    assert (source(workload, key), source(offline, key)) == ("download", "missing")
    Path("data/cifar10").mkdir(parents=True)
    Path("data/cifar10/cifar10_jpeg.tar.xz").touch()  # another form of it
    assert source(offline, key) == "here"
    assert source(offline, "weights/resnet18") == "missing"
    for setting, part in {
        "eagle_emnist_linear_a0.1": "emnist/emnist_byclass_test.zip",
        "vred_cifar100": "cifar100/cifar100_jpeg.tar.xz",
        "focus_femnist_204": "femnist/femnist_leaf.tar.gz",
    }.items():
        assert source(offline, offline.prepared(setting, 0)) == "missing"
        Path("data", part).parent.mkdir()
        Path("data", part).touch()  # a part or a lossy copy
        assert source(offline, offline.prepared(setting, 0)) == "here"


def test_unknown_data_are_named(workload, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    from fairfl.planning import data

    monkeypatch.setattr(data, "reference", lambda: {"data": {}})
    with pytest.raises(FairflError, match="fedfv_fmnist: nothing is known of data fashion_mnist"):
        data.facts(workload, "fedfv_fmnist")
