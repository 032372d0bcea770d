"""FOCUS: what its settings, tables and reported numbers say of each other, at every scale."""

import csv

import pytest

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import load_workload
from fairfl.judgement.cells import MEASURED_KINDS

SCALES = ("full", "small", "quick")


def load(root, scale="full"):
    return load_workload(root, {"papers": ["focus"], "scale": scale})


@pytest.mark.parametrize("scale", SCALES)
def test_clients_of_the_clusters_add_up_and_each_cluster_has_a_surrogate(root, scale):
    for name, setting in load(root, scale).settings.items():
        sizes = setting.partition.options.get("clients")
        assert sizes is None or sum(sizes) == setting.clients == setting.clients_per_round, name
        # FEMNIST's true clusters are not known, whatever stands in for it: one surrogate for all.
        known = {
            "focus_femnist_204": 1,
            **dict.fromkeys(("focus_synthetic_10", "focus_synthetic_10_few", "focus_synthetic_10_equal"), 2),
        }
        assert setting.surrogate.clusters == known.get(name, sizes and len(sizes)), name


@pytest.mark.parametrize("scale", ("small", "quick"))
def test_scales_keep_the_clusters_of_the_paper(root, scale):
    paper, scaled = load(root).settings, load(root, scale).settings
    other = {name for name in paper if paper[name].partition != scaled[name].partition}
    assert other == {"focus_femnist_204"} | ({"focus_rotated_mnist_100"} if scale == "quick" else set())
    theirs, ours = (settings["focus_rotated_mnist_100"].partition.options for settings in (paper, scaled))
    assert ours["angles"] == theirs["angles"]
    shares = [[count / sum(options["clients"]) for count in options["clients"]] for options in (theirs, ours)]
    assert shares[0] == shares[1]


def test_every_printed_number_has_its_cell_and_every_cell_of_a_table_its_number(root):
    """But numbers that are said in the text beside a figure, and the time per model, which only we have."""
    workload = load(root)
    for key, artifact in workload.papers["focus"].artifacts.items():
        path = root / f"papers/reported/focus/{key}.csv"
        if artifact.kind not in MEASURED_KINDS or not path.is_file():
            continue
        with path.open(newline="") as file:
            printed = {
                (row["setting"], Variant.from_csv(row["algorithm"], row["hyperparameters"]), row["metric"])
                for row in csv.DictReader(file)
            }
        if artifact.kind == "table":
            assert printed == {cell for cell in cells(artifact) if cell[2] != "train_seconds_per_model"}, key
        assert {cell[0] for cell in printed} <= set(artifact.settings)


def cells(artifact):
    """(setting, variant, metric); a nameless variant where a number belongs to the setting."""
    found = set()
    for setting in artifact.settings:
        for metric in artifact.columns_in.get(setting, artifact.columns):
            variants = [row.variant for row in artifact.rows_in(setting)]
            found |= {(setting, variant, metric) for variant in variants or [Variant("", {})]}
    return found
