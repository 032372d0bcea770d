"""What settings, tables and reported numbers of FedEBA+, EAGLE and fairbench say of each other, at every scale."""

import json
from collections import Counter

import pytest
import yaml

from fairfl.experiments.reading import _with_templates
from fairfl.experiments.workload import load_workload
from fairfl.jobs import trials, tune
from fairfl.recorded.record import without_code
from fairfl.workflow.recorded import _spec_today
from tests.workflow.graphs import graph_of

# -- FedEBA+: what its settings, tables and reported numbers say of each other, at every scale.
SCALES = ("full", "small", "quick")


def load(root, scale="full", paper="fedeba", **config):
    return load_workload(root, {"papers": [paper], "scale": scale, **config})


@pytest.mark.parametrize("scale", SCALES)
def test_nothing_is_left_out_and_variants_that_are_the_same_run_are_spelled_alike(root, scale):
    """Else they would run twice: in no setting are parameters equal, defaults and modifiers included."""
    workload, full = load(root, scale), load(root)
    assert (len(workload.settings), len(workload.artifacts)) == (21, 49)
    assert workload.artifacts.keys() == full.artifacts.keys() and workload.variants == full.variants
    resolved = Counter(
        (run.setting, run.algorithm, run.seed)
        + (json.dumps([workload.hyperparameters(run), workload.modifiers(run)], sort_keys=True),)
        for run in workload.runs
    )
    assert max(resolved.values()) == 1
    first = [run for run in workload.runs if run.seed == workload.settings[run.setting].seeds[0]]
    assert len(first) == sum(map(len, workload.variants.values()))
    for variants in workload.variants.values():  # FedEBA+ without alignment is FedEBA
        assert all(variant.number("alpha") != 0 for variant in variants if variant.algorithm == "fedeba_plus")


@pytest.mark.parametrize("scale", SCALES)
def test_eagle_without_lambda_is_fedavg(root, scale):
    """Its weights have length 1, so that its rate is sqrt(K) times FedAvg's."""
    for name, setting in load(root, scale, "eagle").settings.items():
        rate = setting.learning_rates["eagle"] / setting.learning_rate
        assert rate == pytest.approx(setting.clients**0.5, rel=1e-3), name


@pytest.mark.parametrize(
    ("setting", "shared"),
    [
        ("fedeba_fashion_mnist_mlp", 0),
        ("fedeba_fashion_mnist_mlp_official", 0),
        ("fedeba_fashion_mnist_mlp_own_draws", None),
        ("fedeba_fashion_mnist_mlp_own_deals", None),
        ("fedeba_cifar10_mlp", None),  # as FedFV, whose rows it copies
    ],
)
def test_one_draw_of_clients_serves_all_seeds_and_is_said_where_it_is_not_the_runs_own(root, setting, shared):
    """The run of the seed that is shared is the one that draws for itself, finished before there was a choice."""
    workload = load(root)
    graph = graph_of(workload)
    for seed in sorted({0, 12} & set(workload.settings[setting].seeds)):
        name = f"train/{setting}/fedavg/default/seed{seed}"
        spec = without_code(graph.job(name).parsed)
        assert spec.get("client_seed") == (shared if seed else None) and spec["seed"] == seed
        assert _spec_today(workload, name) == spec


def test_seeds_of_a_calibration_draw_their_own_clients(root):
    """They tell how sure a choice is: seeds of one draw would lie too near."""
    workload = load(root)
    for point in workload.calibration_grid("fedeba_fashion_mnist_mlp").values():
        assert point.setting.client_seed is None and len(point.setting.seeds) == 2


# -- fairbench: what its trials see, and what tuning shares.
@pytest.mark.parametrize("scale", SCALES)
def test_every_method_has_as_many_trials_and_these_see_neither_seeds_nor_test_data_of_the_runs(root, scale):
    workload = load(root, scale, "fairbench")
    for name, variants in list(workload.variants.items()):
        methods, setting = {variant.algorithm for variant in variants}, workload.settings[name]
        counts = {algorithm: len(tune.spec(workload, name, algorithm)["points"]) for algorithm in methods}
        assert len(methods) == 20 and len(set(counts.values())) == 1, (name, counts)
        assert not {*setting.seeds} & {*setting.tuning.seeds}
        grid = workload.tuning_grid(name)
        assert grid and all(workload.settings[point].reported_part == "validation" for point in grid)


def test_runs_are_tuned_without_being_asked_for_by_their_own_algorithms_trials(root):
    """And the baseline's, which runs beside whatever is selected."""
    both, alone = load(root, paper="fairbench"), load(root, paper="fairbench", algorithms=["qffl"])
    runs = both.runs_of("fairbench_shards")
    assert len(runs) == 20 * 5 and all(run.variant.tuned for run in runs)
    for job in (trials, tune):
        for algorithm in ("qffl", "fedavg"):
            assert job.spec(both, "fairbench_shards", algorithm) == job.spec(alone, "fairbench_shards", algorithm)
    points = trials.spec(both, "fairbench_shards", "qffl")["points"]
    runs = [run["id"] for point in points for run in point["runs"]]
    assert len(runs) == 6 and all("/qffl/" in run for run in runs)
    assert not any(point["optima_seeds"] for point in points)


def test_another_score_of_the_same_trials_runs_nothing(root):
    workload = load(root, paper="fairbench")
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


def test_a_setting_is_a_line_of_levels_and_an_artifact_names_levels():
    paper = _with_templates(yaml.safe_load(GRID), "papers/x.yaml")
    one, two, three = paper["settings"].values()
    assert one == {
        "clients": 2, "rounds": 7, "model": {"name": "mlp", "hidden": [8]}, "partition": {"name": "plain"},
        "levels": {"data": "blobs", "deal": "mild"},
    }  # fmt: skip
    assert (two["clients"], two["rounds"]) == (3, 9)  # later factors win, and what the setting says itself
    assert three == {key: value for key, value in two.items() if key != "levels"} | {"rounds": 2}
    shown = [artifact["settings"] for artifact in paper["artifacts"].values()]
    assert shown == [["x_one", "x_two"], ["x_two"], ["x_three"]]
