"""FedEBA+: what its settings, tables and reported numbers say of each other, at every scale."""

import json
from collections import Counter

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.recorded.record import without_code
from fairfl.workflow.recorded import _spec_today
from tests.workflow.graphs import graph_of

SCALES = ("full", "small", "quick")


def load(root, scale="full"):
    return load_workload(root, {"papers": ["fedeba"], "scale": scale})


@pytest.mark.parametrize("scale", SCALES)
def test_nothing_is_left_out_at_any_scale(root, scale):
    workload, full = load(root, scale), load(root)
    assert (len(workload.settings), len(workload.artifacts)) == (21, 48)
    assert set(workload.artifacts) == set(full.artifacts)
    assert workload.variants == full.variants


@pytest.mark.parametrize("scale", SCALES)
def test_variants_that_are_the_same_run_are_spelled_alike(root, scale):
    """Else they would run twice: in no setting are parameters equal, defaults and modifiers included."""
    workload = load(root, scale)
    resolved = Counter(
        (run.setting, run.algorithm, run.seed)
        + (json.dumps([workload.hyperparameters(run), workload.modifiers(run)], sort_keys=True),)
        for run in workload.runs
    )
    assert max(resolved.values()) == 1
    first = [run for run in workload.runs if run.seed == workload.settings[run.setting].seeds[0]]
    assert len(first) == sum(map(len, workload.variants.values()))


def test_fedeba_plus_without_alignment_is_fedeba(root):
    for variants in load(root).variants.values():
        assert all(variant.number("alpha") != 0 for variant in variants if variant.algorithm == "fedeba_plus")


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
