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
    assert (own.std, own.degrees_of_freedom) == (pytest.approx(3.0), 2)
    assert own.source == "its own seeds, 2 degrees of freedom"
    for variant in (FEDAVG, AFL):
        noise = noise_of(key(variant), cells[key(variant)], pooled)
        assert noise == pooled["s", "accuracy_mean"] and noise.source == "pooled over 2 variants, 3 degrees of freedom"
    assert noise_of(("t", AFL, "accuracy_mean"), cell(5), pooled) is UNKNOWN
    assert noise_of(key(AFL, "num_clients"), cell(5), pooled) is FIXED
    alone = pooled_noise({key(FEDAVG): cell(1, 3)})
    sources = [noise_of(key(variant), cells[key(variant)], alone).source for variant in (FEDAVG, AFL)]
    assert sources == ["its own seeds, 1 degrees of freedom", "pooled over 1 variant, 1 degrees of freedom"]
    assert {FIXED.source, UNKNOWN.source} == {"no seed changes it", "no variant of the setting has several seeds"}


def test_a_variant_whose_seeds_scatter_by_far_more_is_not_pooled():
    """Eight variants of two seeds 1 apart: s^2 = 1/2. F(1, 8) is above 19^2 or 3^2 with probability 6e-8 or 0.017."""
    rows = [Variant("fedavg", {"a": number}) for number in range(8)]
    others = {key(row): cell(number, number + 1) for number, row in enumerate(rows)}
    for apart, is_pooled in ((19, False), (3, True)):
        cells = {**others, key(AFL): cell(0, apart)}
        pooled = pooled_noise(cells)["s", "accuracy_mean"]
        assert pooled.variants == 8 + is_pooled
        assert (pooled.std == pytest.approx(math.sqrt(0.5))) == (not is_pooled)
        of_it, of_another = (
            noise_of(place, cells[place], {("s", "accuracy_mean"): pooled}) for place in (key(AFL), key(rows[0]))
        )
        assert of_another == pooled and (of_it == pooled) == is_pooled
        assert is_pooled or (of_it.is_own and of_it.std == pytest.approx(19 / math.sqrt(2)))


def test_outlying_variants_do_not_hide_each_other():
    """Next to one as large, each alone is not outlying. Where the others do not scatter at all nothing is told."""
    rows = [Variant("fedavg", {"a": number}) for number in range(10)]
    cells = {key(row): cell(0, 1 if number < 8 else 90) for number, row in enumerate(rows)}
    assert pooled_noise(cells)["s", "accuracy_mean"].variants == 8
    still = {key(row): cell(0, 0 if number < 9 else 1) for number, row in enumerate(rows)}
    assert pooled_noise(still)["s", "accuracy_mean"].variants == 10


PRINTED, ALONE = "the printed spread, {} degrees of freedom", Noise(2.0, 4, 0, printed=True)


@pytest.mark.parametrize(
    ("noise", "kind", "seeds", "expected"),
    [
        (UNKNOWN, "std", 5, (2.0, 4, PRINTED)),
        # 2^2 of four degrees with 3^2 of one or two.
        (Noise(3.0, 1, 1), "std", 5, (math.sqrt(25 / 5), 5, f"pooled over 1 variant and {PRINTED}")),
        (Noise(3.0, 2, 2), "std", 5, (math.sqrt(34 / 6), 6, f"pooled over 2 variants and {PRINTED}")),
        # Over three seeds 2^2 divided by three is a sum of squares of 12, of two degrees.
        (UNKNOWN, "population std", 3, (math.sqrt(6), 2, PRINTED)),
        # Of a spread of unknown kind the larger bound counts: t of one degree is 12.7, of four 2.8.
        (UNKNOWN, "unknown", 5, (2.0, 4, PRINTED)),
        (Noise(0.1, 1, 1), "unknown", 5, (2.0, 4, PRINTED)),
        (Noise(1.0, 1, 1), "unknown", 5, None),
        # Our seeds know enough, or the paper has one seed, and so no spread over seeds.
        (FIXED, "std", 5, None), (Noise(3.0, 3, 2), "std", 5, None), (UNKNOWN, "std", 1, None), (UNKNOWN, "", 1, None),
    ],
)  # fmt: skip
def test_the_printed_spread_is_pooled_with_the_little_that_our_seeds_say(noise, kind, seeds, expected):
    found = pool_published_spread(noise, Cell(80.0, 2.0, spread_kind=kind), seeds, 0.05)
    if expected is None:
        assert found is noise
    else:
        std, degrees, source = expected
        assert (found.std, found.degrees_of_freedom) == (pytest.approx(std), degrees)
        assert found.source == source.format(degrees)
    assert pool_published_spread(noise, None, 5, 0.05) is pool_published_spread(noise, Cell(80.0), 5, 0.05) is noise


def evaluated(*values, late, evaluations=10):
    """Our cells of a number, in percent, whose runs moved by `late` over their last evaluations, a fraction."""
    cells = {key(FEDAVG): cell(*values), key(FEDAVG, "n_late"): cell(*[evaluations] * len(values), unit="count")}
    return Cells(cells | {key(FEDAVG, "accuracy_mean_late_std"): cell(*late, unit="fraction")})


THREE, LAST = Noise(0.1, 2, 1), "its own last 10 evaluations, {} degrees of freedom"


@pytest.mark.parametrize(
    ("noise", "late", "one_draw", "expected"),
    [
        # t of 9 degrees at 5 % is 2.262157, of 4 degrees 2.776445. A run that moved by 3 points: t s = 6.786471, more
        # than the 2.776445 x 2 of the printed spread, less than x 2.5. Two runs, 3 and 4 points: s^2 = 12.5.
        (ALONE, [0.03], "", (3.0, 9, LAST)),
        (replace(ALONE, std=2.5), [0.03], "", None),
        (ALONE, [0.03, 0.04], "", (math.sqrt(12.5), 18, LAST)),
        # Where nothing else is known.
        (UNKNOWN, [0.03], "", (3.0, 9, LAST.replace(", ", ", a bound from below, "))),
        (UNKNOWN, [0.0], "", None), (FIXED, [0.03], "", None),
        # Three seeds are enough, unless they share one draw of clients.
        (THREE, [0.03] * 3, "", None), (THREE, [0.03] * 3, "t", None), (THREE, [0.03] * 3, "s", (3.0, 27, LAST)),
    ],
)  # fmt: skip
def test_numbers_are_not_judged_more_sharply_than_their_own_evaluations_move(noise, late, one_draw, expected):
    ours = replace(evaluated(*range(80, 80 + len(late)), late=late), one_draw=frozenset(one_draw))
    found = apply_evaluation_bound(noise, key(FEDAVG), ours, 0.05)
    if expected is None:
        assert found is noise
    else:
        std, degrees, source = expected
        assert (found.std, found.degrees_of_freedom) == (pytest.approx(std), degrees)
        assert (found.source, found.is_lower_bound) == (source.format(degrees), noise is UNKNOWN)
    assert apply_evaluation_bound(UNKNOWN, key(AFL), ours, 0.05) is UNKNOWN


@pytest.mark.parametrize("diverged", [math.nan, math.inf])
def test_a_variant_that_diverged_has_no_noise(diverged):
    assert pooled_noise({key(FEDAVG): cell(1, diverged), key(AFL): cell(1)}) == {}


@pytest.mark.parametrize(
    ("noise", "ours", "expected"),
    [
        # t of 4 degrees at 5 % is 2.776445.
        (Noise(2.0, 4, 1), 5, 2.776445 * 2 * math.sqrt(2 / 5) + 0.005),
        (Noise(2.0, 4, 1), 1, 2.776445 * 2 * math.sqrt(1.2) + 0.005),
        (UNKNOWN, 1, 0.005), (FIXED, 1, 0.005),
    ],
)  # fmt: skip
def test_the_limit_by_hand(noise, ours, expected):
    assert agreement_tolerance(noise, ours, 5, 0.005, 0.05) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("reported", "unit", "expected"),
    [(50.0, "percent", 2.0), (0.5, "fraction", 0.02), (0.7, "percent_points", 2.0), (-4.0, "nats", 0.4)]
    + [(60.0, "percent2", 6.0), (0.0, "nats", 0.0)],
)
def test_tolerances(reported, unit, expected):
    config = VerdictConfig(close_points=2.0, close_relative=0.1)
    assert closeness_tolerance(reported, unit, config) == pytest.approx(expected)


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
