"""FOCUS: what its settings, tables and reported numbers say of each other, at every scale."""

import pytest

from fairfl.experiments.workload import load_workload

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
