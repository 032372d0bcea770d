"""Our own seeds against each other: limits by hand, the promised share on simulated runs."""

import math

import pytest

from fairfl.experiments.variant import Variant
from fairfl.judgement.agreement import Noise, pooled_noise
from fairfl.judgement.cells import Cell, Cells
from fairfl.judgement.repeats import repeats, without

FEDAVG, QFFL = (Variant(name, {}) for name in ("fedavg", "qffl"))


def cell(*values, unit="percent"):
    return Cell.over_seeds(dict(enumerate(values)), unit)


def key(variant=FEDAVG, metric="accuracy_mean"):
    return "s", variant, metric


def checked(cells, paper=None, seeds=5):
    return repeats(key(), paper, Cells(cells), pooled_noise(cells), seeds, 0.05)


def test_pairs_are_held_against_the_noise_of_the_other_variants():
    """QFFL alone has s = sqrt(2), one degree: t = 12.706205, so the tolerance is 25.41 (s sqrt(2) = 2)."""
    cells = {key(): cell(50.0, 75.4, 75.5, 24.6), key(QFFL): cell(1.0, 3.0)}
    assert checked(cells) == (3, 2)


def test_seeds_of_one_draw_of_clients_are_no_repetitions():
    cells = {key(): cell(50.0, 75.4), key(QFFL): cell(1.0, 3.0)}
    for shared, pairs in (("s", (0, 0)), ("t", (1, 1))):
        found = Cells(cells, one_draw=frozenset({shared}))
        assert repeats(key(), None, found, pooled_noise(cells), 5, 0.05) == pairs


def test_what_a_variants_own_seeds_say_is_taken_out():
    """1, 3 has a sum of squares of 2, one degree; 0, 3, 6 of 18, two degrees; together s^2 = 20 / 3 of three."""
    (pooled,) = pooled_noise({key(): cell(1, 3), key(QFFL): cell(0, 3, 6)}).values()
    rest = without(pooled, cell(1, 3))
    assert (rest.std, rest.freedom, rest.variants) == (pytest.approx(3.0), 2, 1)
    alone = without(Noise(1.0, 1, 1), cell(1, 3))
    assert math.isnan(alone.std) and alone.freedom == 0
    assert without(None, cell(1, 3)).freedom == 0


def test_the_printed_spread_and_the_evaluations_of_the_first_seed_count():
    """Printed 2 over five seeds: t of 4 degrees is 2.776445, the tolerance 7.853; three late points: t of 9, 9.597."""
    paper = Cell(80.0, 2.0, spread_kind="std")
    assert checked({key(): cell(80.0, 87.8)}, paper) == (1, 1)
    assert checked({key(): cell(80.0, 87.9)}, paper) == (1, 0)
    late = {key(metric="n_late"): cell(10, 10, unit="count")}
    restless = late | {key(metric="accuracy_mean_late_std"): cell(0.03, 0.0, unit="fraction")}
    assert checked({key(): cell(80.0, 89.5)} | restless, paper) == (1, 1)
    calm = late | {key(metric="accuracy_mean_late_std"): cell(0.0, 0.03, unit="fraction")}
    assert checked({key(): cell(80.0, 89.5)} | calm, paper) == (1, 0), "the other seed's evaluations must not count"


@pytest.mark.parametrize("cells", [{}, {key(): cell(1.0)}, {key(): cell(1.0, 2.0)}, {key(): cell(1.0, math.inf)}])
def test_nothing_is_said_without_a_second_seed_or_any_noise(cells):
    assert checked(cells) == (0, 0)
