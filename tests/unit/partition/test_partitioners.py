"""Partitioners by owner, by domain, by a mixture for each client (LDA, Hsu et al. 2019) and by rotation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from fairfl.partition import by_client, by_domain, dirichlet_by_client, rotation_clusters
from fairfl.partition.cut import cut
from fairfl.partition.deal import table_of
from fairfl.partition.interface import PartitionError, Table
from tests.unit.partition.partition_tables import rng, table

# -- by_client
# Owner of each row: 7 has four rows and comes first, then 2 with two, 9 with three, 5 with one.
OWNERS = np.array([7, 2, 7, 9, 9, 7, 2, 5, 9, 7])


def to_owners(clients, owners=OWNERS, seed=0, **options):
    owners = None if owners is None else np.asarray(owners)
    columns = {"labels": np.zeros(10, int), "groups": np.arange(10)} | ({} if owners is None else {"client": owners})
    table, _ = table_of(columns, None, rng(seed))
    return by_client.assign(table, clients, by_client.Config(**options), rng(seed))


def rows(*arguments, **options):
    return [own.tolist() for own in to_owners(*arguments, **options).rows]


def test_the_first_owners_with_all_their_rows_in_stored_order():
    assert rows(3) == [[0, 2, 5, 9], [1, 6], [3, 4, 8]]
    assert rows(4) == [[0, 2, 5, 9], [1, 6], [3, 4, 8], [7]]
    assert to_owners(3).remarks == ["3 of 4 owners: first"]
    assert to_owners(3).changed == ["3 of 4 owners take part, the first"] and to_owners(4).changed == []


def test_owners_of_another_size_are_passed_over():
    assert rows(2, min_samples=3) == [[0, 2, 5, 9], [3, 4, 8]]
    assert rows(2, min_samples=2, max_samples=3) == [[1, 6], [3, 4, 8]]
    drawn = to_owners(1, choose="random", min_samples=2, max_samples=3)
    assert drawn.changed == ["1 of 4 owners take part, a draw of 2 with 2 to 3 samples"]


def test_impossible_numbers_of_samples():
    with pytest.raises(ValueError, match="max_samples 4 is less than min_samples 5"):
        by_client.Config(min_samples=5, max_samples=4)


# -- by_domain
def of_domains(domain, test=None):
    rows = len(domain)
    official = None if test is None else np.array(test, dtype=bool)
    labels = np.arange(rows) % 2
    return Table(labels, np.arange(rows), official_test=official, domain=np.array(domain))


def test_the_sizes_of_focus():
    """56,000 training and 38,000 test reviews over seven, 25,000 and 25,000 over three clients."""
    domain, test = np.repeat([0, 1, 0, 1], [56_000, 25_000, 38_000, 25_000]), np.repeat([0, 1], [81_000, 63_000])
    data = of_domains(domain, test)
    dealt = by_domain.assign(data, 10, by_domain.Config(), rng())
    assert dealt.clusters == [0] * 7 + [1] * 3
    split = {"order": "official", "train": 1.0, "validation": 0.0, "test": 0.0}
    parts = [cut(rows, data, split, rng()) for rows in dealt.rows]
    assert [int((part == 0).sum()) for part in parts] == [8000] * 7 + [8334, 8333, 8333]
    assert [int((part == 2).sum()) for part in parts] == [5429] * 4 + [5428] * 3 + [8334, 8333, 8333]


@pytest.mark.parametrize(
    ("data", "clients", "message"),
    [
        (of_domains([0, 0, 1]), [2, 2], r"by_domain has \[2, 2\], 4 clients in all, the setting asks for 3"),
        (of_domains([0, 0, 2]), [2, 1], r"for the domains 0 to 1, the data have \[0, 2\]"),
        (of_domains([0, 0, 0]), [2, 1], r"for the domains 0 to 1, the data have \[0\]"),
        (Table(np.zeros(3), np.arange(3)), [2, 1], "needs data of several sources"),
    ],
)
def test_impossible_domains(data, clients, message):
    with pytest.raises(PartitionError, match=message):
        by_domain.assign(data, 3, by_domain.Config(clients=clients), rng())


# -- dirichlet_by_client
def mixed(labels, clients, alpha, seed=0):
    return dirichlet_by_client.assign(table(labels), clients, dirichlet_by_client.Config(alpha=alpha), rng(seed))


@settings(max_examples=50)
@given(st.integers(10, 200), st.integers(1, 10), st.floats(1e-6, 5000), st.integers(1, 12), st.integers(0, 2**31))
def test_equal_sizes_of_different_samples(samples, clients, alpha, classes, seed):
    labels = rng(seed).integers(0, classes, samples)
    dealt = mixed(labels, clients, alpha, seed)
    assert [len(own) for own in dealt.rows] == [samples // clients] * clients
    joined = np.concatenate(dealt.rows)
    assert len(np.unique(joined)) == len(joined)
    assert all((np.diff(own) > 0).all() for own in dealt.rows)
    left = samples % clients
    expected = [f"{left} samples are left over from equal shares of {samples // clients}"] if left else []
    assert dealt.remarks == dealt.changed == expected


def test_a_mixture_that_has_underflowed_is_drawn_for_the_classes_that_are_left():
    """Dir(1000, 3000) is nearly (1/4, 3/4), Dir(1e-5, 1e-5) nearly (1, 0) or (0, 1)."""
    q, left = np.array([1.0, 0.0, 0.0]), np.array([2, 90, 90])
    drawn = [dirichlet_by_client.counts(q, np.array([9.0, 1000.0, 3000.0]), left, 42, rng(seed)) for seed in range(40)]
    assert {own[0] for own in drawn} == {2}
    assert np.mean(drawn, axis=0)[1] == pytest.approx(10, abs=1.5)
    seen = {tuple(dirichlet_by_client.counts(q, np.full(3, 1e-5), left, 42, rng(seed)).tolist()) for seed in range(20)}
    assert seen == {(2, 40, 0), (2, 0, 40)}


def test_impossible_mixtures():
    with pytest.raises(PartitionError, match="3 samples are too few for 4 clients"):
        mixed([0, 1, 2], 4, 0.5)
    with pytest.raises(PartitionError, match="texts, which have no class"):
        mixed(np.zeros((30, 4), int), 3, 0.5)
    with pytest.raises(ValueError, match="alpha"):
        dirichlet_by_client.Config(alpha=0)


# -- rotation_clusters
FOCUS = {"angles": [0, 90, 180], "clients": [7, 2, 1]}


def images(train, test=0):
    official = np.arange(train + test) >= train if test else None
    return Table(np.zeros(train + test, int), np.arange(train + test), official_test=official)


@pytest.mark.parametrize(("options", "own", "other"), [({}, 10, 0), ({"mixture": 0.8}, 8, 1)])
def test_shares_of_the_paper(options, own, other):
    """60,000 and 10,000 images, ten agents: 6000 and 1000 each, so many tenths turned as its cluster is."""
    data = images(60_000, 10_000)
    dealt = rotation_clusters.assign(data, 10, rotation_clusters.Config(**FOCUS, **options), rng())
    assert dealt.clusters == [0] * 7 + [1] * 2 + [2]
    assert np.array_equal(np.sort(np.concatenate(dealt.rows)), np.arange(70_000))
    for cluster, rows, turns in zip(dealt.clusters, dealt.rows, dealt.turns, strict=True):
        test = data.official_test[rows]
        for part, tenth in ((~test, 600), (test, 100)):
            expected = [own * tenth if turn == cluster else other * tenth for turn in range(3)]
            assert np.bincount(turns[part], minlength=3).tolist() == expected and (np.diff(rows) > 0).all()
        random = not other or abs(np.corrcoef(np.arange(7000), turns != cluster)[0, 1]) < 0.06
        assert random, "turned images are a random choice, not the first of a client"


def test_the_quarter_turns_are_those_of_the_angles():
    dealt = rotation_clusters.assign(
        images(8), 4, rotation_clusters.Config(angles=[180, 0, 270, 90], clients=[1, 1, 1, 1]), rng()
    )
    assert [turns.tolist() for turns in dealt.turns] == [[2, 2], [0, 0], [3, 3], [1, 1]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"angles": [0, 45, 180]}, "angles.1"),
        ({"angles": [0, 90, 90]}, "90 is given twice"),
        ({"clients": [7, 3]}, r"\[7, 3\] are 2 clusters, angles \[0, 90, 180\] are 3"),
        ({"clients": [7, 3, 0]}, "clients.2"),
        ({"mixture": 0.0}, "mixture"),
    ],
)
def test_wrong_options_of_rotations_are_named(changes, words):
    with pytest.raises(ValidationError, match=words):
        rotation_clusters.Config(**FOCUS | changes)
