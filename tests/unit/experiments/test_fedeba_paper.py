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

SCALES = ("paper", "small", "quick")


def load(root, scale="paper"):
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
        assert artifact.kind == "figure" or artifact.ours or not ours, key
        assert all(line["artifact"] == key for line in lines)


def cells(artifact):
    """(setting, variant, metric) of all numbers of an artifact."""
    for setting in artifact.settings:
        for row in artifact.rows_in(setting):
            for metric in artifact.columns_for(row.algorithm, setting):
                yield setting, row.variant, metric


def test_rows_of_tables_whose_values_are_not_printed_say_how_they_are_known(root):
    for key, artifact in load(root).papers["fedeba"].artifacts.items():
        for row in artifact.rows:
            if row.provenance != "paper" and artifact.kind == "table":
                assert row.note, (key, row)
    lost = {row.algorithm for row in load(root).papers["fedeba"].artifacts["table7"].rows if row.provenance == "paper"}
    assert lost == {"fedavg"}


def test_the_points_of_figure_1_have_the_printed_gaps(root):
    """F1 = 2 (x - 2)^2 and F2 = (x + 4)^2 / 2."""
    found = {(line["algorithm"], line["metric"]): float(line["value"]) for line in printed(root, "figure1")}
    for algorithm in ("fedavg", "qffl", "fedeba"):
        x = found[algorithm, "parameter_0"]
        assert abs(2 * (x - 2) ** 2 - (x + 4) ** 2 / 2) == pytest.approx(found[algorithm, "loss_gap"])


@pytest.mark.parametrize("scale", SCALES)
def test_rates_and_temperatures_fall_by_as_much_as_in_2000_rounds(root, scale):
    full = load(root).settings
    for name, setting in load(root, scale).settings.items():
        kappa = setting.hyperparameters.get("fedeba_plus", {}).get("kappa")
        if kappa is not None:
            assert 1 + kappa * (setting.rounds - 1) == pytest.approx(10, rel=0.01), name
        assert (setting.lr_decay is None) == (full[name].lr_decay is None), name
        if setting.lr_decay:
            assert fallen(setting) == pytest.approx(fallen(full[name]), rel=0.1), name


def fallen(setting):
    """The last learning rate over the first."""
    return setting.lr_decay.factor ** ((setting.rounds - 1) // setting.lr_decay.every)


@pytest.mark.parametrize("scale", SCALES)
def test_no_method_has_a_rate_of_its_own(root, scale):
    assert all(not setting.learning_rates and not setting.tuning for setting in load(root, scale).settings.values())


@pytest.mark.parametrize("scale", ("paper", "small"))
@pytest.mark.parametrize("base", ("fedeba_fashion_mnist_mlp", "fedeba_cifar10_cnn"))
def test_noisy_labels_are_all_that_is_different_in_table_13(root, scale, base):
    settings = load(root, scale).settings
    clean, noisy = (settings[name].training() for name in (base, f"{base}_noisy"))
    assert noisy.pop("label_noise") == {"ratio": 0.5} and clean.pop("label_noise") is None
    # Noisy gradients are table 14's, clean labels: their clipping is all that a scale may change.
    assert set(noisy.pop("modifiers")) == {"lsr"} and set(clean.pop("modifiers")) <= {"dp"}
    assert clean.pop("surrogate")["clusters"] == 1 and noisy.pop("surrogate") is None
    assert noisy == clean


@pytest.mark.parametrize("scale", ("paper", "small"))
def test_narrower_and_wider_networks_have_half_and_twice_the_widths(root, scale):
    settings = load(root, scale).settings
    widths = {
        name: [*model.get("channels", []), *model["hidden"]]
        for name in ("", "_narrow", "_wide")
        if (model := settings[f"fedeba_cifar10_cnn{name}"].model.options)
    }
    assert [2 * width for width in widths["_narrow"]] == widths[""]
    assert [width // 2 for width in widths["_wide"]] == widths[""]


@pytest.mark.parametrize("scale", ("small", "quick"))
def test_what_no_mirror_has_stands_in_by_name(root, scale):
    settings = load(root, scale).settings
    for name in ("fedeba_cifar100_resnet18_dir0.1", "fedeba_reddit_lstm"):
        assert settings[name].data.stands_in_for in ("cifar100", "reddit")
    assert settings["fedeba_toy"] == load(root).settings["fedeba_toy"]  # the paper's own, at every scale


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
