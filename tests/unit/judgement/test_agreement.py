"""When two numbers agree: limits by hand, and the promised share of false alarms on simulated experiments."""

import math
from dataclasses import replace

import numpy as np
import pytest

from fairfl.experiments.config import VerdictConfig
from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import (
    FIXED,
    UNKNOWN,
    Noise,
    agreement_tolerance,
    apply_evaluation_bound,
    closeness_tolerance,
    noise_of,
    pool_published_spread,
    pooled_noise,
)
from fairfl.judgement.cells import Cell, Cells

FEDAVG, QFFL, AFL = (Variant(name, {}) for name in ("fedavg", "qffl", "afl"))


def cell(*values, unit="percent"):
    return Cell.over_seeds(dict(enumerate(values)), unit)


def key(variant=FEDAVG, metric="accuracy_mean"):
    return "s", variant, metric


def test_variances_are_pooled_by_their_degrees_of_freedom():
    """1, 3: sum of squares 2, one degree; 0, 3, 6: 18, two degrees; a single seed: none. s^2 = 20 / 3."""
    cells = {key(FEDAVG): cell(1, 3), key(QFFL): cell(0, 3, 6), key(AFL): cell(5), ("t", FEDAVG, "loss_mean"): cell(1)}
    ((place, noise),) = pooled_noise(cells).items()
    assert place == ("s", "accuracy_mean")
    assert (noise.degrees_of_freedom, noise.variants) == (3, 2) and noise.std == pytest.approx(math.sqrt(20 / 3))


def test_a_variant_of_several_seeds_has_a_noise_of_its_own():
    cells = {key(FEDAVG): cell(1, 3), key(QFFL): cell(0, 3, 6), key(AFL): cell(5)}
    pooled = pooled_noise(cells)
    own = noise_of(key(QFFL), cells[key(QFFL)], pooled)
    assert (own.std, own.degrees_of_freedom) == (
        pytest.approx(3.0),
        2,
    ) and own.source == "its own seeds, 2 degrees of freedom"
    for variant in (FEDAVG, AFL):
        noise = noise_of(key(variant), cells[key(variant)], pooled)
        assert noise == pooled["s", "accuracy_mean"] and noise.source == "pooled over 2 variants, 3 degrees of freedom"
    assert noise_of(("t", AFL, "accuracy_mean"), cell(5), pooled) is UNKNOWN
    assert noise_of(key(AFL, "num_clients"), cell(5), pooled) is FIXED
    assert {FIXED.source, UNKNOWN.source} == {"no seed changes it", "no variant of the setting has several seeds"}


def test_where_our_seeds_say_little_the_printed_spread_is_pooled_with_them():
    """2^2 of four degrees; with 3^2 of one: s^2 = (16 + 9) / 5."""
    paper = Cell(80.0, 2.0, spread_kind="std")
    alone = pool_published_spread(UNKNOWN, paper, 5, 0.05)
    assert (alone.std, alone.degrees_of_freedom, alone.source) == (2.0, 4, "the printed spread, 4 degrees of freedom")
    both = pool_published_spread(Noise(3.0, 1, 1), paper, 5, 0.05)
    assert (both.std, both.degrees_of_freedom) == (pytest.approx(math.sqrt(5)), 5)
    assert both.source == "pooled over 1 variant and the printed spread, 5 degrees of freedom"
    assert pool_published_spread(Noise(3.0, 2, 2), paper, 5, 0.05).source.startswith(
        "pooled over 2 variants and the printed"
    )


def test_a_population_spread_is_the_wider_one():
    """Over three seeds 2^2 divided by three is a sum of squares of 12, of two degrees: s^2 = 6, not 4."""
    noise = pool_published_spread(UNKNOWN, Cell(80.0, 2.0, spread_kind="population std"), 3, 0.05)
    assert (noise.std, noise.degrees_of_freedom) == (pytest.approx(math.sqrt(6)), 2)


def test_of_a_spread_of_unknown_kind_the_larger_bound_counts():
    """t of one degree is 12.7, of four 2.8."""
    paper = Cell(80.0, 2.0, spread_kind="unknown")
    assert pool_published_spread(UNKNOWN, paper, 5, 0.05) == Noise(2.0, 4, 0, printed=True)
    small, large = Noise(0.1, 1, 1), Noise(1.0, 1, 1)
    assert (
        pool_published_spread(small, paper, 5, 0.05).printed and pool_published_spread(large, paper, 5, 0.05) is large
    )


def evaluated(*values, late, evaluations=10):
    """Our cells of a number, in percent, whose runs moved by `late` over their last evaluations, a fraction."""
    cells = {key(FEDAVG): cell(*values), key(FEDAVG, "n_late"): cell(*[evaluations] * len(values), unit="count")}
    return Cells(cells | {key(FEDAVG, "accuracy_mean_late_std"): cell(*late, unit="fraction")})


def test_few_seeds_are_not_judged_more_sharply_than_their_own_evaluations_move():
    """t of 9 degrees at 5 % is 2.262157, of 4 degrees 2.776445. A run that moved by 3 points: t s = 6.786471, more
    than the 2.776445 x 2 of the printed spread, less than x 2.5. Two runs, 3 and 4 points: s^2 = 12.5, 18 degrees."""
    printed, own = Noise(2.0, 4, 0, printed=True), evaluated(80, late=[0.03])
    bounded = apply_evaluation_bound(printed, key(FEDAVG), own, 0.05)
    assert (bounded.std, bounded.degrees_of_freedom) == (pytest.approx(3.0), 9)
    assert bounded.source == "its own last 10 evaluations, 9 degrees of freedom"
    assert agreement_tolerance(bounded, 1, 5, 0.005, 0.05) == pytest.approx(6.786471 * math.sqrt(1.2) + 0.005, abs=1e-5)
    wider = Noise(2.5, 4, 0, printed=True)
    assert apply_evaluation_bound(wider, key(FEDAVG), own, 0.05) is wider
    both = apply_evaluation_bound(printed, key(FEDAVG), evaluated(80, 81, late=[0.03, 0.04]), 0.05)
    assert (both.std, both.degrees_of_freedom) == (pytest.approx(math.sqrt(12.5)), 18)


def test_evaluations_bound_what_is_not_known_otherwise_and_nothing_else():
    own = evaluated(80, late=[0.03])
    alone = apply_evaluation_bound(UNKNOWN, key(FEDAVG), own, 0.05)
    assert alone.std == pytest.approx(3.0) and alone.is_lower_bound
    assert alone.source == "its own last 10 evaluations, a bound from below, 9 degrees of freedom"
    assert apply_evaluation_bound(UNKNOWN, key(FEDAVG), evaluated(80, late=[0.0]), 0.05) is UNKNOWN
    assert apply_evaluation_bound(UNKNOWN, key(AFL), own, 0.05) is UNKNOWN
    assert apply_evaluation_bound(FIXED, key(FEDAVG), own, 0.05) is FIXED
    three = evaluated(80, 81, 82, late=[0.03] * 3)
    assert apply_evaluation_bound(Noise(0.1, 2, 1), key(FEDAVG), three, 0.05) == Noise(0.1, 2, 1)


def test_seeds_of_one_draw_of_clients_are_bounded_by_their_evaluations_however_many_they_are():
    three = evaluated(80, 81, 82, late=[0.03] * 3)
    bounded = apply_evaluation_bound(Noise(0.1, 2, 1), key(FEDAVG), replace(three, one_draw=frozenset({"s"})), 0.05)
    assert (bounded.std, bounded.degrees_of_freedom) == (pytest.approx(3.0), 27)
    elsewhere = replace(three, one_draw=frozenset({"t"}))
    assert apply_evaluation_bound(Noise(0.1, 2, 1), key(FEDAVG), elsewhere, 0.05) == Noise(0.1, 2, 1)


@pytest.mark.parametrize("noise", [FIXED, Noise(3.0, 3, 2)])
def test_noise_that_our_seeds_know_stays(noise):
    assert pool_published_spread(noise, Cell(80.0, 2.0, spread_kind="std"), 5, 0.05) is noise


@pytest.mark.parametrize(
    ("paper", "seeds"),
    [(None, 5), (Cell(80.0), 5), (Cell(80.0, 2.0, spread_kind="std"), 1), (Cell(80.0, 2.0), 1)],
)
def test_without_a_spread_over_seeds_the_paper_tells_nothing(paper, seeds):
    assert pool_published_spread(UNKNOWN, paper, seeds, 0.05) is UNKNOWN


@pytest.mark.parametrize("diverged", [math.nan, math.inf])
def test_a_variant_that_diverged_has_no_noise(diverged):
    assert pooled_noise({key(FEDAVG): cell(1, diverged), key(AFL): cell(1)}) == {}


def test_the_limit_by_hand():
    """t of 4 degrees at 5 % is 2.776445; s sqrt(1/5 + 1/5) = 1.264911."""
    assert agreement_tolerance(Noise(2.0, 4, 1), 5, 5, 0.005, 0.05) == pytest.approx(
        2.776445 * 1.264911 + 0.005, abs=1e-5
    )
    assert agreement_tolerance(Noise(2.0, 4, 1), 1, 5, 0, 0.05) == pytest.approx(
        2.776445 * 2 * math.sqrt(1.2), abs=1e-5
    )
    assert agreement_tolerance(UNKNOWN, 1, 5, 0.005, 0.05) == agreement_tolerance(FIXED, 1, 5, 0.005, 0.05) == 0.005


@pytest.mark.parametrize(
    ("reported", "unit", "expected"),
    [(50.0, "percent", 2.0), (0.5, "fraction", 0.02), (0.7, "percent_points", 2.0), (-4.0, "nats", 0.4)]
    + [(60.0, "percent2", 6.0), (0.0, "nats", 0.0)],
)
def test_tolerances(reported, unit, expected):
    assert closeness_tolerance(reported, unit, VerdictConfig(close_points=2.0, close_relative=0.1)) == pytest.approx(
        expected
    )


def agreements(rng, seeds, paper_seeds, level, stds, repetitions=400, digits=2):
    """Share of verdicts `agrees` when paper and we run the same experiment, by variant."""
    found = np.zeros(len(stds))
    variants = [Variant("qffl", {"q": float(n)}) for n in range(len(stds))]
    for _ in range(repetitions):
        means = rng.uniform(20, 80, len(stds))
        cells = {
            key(variant): cell(*rng.normal(mean, std, n))
            for variant, mean, std, n in zip(variants, means, stds, seeds, strict=True)
        }
        pooled = pooled_noise(cells)
        for place, (variant, mean, std) in enumerate(zip(variants, means, stds, strict=True)):
            reported = round(float(rng.normal(mean, std, paper_seeds).mean()), digits)
            ours = cells[key(variant)]
            noise = noise_of(key(variant), ours, pooled)
            allowed = agreement_tolerance(noise, ours.seeds, paper_seeds, 0.5 * 10**-digits, level)
            found[place] += abs(ours.mean - reported) <= allowed
    return found / repetitions


@pytest.mark.parametrize(
    ("seeds", "paper_seeds", "stds"),
    [
        ([5] * 8, 5, [0.1, 0.2, 0.5, 1, 2, 4, 8, 0.05]),  # one s for all would be wrong for each
        ([5, 5, 5, 5, 1, 1, 1, 1], 5, [1.0] * 8),  # single seeds borrow it
    ],
)
def test_false_alarms_at_the_level_promised(seeds, paper_seeds, stds):
    rng, level = np.random.default_rng(0), 0.05
    shares = agreements(rng, seeds, paper_seeds, level, stds)
    # 400 repetitions: a share has a standard error of sqrt(level (1 - level) / 400), their mean less.
    assert shares.mean() == pytest.approx(1 - level, abs=0.02)
    assert np.abs(shares - (1 - level)).max() < 4 * math.sqrt(level * (1 - level) / 400)
