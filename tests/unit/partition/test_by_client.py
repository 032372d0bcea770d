"""Clients that are owners of the data."""

import numpy as np
import pytest

from fairfl.partition import by_client
from fairfl.partition.interface import Table

# Owner of each row: 7 has four rows and comes first, then 2 with two, 9 with three, 5 with one.
OWNERS = np.array([7, 2, 7, 9, 9, 7, 2, 5, 9, 7])


def assign(clients, owners=OWNERS, seed=0, **options):
    owners = None if owners is None else np.asarray(owners)
    table = Table(np.zeros(10, int), np.arange(10), client=owners)
    return by_client.assign(table, clients, by_client.Config(**options), np.random.default_rng(seed))


def rows(*arguments, **options):
    return [own.tolist() for own in assign(*arguments, **options).rows]


def test_the_first_owners_with_all_their_rows_in_stored_order():
    assert rows(3) == [[0, 2, 5, 9], [1, 6], [3, 4, 8]]
    assert rows(4) == [[0, 2, 5, 9], [1, 6], [3, 4, 8], [7]]
    assert assign(3).remarks == ["3 of 4 owners: first"]
    assert assign(3).changed == ["3 of 4 owners take part, the first"] and assign(4).changed == []


def test_owners_of_another_size_are_passed_over():
    assert rows(2, min_samples=3) == [[0, 2, 5, 9], [3, 4, 8]]
    assert rows(2, min_samples=2, max_samples=3) == [[1, 6], [3, 4, 8]]
    drawn = assign(1, choose="random", min_samples=2, max_samples=3)
    assert drawn.changed == ["1 of 4 owners take part, a draw of 2 with 2 to 3 samples"]


def test_impossible_options():
    with pytest.raises(ValueError, match="max_samples 4 is less than min_samples 5"):
        by_client.Config(min_samples=5, max_samples=4)
