"""Partitioners and their job: invariants over random inputs, worked examples, impossible demands."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfl.experiments.parts import Split
from fairfl.partition import ambiguous_fraction, by_class, dirichlet_by_class, label_shards, plain, unequal_sizes
from fairfl.partition.deal import PartitionSpec, described, partition, parts_of, statistics
from fairfl.partition.interface import Assignment, PartitionError
from fairfl.partition.label_noise import flipped
from tests.unit.partition.partition_tables import job, rng, table


def disjoint(rows, total):
    joined = np.concatenate(rows)
    assert len(np.unique(joined)) == len(joined) == total


FAIRFL = {"rounding": "per_share", "shuffle": False, "legacy_seed": 0, "min_samples": 1}
RULES = {
    "shards": (label_shards, {}),
    "three_shards": (label_shards, {"shards_per_client": 3}),
    "dirichlet": (dirichlet_by_class, {"alpha": 0.5, "min_samples": 1}),
    "fairfl": (dirichlet_by_class, {"alpha": 0.5} | FAIRFL),
    "by_class": (by_class, {}),
    "plain": (plain, {}),
    "sizes": (unequal_sizes, {"alpha": 0.5, "min_samples": 1}),
}
# by_class draws nothing, the public rule has a seed of its own.
DRAWN = ["shards", "three_shards", "dirichlet", "plain", "sizes"]


def dealt(rule, labels, clients, seed):
    module, options = RULES[rule]
    return module.assign(table(labels), clients, module.Config(**options), rng(seed)).rows


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=25, deadline=None)
@given(clients=st.integers(1, 9), seed=st.integers(0, 2**31))
def test_every_rule_deals_each_row_once_and_in_stored_order(rule, clients, seed):
    draw = rng(seed)
    count = int(draw.integers(40, 200))
    labels = draw.permutation(np.arange(count) % clients)
    rows = dealt(rule, labels, clients, seed)
    shards = RULES[rule][1].get("shards_per_client", 2) * clients
    disjoint(rows, count // shards * shards if "shards" in rule else count)
    assert len(rows) == clients
    assert all((np.diff(own) > 0).all() for own in rows)
    assert same(rows, dealt(rule, labels, clients, seed))
    assert same(rows, dealt(rule, labels, clients, seed + 1)) == (rule not in DRAWN or clients == 1)


@pytest.mark.parametrize("rule", ["shards", "dirichlet", "fairfl", "by_class"])
def test_rules_by_class_refuse_texts(rule):
    with pytest.raises(PartitionError, match="texts, which have no class"):
        dealt(rule, np.zeros((30, 4), int), 3, 0)


def test_a_draw_in_which_a_client_has_just_enough_counts():
    config = dirichlet_by_class.Config(alpha=1e6, min_samples=10, max_draws=1)
    assignment = dirichlet_by_class.assign(table(np.zeros(20, int)), 2, config, rng(1))
    assert [len(rows) for rows in assignment.rows] == [10, 10] and assignment.remarks[0].startswith("draw 1 ")


def test_tiny_alpha_ends_and_says_what_it_did():
    config = dirichlet_by_class.Config(alpha=1e-4, min_samples=10, max_draws=5)
    assignment = dirichlet_by_class.assign(table(np.zeros(200, int)), 10, config, rng())
    assert min(map(len, assignment.rows)) == 10
    assert "none of 5 draws" in assignment.remarks[0]
    other = dirichlet_by_class.assign(table(np.zeros(200, int)), 10, config, rng(1))
    assert assignment.changed == other.changed, "seeds say it alike"
    assert assignment.changed[0].startswith("none of 5 draws gave every client 10 samples: the poorest clients got")


Q = np.array([0.05, 0.35, 0.6])


def test_cumulative_shares_are_floored_once():
    assert list(dirichlet_by_class.cumulative(Q, 10, rng())) == [0, 4, 6]


@pytest.mark.parametrize(
    ("classes", "train", "sizes", "smallest", "largest"),
    [
        (100, 0.8, [39_445, 10_555], 279, 2017),  # CIFAR-100, VRed table 2
        (10, 0.5, [24_957, 25_043], 11, 3850),  # CIFAR-10; table 2 has 24,959 and 25,041
    ],
)
@pytest.mark.parametrize("stored", ["sorted", "mixed"])
def test_the_public_rule_deals_what_vred_counts(classes, train, sizes, smallest, largest, stored):
    labels = np.repeat(np.arange(classes), 50_000 // classes)
    spec_of_vred = spec(
        clients=50,
        partition={"name": "dirichlet_by_class", "alpha": 0.05} | FAIRFL,
        split={"train": train, "validation": 0.0, "test": 1 - train, "order": "stored_by_class"},
        seed=2,
    )
    data = {"labels": labels if stored == "sorted" else rng().permutation(labels), "groups": np.arange(50_000)}
    columns, assignment = partition(spec_of_vred, data)
    assert [(columns["part"] == part).sum() for part in (0, 1, 2)] == [sizes[0], 0, sizes[1]]
    of_clients = np.bincount(columns["client"])
    assert (of_clients.min(), of_clients.max()) == (smallest, largest)
    assert assignment.remarks == ["draw 1 gave every client 1 samples"] and not assignment.changed


def test_plain_takes_the_clients_of_the_data():
    rows = plain.assign(table([0, 1, 0, 1], client=np.array([1, 0, 1, 0])), 2, plain.Config(), rng()).rows
    assert [list(r) for r in rows] == [[1, 3], [0, 2]]
    with pytest.raises(PartitionError, match="2 clients, the setting asks for 3"):
        plain.assign(table([0, 1], client=np.array([0, 1])), 3, plain.Config(), rng())


def test_ambiguous_fractions_are_exact():
    groups = np.concatenate([np.arange(300), 300 + np.repeat(np.arange(20), 10)])
    data = table(np.zeros(500, int), groups, np.arange(500) >= 300)
    config = ambiguous_fraction.Config(fractions=[0, 0.5, 1], per_client=60)
    rows = ambiguous_fraction.assign(data, 3, config, rng()).rows
    disjoint(rows, 180)
    assert [int(data.ambiguous[r].sum()) for r in rows] == [0, 30, 60]


def test_label_shards_example():
    pieces = label_shards.shards(np.array([0, 1, 0, 1, 2, 2, 0, 1]), 2, 2)
    assert [list(p) for p in pieces] == [[0, 2], [6, 1], [3, 7], [4, 5]]


def test_the_end_of_the_sorted_list_is_dropped_and_told():
    """Eleven samples, two clients of two shards: shards of two, the last three samples are left."""
    labels = np.array([3, 0, 0, 1, 1, 1, 2, 2, 3, 3, 2])
    assignment = label_shards.assign(table(labels), 2, label_shards.Config(), rng())
    assert sorted(np.concatenate(assignment.rows)) == [1, 2, 3, 4, 5, 6, 7, 10]
    assert assignment.remarks == assignment.changed == ["3 samples of the highest labels fill no shard and are dropped"]
    whole = label_shards.assign(table(labels[:8]), 2, label_shards.Config(), rng())
    assert whole.remarks == whole.changed == []


def test_one_class_per_client():
    rows = by_class.assign(table([2, 0, 1, 0, 2]), 3, by_class.Config(), rng()).rows
    assert [own.tolist() for own in rows] == [[1, 3], [2], [0, 4]]


def spec(**changes):
    return PartitionSpec(**job(**{"partition": {"name": "dirichlet_by_class", "alpha": 0.5}} | changes))


def test_a_client_without_training_samples_is_refused():
    """One sample of each class: by class, the floor of a half is nothing."""
    split = {"train": 0.5, "validation": 0.0, "test": 0.5, "order": "stored_by_class"}
    with pytest.raises(
        PartitionError, match="client 1 of 2 got no training sample: its 3 are too few for split.train 0.5"
    ):
        parts_of(Assignment([np.array([0, 1]), np.array([2, 3, 4])]), table([0, 0, 0, 1, 2]), Split(**split), rng())


def test_more_samples_than_there_are():
    with pytest.raises(PartitionError, match="samples is 301, the data set has only 300"):
        partition(spec(samples=301), {"labels": np.zeros(300, int), "groups": np.arange(300)})


def test_true_clusters_are_those_of_the_owners_that_take_part():
    """Owners 3, 0 and 2 of four; what is left of the clusters is numbered from 0."""
    owners, metadata = np.array([0, 1, 2, 3, 0, 2]), {"clusters": "[5, 7, 5, 9]"}
    columns = {"client": np.array([0, 1, 1, 2, 2]), "row": np.array([3, 0, 4, 2, 5])}
    found = described(Assignment([]), metadata, columns, owners)
    assert found == {"clusters": "[1, 0, 0]"}
    mixed = columns | {"row": np.array([3, 0, 1, 2, 5])}
    assert described(Assignment([]), metadata, mixed, owners) == {}


def test_a_client_is_the_same_owner_in_every_seed():
    """North has the first row of all, west the last; a draw may begin with any of them."""
    owners = np.array([2, *np.tile([0, 1, 2], 30)[:-1]])
    tensors = {"labels": np.zeros(90, int), "groups": np.arange(90), "client": owners}
    firsts, metadata = set(), {"owners": json.dumps(["south", "west", "north"])}
    for seed in range(6):
        asked = PartitionSpec(**job(samples=40, partition={"name": "by_client"}, clients=3, seed=seed))
        columns, assignment = partition(asked, tensors)
        firsts.add(int(owners[columns["row"].min()]))
        assert owners[columns["row"][columns["client"] == 0]].tolist() == [2] * (columns["client"] == 0).sum()
        said = described(assignment, metadata, columns, owners)
        assert said == {"owners": '["north", "south", "west"]', "changed": '["40 of their 90 samples take part"]'}
    assert len(firsts) > 1, "else the draws would say nothing"


# -- Symmetric label noise: probabilities, which labels it may touch, and how it reaches the engine.
def noise(ratio, **changes):
    return PartitionSpec(**job(label_noise={"ratio": ratio}, **changes))


def clean():
    return {"labels": np.arange(300) % 5, "groups": np.arange(300)}


@pytest.mark.parametrize("ratio", [0.3, 0.75])
def test_the_transition_matrix(ratio):
    """1 - r on the diagonal, r / (C - 1) beside it; with r = 3/4 and four classes all of it is 1/4."""
    labels = np.repeat(np.arange(4), 20_000)
    noisy = flipped(labels, ratio, 4, rng())
    matrix = np.stack([np.bincount(noisy[labels == c], minlength=4) for c in range(4)]) / 20_000
    np.testing.assert_allclose(matrix, (1 - ratio - ratio / 3) * np.eye(4) + ratio / 3, atol=0.015)


@pytest.mark.parametrize(
    ("labels", "classes", "kind"),
    [
        (np.zeros((3, 4), int), 5, "words to predict"),
        (np.zeros(3, np.float32), 1, "numbers to predict"),
        (np.zeros(3, int), 1, "only one"),
    ],
)
def test_what_has_no_classes_is_refused(labels, classes, kind):
    with pytest.raises(PartitionError, match=f"label_noise flips classes, and the samples have {kind}"):
        flipped(labels, 0.5, classes, rng())


def test_only_training_labels_change():
    data = clean()
    columns, assignment = partition(noise(0.5), data)
    wrong = columns["label"] != data["labels"][columns["row"]]
    train = columns["part"] == 0
    assert not wrong[~train].any() and 0.35 < wrong[train].mean() < 0.65
    assert assignment.remarks == [f"label noise: {wrong.sum()} of {train.sum()} training labels are wrong"]


def test_statistics_count_the_labels_that_are_used():
    data = clean()
    columns, assignment = partition(noise(1.0, clients=1), data)
    head, *lines = statistics(columns, data["labels"], assignment.remarks, "digits (stand-in for emnist)").splitlines()
    assert head == "client,part,samples,label_0,label_1,label_2,label_3,label_4,data,remarks" and len(lines) == 3
    counts = [int(number) for number in lines[0].split(",")[3:8]]
    assert counts == np.bincount(columns["label"][columns["part"] == 0], minlength=5).tolist()
    assert lines[0].endswith('digits (stand-in for emnist),"label noise: 180 of 180 training labels are wrong"')
