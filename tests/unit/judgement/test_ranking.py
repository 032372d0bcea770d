"""Is the order of the variants the paper's? Kendall's tau by hand, its range over seeds, what is left out."""

import math
from dataclasses import replace

import pytest

from fairfl.judgement.ranking import ranking_lines
from tests.unit.rows import compared


def line(algorithm, ours, reported, **changes):
    known = {"artifact": "a", "setting": "s", "metric": "m", "seeds": "5", "reported_seeds": "5", "seed_std": ""}
    return compared(
        known | {"algorithm": algorithm, "ours": ours, "reported": reported, "verdict": "differs"}, **changes
    )


def column(ours, reported, **changes):
    return [line(f"x{n}", str(a), str(b), **changes) for n, (a, b) in enumerate(zip(ours, reported, strict=True))]


@pytest.mark.parametrize(
    ("ours", "reported", "tau"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 40], 1),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1),
        ([1, 2, 3, 4], [10, 20, 40, 30], 4 / 6),  # five of six pairs
        ([1, 1, 2], [1, 2, 3], 2 / 6**0.5),  # P = 2, one tie of ours: 2 / sqrt(2 x 3)
    ],
)
def test_tau_by_hand(ours, reported, tau):
    (order,) = ranking_lines(column(ours, reported))
    assert order.tau == pytest.approx(tau)
    assert (order.artifact, order.setting, order.metric, order.variants) == ("a", "s", "m", len(ours))
    assert (order.low, order.high) == (order.tau, order.tau)  # nothing is known of the seeds
    assert order.checked


def test_its_probability_by_chance():
    """One of 24 orders of four is the same, one the opposite."""
    (order,) = ranking_lines(column([1, 2, 3, 4], [1, 2, 3, 4]))
    assert order.p == pytest.approx(2 / 24)


def test_the_range_over_seeds():
    far, near = ([0, 100, 200, 300], [0, 0.1, 0.2, 0.3])
    (sure,) = ranking_lines(column(far, far, seed_std="1"))
    assert (sure.tau, sure.low, sure.high) == (1, 1, 1)
    (unsure,) = ranking_lines(column(near, near, seed_std="1"))
    assert unsure.tau == 1 and unsure.low < 0 < unsure.high <= 1
    (more,) = ranking_lines(column(near, near, seed_std="1", seeds="5000", reported_seeds="5000"))
    assert more.low > unsure.low


def test_what_has_no_order():
    whole = column([1, 2, 3], [1, 2, 3])
    assert ranking_lines(whole[:2]) == []
    for missing in ({"ours": None}, {"reported": None}, {"reported": math.inf}, {"algorithm": ""}):
        assert ranking_lines([*whole[:2], replace(whole[2], **missing)]) == []
    (constant,) = ranking_lines(column([1, 1, 1], [1, 2, 3]))
    assert (constant.tau, constant.p) == (None, None)
    (hint,) = ranking_lines([*whole[:2], replace(whole[2], verdict="not comparable: scale")])
    assert not hint.checked
