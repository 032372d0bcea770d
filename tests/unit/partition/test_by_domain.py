"""by_domain: who gets which rows, and the clusters."""

import numpy as np
import pytest

from fairfl.partition import by_domain
from fairfl.partition.cut import cut
from fairfl.partition.interface import PartitionError, Table


def table(domain, test=None):
    rows = len(domain)
    official = None if test is None else np.array(test, dtype=bool)
    labels = np.arange(rows) % 2
    return Table(labels, np.arange(rows), official_test=official, domain=np.array(domain))


def test_the_sizes_of_focus():
    """56,000 training and 38,000 test reviews over seven, 25,000 and 25,000 over three clients."""
    domain, test = np.repeat([0, 1, 0, 1], [56_000, 25_000, 38_000, 25_000]), np.repeat([0, 1], [81_000, 63_000])
    data = table(domain, test)
    dealt = by_domain.assign(data, 10, by_domain.Config(), np.random.default_rng(0))
    assert dealt.clusters == [0] * 7 + [1] * 3
    split = {"order": "official", "train": 1.0, "validation": 0.0, "test": 0.0}
    parts = [cut(rows, data, split, np.random.default_rng(0)) for rows in dealt.rows]
    assert [int((part == 0).sum()) for part in parts] == [8000] * 7 + [8334, 8333, 8333]
    assert [int((part == 2).sum()) for part in parts] == [5429] * 4 + [5428] * 3 + [8334, 8333, 8333]


@pytest.mark.parametrize(
    ("data", "clients", "message"),
    [
        (table([0, 0, 1]), [2, 2], r"by_domain has \[2, 2\], 4 clients in all, the setting asks for 3"),
        (table([0, 0, 2]), [2, 1], r"for the domains 0 to 1, the data have \[0, 2\]"),
        (table([0, 0, 0]), [2, 1], r"for the domains 0 to 1, the data have \[0\]"),
        (Table(np.zeros(3), np.arange(3)), [2, 1], "needs data of several sources"),
    ],
)
def test_impossible_partitions(data, clients, message):
    with pytest.raises(PartitionError, match=message):
        by_domain.assign(data, 3, by_domain.Config(clients=clients), np.random.default_rng(0))
