"""fairbench: every method has as many trials, on data and seeds that are not those of its runs; what tuning shares."""

import pytest
import yaml

from fairfl.experiments.reading import _with_templates
from fairfl.experiments.workload import load_workload
from fairfl.jobs import trials, tune

SCALES = ("full", "small", "quick")


def load(root, scale="full", **config):
    return load_workload(root, {"papers": ["fairbench"], "scale": scale, **config})


@pytest.mark.parametrize("scale", SCALES)
def test_every_method_has_as_many_trials(root, scale):
    workload = load(root, scale)
    for name, variants in list(workload.variants.items()):
        methods = {variant.algorithm for variant in variants}
        counts = {algorithm: len(tune.spec(workload, name, algorithm)["points"]) for algorithm in methods}
        assert len(methods) == 20 and len(set(counts.values())) == 1, (name, counts)


@pytest.mark.parametrize("scale", SCALES)
def test_tuning_has_seen_neither_the_seeds_nor_the_test_data_of_the_runs(root, scale):
    workload = load(root, scale)
    for name in list(workload.variants):
        setting = workload.settings[name]
        assert not {*setting.seeds} & {*setting.tuning.seeds}
        for point in workload.tuning_grid(name):
            assert workload.settings[point].reported_part == "validation"


def test_runs_are_tuned_without_being_asked_for(root):
    workload = load(root)
    runs = workload.runs_of("fairbench_shards")
    assert len(runs) == 20 * 5 and all(run.variant.tuned for run in runs)


def test_a_choice_is_made_of_its_own_algorithms_trials(root):
    """And that of the baseline, which runs beside whatever is selected."""
    both, alone = load(root), load(root, algorithms=["qffl"])
    for job in (trials, tune):
        for algorithm in ("qffl", "fedavg"):
            assert job.spec(both, "fairbench_shards", algorithm) == job.spec(alone, "fairbench_shards", algorithm)
    points = trials.spec(both, "fairbench_shards", "qffl")["points"]
    runs = [run["id"] for point in points for run in point["runs"]]
    assert len(runs) == 6 and all("/qffl/" in run for run in runs)
    assert not any(point["optima_seeds"] for point in points)


def test_another_score_of_the_same_trials_runs_nothing(root):
    workload = load(root)
    names = ("fairbench_shards", "fairbench_shards_worst")
    assert len({tune.spec(workload, name, "qffl")["metric"] for name in names}) == 2
    mean, worst = (trials.spec(workload, name, "qffl") for name in names)
    assert mean == worst
    assert not any(name.startswith("fairbench_shards_worst~") for name in workload.settings)


GRID = """
factors:
  data: {digits: {rounds: 5}, blobs: {rounds: 7, model: {name: mlp, hidden: [8]}}}
  deal: {mild: {partition: {name: plain}}, strong: {partition: {name: label_shards}, rounds: 9}}
settings:
  x_one: {extends: base, levels: [blobs, mild]}
  x_two: {extends: base, levels: [blobs, strong], clients: 3}
  x_three: {extends: x_two, rounds: 2}
templates: {base: {clients: 2, rounds: 1}}
artifacts:
  grid: {settings: {deal: [mild, strong]}}
  strong: {settings: {deal: [strong]}}
  listed: {settings: [x_three]}
"""


def read(text):
    return _with_templates(yaml.safe_load(text), "papers/x.yaml")


def test_a_setting_is_a_line_of_levels_and_an_artifact_names_levels():
    paper = read(GRID)
    one, two, three = paper["settings"].values()
    assert one == {
        "clients": 2, "rounds": 7, "model": {"name": "mlp", "hidden": [8]}, "partition": {"name": "plain"},
        "levels": {"data": "blobs", "deal": "mild"},
    }  # fmt: skip
    assert (two["clients"], two["rounds"]) == (3, 9)  # later factors win, and what the setting says itself
    assert three == {key: value for key, value in two.items() if key != "levels"} | {"rounds": 2}
    assert [artifact["settings"] for artifact in paper["artifacts"].values()] == [
        ["x_one", "x_two"],
        ["x_two"],
        ["x_three"],
    ]
