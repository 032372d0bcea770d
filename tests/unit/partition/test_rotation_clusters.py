"""Rotated clusters: even shares, exact numbers of images at each angle, true clusters, what cannot be."""

import numpy as np
import pytest
from pydantic import ValidationError

from fairfl.partition.interface import Table
from fairfl.partition.rotation_clusters import Config, assign
from tests.unit.partition.partition_tables import rng

FOCUS = {"angles": [0, 90, 180], "clients": [7, 2, 1]}


def images(train, test=0):
    official = np.arange(train + test) >= train if test else None
    return Table(np.zeros(train + test, int), np.arange(train + test), official_test=official)


@pytest.mark.parametrize(("options", "own", "other"), [({}, 10, 0), ({"mixture": 0.8}, 8, 1)])
def test_shares_of_the_paper(options, own, other):
    """60,000 and 10,000 images, ten agents: 6000 and 1000 each, so many tenths turned as its cluster is."""
    data = images(60_000, 10_000)
    dealt = assign(data, 10, Config(**FOCUS, **options), rng())
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
    dealt = assign(images(8), 4, Config(angles=[180, 0, 270, 90], clients=[1, 1, 1, 1]), rng())
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
def test_wrong_options_are_named(changes, words):
    with pytest.raises(ValidationError, match=words):
        Config(**FOCUS | changes)
