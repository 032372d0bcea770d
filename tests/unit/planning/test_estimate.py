"""Estimates from jobs that a test has stored: nearest first, scaled by what they pass through their models."""

import json

import pytest

from fairfl.planning import estimate as module
from fairfl.planning.estimate import count_samples, estimate, estimate_rule

SPEC = {
    "data": {"name": "mnist"}, "samples": 600, "model": {"name": "mlp", "hidden": [7]}, "clients": 10,
    "clients_per_round": 5, "local_epochs": 2, "rounds": 100, "evaluate_every": 10, "evaluated_parts": ["test"],
    "split": {"train": 0.5, "validation": 0.0, "test": 0.5},
}  # fmt: skip


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A function: store jobs of a setting, name -> (seconds, what is different in spec and result)."""
    monkeypatch.chdir(tmp_path)

    def of(setting, rule="train", **jobs):
        entries = {}
        for name, (seconds, spec, how) in jobs.items():
            whole = {key: value for key, value in (SPEC | spec).items() if value is not None}
            entry = {"spec": whole, "results": {"summary.json": how}, "origin": {"seconds": seconds}}
            entries[f"{rule}/{setting}/{name}/default/seed0"] = [entry]
        path = module.FOLDER / setting / "jobs.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"jobs": entries}))

    return of


def of(name, tmp_path, **spec):
    return estimate("train", [*name.split("/"), "default"], SPEC | spec, SPEC, tmp_path / "results/full")


def test_passes_through_the_model():
    """100 rounds: two epochs of half of 300 samples, and ten evaluations of 300 by a third."""
    assert count_samples("train", SPEC) == pytest.approx(100 * 2 * 150 + 10 * 300 * 2 / 2 / 3)
    classes = SPEC | {"samples": None, "data": {"name": "fashion_mnist", "classes": [0, 2, 6]}}
    assert count_samples("train", classes) == pytest.approx(21000 / 600 * count_samples("train", SPEC))
    assert count_samples("local_optimum", SPEC | {"local_optimum": {"max_steps": 10}}) == 600
    assert count_samples("surrogate", SPEC | {"surrogate": {"epochs": 10, "clusters": 4}}) == 1500
    assert count_samples("timing", {"rounds": 20, "variants": [SPEC, SPEC]}) == 24000


def test_the_setting_and_algorithm_come_first_then_the_setting_then_the_model(store, tmp_path):
    store("a", fedavg=(60.0, {}, {"peak_memory_mib": 500.0, "threads": 2}), qffl=(240.0, {}, {}))
    store("b", fedavg=(10.0, {}, {}), qffl=(10.0, {}, {}), focus=(40.0, {}, {}))
    found = of("a/fedavg", tmp_path)
    assert (found.core_seconds, found.memory_mib, found.basis) == (pytest.approx(120.0), 500.0, "measured")
    assert of("a/fedavg", tmp_path, rounds=200).core_seconds == pytest.approx(240.0)
    other = of("a/focus", tmp_path)  # the median of the setting
    assert (other.core_seconds, other.basis) == (pytest.approx(180.0), "scaled")
    # Of five jobs of the model the median takes 40.
    assert of("c/mine", tmp_path, samples=1200).core_seconds == pytest.approx(2 * 40.0)
    assert of("c/mine", tmp_path, model={"name": "mlp", "hidden": [9]}).basis == "scaled"
    assert of("c/mine", tmp_path, model={"name": "other"}) is None


def test_a_local_optimum_takes_what_stored_ones_with_its_stopping_rule_took(store, tmp_path):
    """Ten of 10,000 steps: those of the same setting in their seconds, another model by its rate times these steps, on
    the samples of one of ten clients.
    """
    early, cap = ({"local_optimum": {"max_steps": 10_000, "flat_window": window}} for window in (1, 100))
    alone = {key: SPEC[key] for key in ("data", "model", "split")}
    none = dict.fromkeys(SPEC.keys() - alone)  # as in stored local optima
    store("a", rule="local_optimum", **{f"seed{n}": (n, none | early, {"epochs": 10 * n}) for n in (1, 2, 3)})
    store("b", rule="local_optimum", seed0=(500.0, none | cap, {"epochs": 10_000}))

    def seconds(setting, **spec):
        return estimate("local_optimum", [setting], alone | spec, SPEC, tmp_path).core_seconds

    assert seconds("a", **early) == pytest.approx(2.0)
    assert seconds("b", **cap) == pytest.approx(500.0)
    assert count_samples("local_optimum", SPEC | early) == 20 * 60
    linear = {"model": {"name": "logistic_regression"}}
    assert seconds("c", **early, **linear) == pytest.approx(0.000003 * 20 * 60)


def test_a_gpu_stands_for_cores_and_jobs_on_the_same_device_are_nearer(store, tmp_path):
    store("a", fedavg=(2.0, {}, {"device": "cuda"}))
    assert of("a/fedavg", tmp_path).gpu_seconds == pytest.approx(2.0)
    assert of("a/fedavg", tmp_path).core_seconds == pytest.approx(40.0)  # reference.json: 20 for perceptrons


def test_a_model_that_nobody_has_run_has_a_rate(store, tmp_path):
    rates = {}
    for stem in ("cifar", "imagenet"):
        found = of("a/fedavg", tmp_path, model={"name": "resnet", "stem": stem})
        rates[stem] = found.core_seconds / count_samples("train", SPEC)
    assert rates == pytest.approx({"cifar": 0.09, "imagenet": 0.006})


def test_what_finished_here_counts_where_nothing_is_stored_and_damage_is_passed_over(store, tmp_path):
    store("a", fedavg=(60.0, {}, {}))
    for algorithm, seconds in (("fedavg", 600.0), ("mine", 90.0)):
        path = tmp_path / f"results/full/runs/a/{algorithm}/default/seed0/summary.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"spec": SPEC, "seconds": seconds}))
    assert of("a/fedavg", tmp_path).core_seconds == pytest.approx(60.0)
    assert of("a/mine", tmp_path).core_seconds == pytest.approx(90.0)
    path.write_text("{")
    module._jobs_of.cache_clear()
    assert of("a/mine", tmp_path).basis == "scaled"


def test_every_run_of_the_papers_has_an_estimate(root, load, monkeypatch):
    """From the committed results; FedAvg of FedFV's MNIST took 3,844 seconds of a core."""
    monkeypatch.chdir(root)
    workload = load()
    for run in workload.runs:
        words = (run.setting, run.algorithm, run.variant.folder)
        found = estimate_rule(workload, root / "none", "train", *words)
        assert found and found.core_seconds > 0 and found.gpu_seconds > 0, run.id
        if run.id.startswith("fedfv_mnist/fedavg/default/"):
            assert found.core_seconds == pytest.approx(3844, rel=0.1) and found.basis == "measured"
