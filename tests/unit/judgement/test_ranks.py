"""Ranks and paired differences against published numbers, those of R and SciPy, and what holds of any."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fairfl.judgement.paired import paired
from fairfl.judgement.ranking import ranking_lines
from fairfl.judgement.ranks import (
    critical_difference,
    friedman,
    holm,
    interval,
    mean_ranks,
    not_told_apart,
    ranks,
    sign_test,
    superiority,
)
from tests.unit.rows import compared

# Demšar (2006), table 6: AUC of C4.5, with m, with cf, with both, on 14 data sets. Of "voting", 0.975 of two methods is
# ranked 2 and 3: a third digit is not printed.
DEMSAR = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.975, 0.9749], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_demsars_worked_example():
    places = ranks(DEMSAR, "up")
    assert places.mean(axis=0).round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    test = friedman(places)
    assert (round(test.chi2, 2), round(test.f, 2)) == (9.28, 3.69)
    assert 0.01 < test.p < 0.05  # the critical value of F(3, 39) at 0.05 is 2.85 there
    assert round(critical_difference(14, 4), 2) == 1.25


@pytest.mark.parametrize(
    ("alpha", "values"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_nemenyis_q_is_that_of_demsars_table_5(alpha, values):
    for methods, q in enumerate(values, 2):
        ours = critical_difference(1, methods, alpha) / np.sqrt(methods * (methods + 1) / 6)
        assert ours == pytest.approx(q, abs=0.0011)


def test_diverged_is_last_either_way_and_ties_share_the_middle():
    assert ranks(np.array([0.5, np.nan, 0.7, 0.5]), "up").tolist() == [2.5, 4, 1, 2.5]
    assert ranks(np.array([0.5, np.nan, 0.7, 0.5]), "down").tolist() == [1.5, 4, 3, 1.5]
    assert ranks(np.array([0.1 + 0.2, 0.3]), "up").tolist() == [1.5, 1.5]  # apart in their last bits


def test_interval_pairs_the_seeds_and_keeps_the_diverged_last():
    """Seeds differ by far more than methods: drawn apart for each method, the order would be lost."""
    level = np.array([0.0, 10.0, 20.0])[:, None]
    given = level + np.array([3.0, 2.0, 1.0, 5.0])
    given[1, 3] = np.nan
    low, high = interval([given], ["up"])
    assert low.tolist() == high.tolist() == [1, 2, 3, 4] == mean_ranks([given], ["up"])[0].tolist()
    unsure = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]])
    assert [ends.tolist() for ends in interval([unsure], ["up"])] == [[1, 1], [2, 2]]
    assert np.isnan(interval([given[:1]], ["up"])).all()  # one seed


def test_groups_are_the_largest():
    assert not_told_apart([1.0, 1.5, 2.4, 2.6, 5.0], 1.5) == [(0, 2), (1, 3)]
    assert not_told_apart([1.0, 3.0], 1.5) == []
    assert not_told_apart([2.0, 2.0, 2.0], 0.1) == [(0, 2)]


def test_holm():
    """R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02."""
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1, 1]
    assert holm([0.02, np.nan, 0.04]).tolist() == pytest.approx([0.04, np.nan, 0.04], nan_ok=True)
    assert holm([]).tolist() == [] and np.isnan(holm([np.nan])).all()


def test_wins_against_a_baseline_are_counted_by_setting_and_tested_by_seed():
    won = [np.array([1.0, 1.0]), np.array([1.0, 0.0, 0.5, 0.5])]
    share, low, high = superiority(won)
    assert share == 0.75 and 0 <= low <= share <= high <= 1
    assert sign_test(won) == pytest.approx(2 * (1 + 4) / 16)  # three wins and a loss
    assert sign_test([np.array([0.5])]) == 1
    assert superiority([np.array([1.0])])[0] == 1 and np.isnan(superiority([np.array([1.0])])[1])


# -- Differences over the same seeds: an example by hand, scipy's paired test, and what must not be told.
def test_an_example_by_hand():
    """Differences 1, 2, 3: mean 2, deviation 1, t of two degrees of freedom at 97.5 % is 4.302653."""
    one = paired({0: 11.0, 1: 22.0, 2: 33.0}, {0: 10.0, 1: 20.0, 2: 30.0, 3: 99.0})
    assert (one.difference, one.seeds) == (2.0, 3)
    assert one.low == pytest.approx(2 - 4.302653 / math.sqrt(3), rel=1e-6)
    assert one.high == pytest.approx(2 + 4.302653 / math.sqrt(3), rel=1e-6)
    assert one.p == pytest.approx(stats.ttest_rel([11, 22, 33], [10, 20, 30]).pvalue)


def test_one_seed_has_no_interval_and_equal_differences_an_empty_one():
    one = paired({3: 2.0}, {3: 1.5})
    assert (one.difference, one.seeds) == (0.5, 1) and math.isnan(one.low) and math.isnan(one.p)
    same = paired({0: 1.3, 1: 2.3}, {0: 1.0, 1: 2.0})
    assert same.low == same.high == same.difference == pytest.approx(0.3) and math.isnan(same.p)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_seed_that_diverged_is_not_left_out(value):
    one = paired({0: 1.0, 1: value}, {0: 1.0, 1: 1.0})
    assert math.isnan(one.difference) and math.isnan(one.low) and one.seeds == 2


# -- is the order of the variants the paper's: Kendall's tau, its range over seeds, what is left out ----
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
