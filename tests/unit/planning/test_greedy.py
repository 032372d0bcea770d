"""The choice itself, on jobs that are only names."""

import math
import random

import pytest

from fairfl.planning.budget import Candidate, greedy


def candidate(name, tells, *needs):
    return Candidate(name, frozenset({name, *needs}), tells)


def names(picks):
    return [pick.name for pick in picks]


def test_the_most_telling_per_hour_come_first_and_what_does_not_fit_is_passed_over():
    candidates = [candidate("a", 10), candidate("b", 10), candidate("c", 1)]
    picks = greedy(candidates, {"a": 5.0, "b": 1.0, "c": 0.5}, 2.0)
    assert names(picks) == ["b", "c"]
    assert [pick.hours for pick in picks] == [1.0, 0.5]
    assert names(greedy(candidates, {"a": 5.0, "b": 1.0, "c": 0.5}, 9.0)) == ["b", "c", "a"]


def test_what_several_need_is_paid_by_the_first():
    candidates = [candidate("a", 8, "optimum"), candidate("b", 6, "optimum"), candidate("c", 1)]
    hours = {"a": 1.0, "b": 1.0, "c": 1.0, "optimum": 3.0}
    first, second, third = greedy(candidates, hours, 10.0)
    assert (first.name, first.jobs, first.hours) == ("a", ("a", "optimum"), 4.0)
    assert (second.name, second.jobs, second.hours) == ("b", ("b",), 1.0)
    assert third.name == "c"


def test_a_run_that_comes_first_tells_too_and_is_not_taken_twice():
    candidates = [candidate("first", 4), candidate("then", 5, "first")]
    (pick,) = greedy(candidates, {"first": 2.0, "then": 1.0}, 3.0)
    assert (pick.name, pick.jobs, pick.new_verdicts, pick.hours) == ("then", ("first", "then"), 9, 3.0)


def test_what_is_paid_costs_nothing():
    (pick,) = greedy([candidate("a", 1, "optimum")], {"a": 1.0, "optimum": 9.0}, 1.0, paid=["optimum"])
    assert pick.hours == 1.0 and pick.jobs == ("a",)


@pytest.mark.parametrize("seed", range(5))
def test_the_sum_never_exceeds_the_budget_and_the_order_of_candidates_does_not_matter(seed):
    draw = random.Random(seed)
    hours = {f"job{i}": draw.uniform(0.01, 3) for i in range(60)}
    shared = [f"job{i}" for i in range(40, 60)]
    candidates = [candidate(f"job{i}", draw.randrange(6), *draw.sample(shared, draw.randrange(4))) for i in range(40)]
    budget = draw.uniform(0, 30)
    picks = greedy(candidates, hours, budget)
    assert math.fsum(hours[job] for pick in picks for job in pick.jobs) <= budget
    paid = [job for pick in picks for job in pick.jobs]
    assert len(paid) == len(set(paid))
    draw.shuffle(candidates)
    assert greedy(candidates, hours, budget) == picks
    # Nothing that fits is left.
    left = budget - math.fsum(pick.hours for pick in picks)
    for other in candidates:
        if other.name not in paid and other.new_verdicts:
            assert math.fsum(hours[job] for job in other.jobs - set(paid)) > left - 1e-9
