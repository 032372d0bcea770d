"""Partitioners, the cut and label noise: worked examples, numbers of the papers, promises of all rules, refusals."""

import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairfl.experiments.parts import Split
from fairfl.experiments.plugins import module
from fairfl.partition import dirichlet_by_class, dirichlet_by_client, label_shards
from fairfl.partition.cut import cut
from fairfl.partition.deal import PartitionSpec, described, partition, parts_of, statistics, table_of
from fairfl.partition.interface import Assignment, PartitionError
from fairfl.partition.label_noise import flipped
from tests.unit.partition.partition_tables import SPLIT, job, rng, table


def assigned(rule, data, count, seed=0, /, **options):
    method = module("partition", rule)
    return method.assign(data, count, method.Config(**options), rng(seed))


def spec(**changes):
    return PartitionSpec(**job(**changes))


def alike(count, **more):
    return table(np.zeros(count, int), **more)


# -- what every rule promises
FAIRFL = {"rounding": "per_share", "shuffle": False, "legacy_seed": 0, "min_samples": 1}
# Rule, options, whether seeds differ, and of how many rows of each client a rest has no owner.
RULES = [
    ("by_class", {}, False, 0),
    ("dirichlet_by_class", {"alpha": 0.5, "min_samples": 1}, True, 0),
    ("dirichlet_by_class", {"alpha": 0.5} | FAIRFL, False, 0),
    ("dirichlet_by_client", {"alpha": 0.5}, True, 1),
    ("dirichlet_by_client", {"alpha": 1e-6}, True, 1),
    ("label_shards", {}, True, 2),
    ("label_shards", {"shards_per_client": 3}, True, 3),
    ("plain", {}, True, 0),
    ("unequal_sizes", {"alpha": 0.5, "min_samples": 1}, True, 0),
]


@pytest.mark.parametrize(("rule", "options", "differs", "piece"), RULES)
@settings(max_examples=25)
@given(clients=st.integers(1, 9), seed=st.integers(0, 2**31))
def test_every_rule_deals_each_row_once_in_stored_order_and_names_what_is_left(
    rule, options, differs, piece, clients, seed
):
    draw = rng(seed)
    count = int(draw.integers(max(1, piece) * clients, 100))
    data = table(draw.permutation(np.arange(count) % clients))
    one, again, other = (assigned(rule, data, clients, s, **options) for s in (seed, seed, seed + 1))
    left = count % (clients * piece) if piece else 0
    rows = np.concatenate(one.rows)
    assert len(one.rows) == clients and len(np.unique(rows)) == len(rows) == count - left
    assert all((np.diff(own) > 0).all() for own in one.rows)
    assert np.array_equal(rows, np.concatenate(again.rows))
    sizes = [len(own) for own in one.rows]
    if piece:
        assert len(set(sizes)) == 1 and [said.split()[0] for said in one.changed] == [str(left)] * (left > 0)
    if count > 3 * clients > 9:  # few may well get the same by chance
        assert (not np.array_equal(rows, np.concatenate(other.rows))) == differs


# -- worked examples
# Owner of each row: 7 has four rows and comes first, then 2 with two, 9 with three, 5 with one.
OWNERS = table_of({"labels": np.zeros(10), "groups": np.arange(10), "client": np.array([7, 2, 7, 9, 9, 7, 2, 5, 9, 7])},
                  None, rng())[0]  # fmt: skip
SEVEN, TWO, NINE, FIVE = [0, 2, 5, 9], [1, 6], [3, 4, 8], [7]
# Rule, data, options, rows of each client, and what readers of a table must know.
WORKED = [
    ("by_class", table([2, 0, 1, 0, 2]), {}, [[1, 3], [2], [0, 4]], []),
    ("by_client", OWNERS, {}, [SEVEN, TWO, NINE], ["3 of 4 owners take part, the first"]),
    ("by_client", OWNERS, {}, [SEVEN, TWO, NINE, FIVE], []),
    ("by_client", OWNERS, {"min_samples": 3}, [SEVEN, NINE],
     ["2 of 4 owners take part, the first of 2 with 3 to 4 samples"]),
    ("by_client", OWNERS, {"min_samples": 2, "max_samples": 3, "choose": "random"}, [TWO, NINE],
     ["2 of 4 owners take part, a draw of 2 with 2 to 3 samples"]),
    ("plain", table([0, 1, 0, 1], client=np.array([1, 0, 1, 0])), {}, [[1, 3], [0, 2]], []),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "data", "options", "rows", "changed"), WORKED)
def test_worked_examples(rule, data, options, rows, changed):
    found = assigned(rule, data, len(rows), **options)
    assert ([own.tolist() for own in found.rows], found.changed) == (rows, changed)


def test_shards_are_cut_from_the_sorted_list_whose_end_is_dropped():
    pieces = label_shards.shards(np.array([0, 1, 0, 1, 2, 2, 0, 1]), 2, 2)
    assert [list(p) for p in pieces] == [[0, 2], [6, 1], [3, 7], [4, 5]]
    found = assigned("label_shards", table([3, 0, 0, 1, 1, 1, 2, 2, 3, 3, 2]), 2)
    assert sorted(np.concatenate(found.rows)) == [1, 2, 3, 4, 5, 6, 7, 10]
    assert found.remarks == found.changed == ["3 samples of the highest labels fill no shard and are dropped"]


def test_cumulative_shares_are_floored_once():
    assert list(dirichlet_by_class.cumulative(np.array([0.05, 0.35, 0.6]), 10, rng())) == [0, 4, 6]


def test_poor_clients_are_topped_up_after_the_last_draw_and_seeds_say_it_alike():
    enough = assigned("dirichlet_by_class", alike(20), 2, 1, alpha=1e6, min_samples=10, max_draws=1)
    assert [len(rows) for rows in enough.rows] == [10, 10] and enough.remarks[0].startswith("draw 1 ")
    one, other = (assigned("dirichlet_by_class", alike(200), 10, seed, alpha=1e-4, max_draws=5) for seed in (0, 1))
    assert min(map(len, one.rows)) == 10 and one.changed == other.changed
    assert one.changed[0].startswith("none of 5 draws gave every client 10 samples: the poorest clients got")


def test_a_mixture_that_has_underflowed_is_drawn_for_the_classes_that_are_left():
    """Dir(1000, 3000) is nearly (1/4, 3/4), Dir(1e-5, 1e-5) nearly (1, 0) or (0, 1)."""
    q, left = np.array([1.0, 0.0, 0.0]), np.array([2, 90, 90])
    drawn = [dirichlet_by_client.counts(q, np.array([9.0, 1000.0, 3000.0]), left, 42, rng(seed)) for seed in range(40)]
    assert {own[0] for own in drawn} == {2}
    assert np.mean(drawn, axis=0)[1] == pytest.approx(10, abs=1.5)
    seen = {tuple(dirichlet_by_client.counts(q, np.full(3, 1e-5), left, 42, rng(seed)).tolist()) for seed in range(20)}
    assert seen == {(2, 40, 0), (2, 0, 40)}


def test_ambiguous_fractions_are_exact():
    groups = np.concatenate([np.arange(300), 300 + np.repeat(np.arange(20), 10)])
    data = alike(500, groups=groups, ambiguous=np.arange(500) >= 300)
    rows = assigned("ambiguous_fraction", data, 3, fractions=[0, 0.5, 1], per_client=60).rows
    assert [int(data.ambiguous[r].sum()) for r in rows] == [0, 30, 60]
    assert len(np.unique(np.concatenate(rows))) == 180


# -- numbers of the papers
@pytest.mark.parametrize(
    ("classes", "stored", "train", "sizes", "smallest", "largest"),
    [
        (100, "sorted", 0.8, [39_445, 10_555], 279, 2017),  # CIFAR-100, VRed table 2
        (10, "mixed", 0.5, [24_957, 25_043], 11, 3850),  # CIFAR-10; table 2 has 24,959 and 25,041
    ],
)
def test_the_public_rule_deals_what_vred_counts(classes, stored, train, sizes, smallest, largest):
    labels = np.repeat(np.arange(classes), 50_000 // classes)
    data = {"labels": labels if stored == "sorted" else rng().permutation(labels), "groups": np.arange(50_000)}
    method = {"name": "dirichlet_by_class", "alpha": 0.05} | FAIRFL
    split = {"train": train, "validation": 0.0, "test": 1 - train, "order": "stored_by_class"}
    columns, _ = partition(spec(clients=50, partition=method, split=split, seed=2), data)
    assert np.bincount(columns["part"])[[0, 2]].tolist() == sizes
    of_clients = np.bincount(columns["client"])
    assert (of_clients.min(), of_clients.max()) == (smallest, largest)


def test_the_sizes_of_focus():
    """56,000 training and 38,000 test reviews over seven, 25,000 and 25,000 over three clients."""
    domain, test = np.repeat([0, 1, 0, 1], [56_000, 25_000, 38_000, 25_000]), np.repeat([False, True], [81_000, 63_000])
    data = alike(144_000, domain=domain, official_test=test)
    found = assigned("by_domain", data, 10)
    assert found.clusters == [0] * 7 + [1] * 3
    split = {"order": "official", "train": 1.0, "validation": 0.0, "test": 0.0}
    parts = [np.bincount(cut(rows, data, split, rng())).tolist() for rows in found.rows]
    assert parts == [[8000, 0, 5429]] * 4 + [[8000, 0, 5428]] * 3 + [[8334, 0, 8334]] + [[8333, 0, 8333]] * 2


@pytest.mark.parametrize(("options", "own", "other"), [({}, 10, 0), ({"mixture": 0.8}, 8, 1)])
def test_turned_shares_of_focus(options, own, other):
    """60,000 and 10,000 images, ten agents: 6000 and 1000 each, so many tenths turned as its cluster is."""
    data = alike(70_000, official_test=np.arange(70_000) >= 60_000)
    found = assigned("rotation_clusters", data, 10, angles=[180, 0, 270], clients=[7, 2, 1], **options)
    assert found.clusters == [0] * 7 + [1] * 2 + [2]
    for cluster, rows, turns in zip(found.clusters, found.rows, found.turns, strict=True):
        expected = [other * 100] * 3
        expected[cluster] = own * 100
        test = data.official_test[rows]
        assert np.bincount(turns[test], minlength=4)[[2, 0, 3]].tolist() == expected
        assert np.bincount(turns[~test], minlength=4)[[2, 0, 3]].tolist() == [6 * count for count in expected]
        if other:  # a random choice, not the first of a client
            assert abs(np.corrcoef(np.arange(7000), turns != [2, 0, 3][cluster])[0, 1]) < 0.06


# -- the cut of one client's samples
HALF = {"train": 0.5, "validation": 0.0, "test": 0.5, "order": "stored_one_more"}
# By class: 5, 3 and 1 rows; floor(0.8 n) are 4, 2, 0 and floor(0.75 of them) 3, 1, 0.
CUTS = [
    ([0] * 10, SPLIT | {"order": "stored"}, [0] * 6 + [1] * 2 + [2] * 2),
    ([0] * 11, HALF, [0] * 7 + [2] * 4),
    ([0] * 10, HALF, [0] * 6 + [2] * 4),
    ([0] * 2, HALF, [0] * 2),
    ([0] * 11, HALF | {"train": 0.4, "validation": 0.1}, [0] * 5 + [1] * 2 + [2] * 4),  # held out of the same seven
    ([0, 1, 0, 2, 0, 1, 0, 1, 0], SPLIT | {"order": "stored_by_class"}, [0, 0, 0, 2, 0, 1, 1, 2, 2]),
]


@pytest.mark.parametrize(("labels", "split", "parts"), CUTS)
def test_cuts_of_stored_samples(labels, split, parts):
    assert cut(np.arange(len(labels)), table(labels), split, rng()).tolist() == parts


@pytest.mark.parametrize("order", ["shuffled", "stored"])
@settings(max_examples=50)
@given(st.integers(3, 40), st.integers(0, 1000))
def test_cut_keeps_groups_together(order, images, seed):
    groups = np.repeat(np.arange(images), 10)
    parts = cut(np.arange(len(groups)), alike(len(groups), groups=groups), SPLIT | {"order": order}, rng(seed))
    assert all(len(set(parts[groups == g])) == 1 for g in range(images))
    assert set(parts) == {0, 1, 2}


def by_middle_rows(sizes, fractions):
    """Part of each group of `sizes` rows, by its middle row; then, one after the other, parts take what they lack."""
    middle = (np.cumsum(sizes) - np.array(sizes) / 2) / sum(sizes)
    parts = np.searchsorted(np.cumsum(fractions)[:-1], middle, side="right")
    for part in range(len(fractions)):
        if len(sizes) >= len(fractions) and part not in parts:
            parts[min(np.searchsorted(parts, part), len(sizes) - len(fractions) + part)] = part
    return parts


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=15) | st.integers(1, 15).map(lambda n: [1] * n),
    st.sampled_from([(0.8, 0.1, 0.1), (0.7, 0.15, 0.15), (0.9, 0.05, 0.05), (0.6, 0.2, 0.2), (0.1, 0.1, 0.8)]),
)
@example([1, 1, 1], (0.8, 0.1, 0.1))
@example([1, 5, 23, 3, 18, 21, 2, 24], (0.8, 0.1, 0.1))
def test_every_part_has_a_group_and_what_was_complete_stays(sizes, fractions):
    split = dict(zip(("train", "validation", "test"), fractions, strict=True), order="stored")
    groups = np.repeat(np.arange(len(sizes)), sizes)
    parts = cut(np.arange(len(groups)), alike(len(groups), groups=groups), split, rng())
    before = by_middle_rows(sizes, fractions)
    assert (np.diff(parts) >= 0).all()
    if len(sizes) >= 3:
        assert {*parts} == {0, 1, 2}
    if len(sizes) < 3 or {*before} == {0, 1, 2}:
        assert parts.tolist() == before[groups].tolist()


# -- what cannot be
TEXTS, TWICE = table(np.zeros((30, 4), int)), table([0, 1, 1], [0, 0, 1])
REFUSED = [
    *((rule, TEXTS, {"alpha": 0.5} if "dirichlet" in rule else {}, "texts, which have no class")
      for rule in ("by_class", "dirichlet_by_class", "dirichlet_by_client", "label_shards")),
    ("by_domain", alike(3, domain=np.array([0, 0, 1])), {"clients": [2, 2]},
     r"by_domain has \[2, 2\], 4 clients in all, the setting asks for 3"),
    ("by_domain", alike(3, domain=np.array([0, 0, 2])), {"clients": [2, 1]},
     r"for the domains 0 to 1, the data have \[0, 2\]"),
    ("by_domain", alike(3), {}, "needs data of several sources"),
    ("dirichlet_by_client", table([0, 1]), {"alpha": 0.5}, "2 samples are too few for 3 clients"),
    ("plain", table([0, 1], client=np.array([0, 1])), {}, "2 clients, the setting asks for 3"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "data", "options", "words"), REFUSED)
def test_impossible_partitions_are_refused(rule, data, options, words):
    with pytest.raises(PartitionError, match=words):
        assigned(rule, data, 3, **options)


@pytest.mark.parametrize(
    ("data", "order", "words"),
    [
        (TWICE, "stored_by_class", "stored_by_class cuts row by row"),
        (TWICE, "stored_one_more", "stored_one_more cuts row by row"),
        (alike(3), "official", "a test part of their own"),
        (table([0, 0, 1]), "stored_by_class", "client 0 of 1 got no training sample: its 3 are too few for"),
    ],
)  # fmt: skip
def test_impossible_cuts_are_refused(data, order, words):
    test = 0.0 if order == "official" else 0.5
    split = Split(train=0.3, validation=0.7 - test, test=test, order=order)
    with pytest.raises(PartitionError, match=words):
        parts_of(Assignment([np.arange(3)]), data, split, rng())


# -- what the file says beside its rows
def test_true_clusters_are_those_of_the_owners_that_take_part():
    """Owners 3, 0 and 2 of four; what is left of the clusters is numbered from 0."""
    owners, metadata = np.array([0, 1, 2, 3, 0, 2]), {"clusters": "[5, 7, 5, 9]"}
    columns = {"client": np.array([0, 1, 1, 2, 2]), "row": np.array([3, 0, 4, 2, 5])}
    assert described(Assignment([]), metadata, columns, owners) == {"clusters": "[1, 0, 0]"}
    mixed = columns | {"row": np.array([3, 0, 1, 2, 5])}
    assert described(Assignment([]), metadata, mixed, owners) == {}


def test_a_client_is_the_same_owner_in_every_seed():
    """North has the first row of all, west the last; a draw may begin with any of them."""
    owners = np.array([2, *np.tile([0, 1, 2], 30)[:-1]])
    tensors = {"labels": np.zeros(90, int), "groups": np.arange(90), "client": owners}
    firsts, metadata = set(), {"owners": json.dumps(["south", "west", "north"])}
    for seed in range(6):
        columns, found = partition(spec(samples=40, partition={"name": "by_client"}, clients=3, seed=seed), tensors)
        firsts.add(int(owners[columns["row"].min()]))
        said = described(found, metadata, columns, owners)
        assert said == {"owners": '["north", "south", "west"]', "changed": '["40 of their 90 samples take part"]'}
    assert len(firsts) > 1, "else the draws would say nothing"


# -- symmetric label noise
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


def test_only_training_labels_change_and_statistics_count_those_that_are_used():
    data = {"labels": np.arange(300) % 5, "groups": np.arange(300)}
    columns, found = partition(spec(label_noise={"ratio": 0.5}, clients=1), data)
    wrong, train = columns["label"] != data["labels"][columns["row"]], columns["part"] == 0
    assert not wrong[~train].any() and 0.35 < wrong[train].mean() < 0.65
    remark = f"label noise: {wrong.sum()} of 180 training labels are wrong"
    assert found.remarks == [remark]
    head, *lines = statistics(columns, data["labels"], found.remarks, "digits (stand-in for emnist)").splitlines()
    assert head == "client,part,samples,label_0,label_1,label_2,label_3,label_4,data,remarks" and len(lines) == 3
    counts = ",".join(map(str, np.bincount(columns["label"][train], minlength=5)))
    assert lines[0] == f'0,train,180,{counts},digits (stand-in for emnist),"{remark}"'
