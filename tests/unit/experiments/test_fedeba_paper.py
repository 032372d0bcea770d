"""FedEBA+: what its settings, tables and reported numbers say of each other, at every scale."""

import csv
import json
from collections import Counter

import pytest

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import load_workload
from fairfl.judgement.cells import MEASURED_KINDS
from fairfl.recorded.record import without_code
from fairfl.workflow.recorded import _spec_today
from tests.workflow.graphs import graph_of

SCALES = ("full", "small", "quick")


def load(root, scale="full"):
    return load_workload(root, {"papers": ["fedeba"], "scale": scale})


def printed(root, key):
    """Lines of what the paper prints in an artifact; none if it prints no numbers."""
    path = root / f"papers/reported/fedeba/{key}.csv"
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


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


def test_every_printed_number_has_its_cell_and_every_cell_of_a_table_its_number(root):
    """But what only we have: rows of table 14, the whole cost of a round, the points of figure 1 that draw a curve."""
    for key, artifact in load(root).papers["fedeba"].artifacts.items():
        lines = printed(root, key)
        if artifact.kind not in MEASURED_KINDS or not lines:
            continue
        there = [
            (line["setting"], Variant.from_csv(line["algorithm"], line["hyperparameters"]), line["metric"])
            for line in lines
        ]
        assert len(set(there)) == len(there), key
        own = set(cells(artifact))
        assert set(there) <= own, key
        ours = {cell for cell in own - set(there) if cell[1].number("dp.target") is None and cell[2] != "comm_cost"}
        assert artifact.kind == "figure" or not artifact.in_paper or not ours, key
        assert all(line["artifact"] == key for line in lines)


def cells(artifact):
    """(setting, variant, metric) of all numbers of an artifact."""
    for setting in artifact.settings:
        for row in artifact.rows_in(setting):
            for metric in artifact.columns_for(row.algorithm, setting):
                yield setting, row.variant, metric


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
