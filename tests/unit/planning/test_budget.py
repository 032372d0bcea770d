"""Which runs a budget buys, on the graph of FedFV's smallest setting at full scale."""

import math
import random
from pathlib import Path

import pytest
from benchmarks.pretend import finish

from fairfl.judgement.rows import ComparisonLine, csv_text
from fairfl.planning import budget
from fairfl.planning.budget import Planner, Purchase, buy, may_change_with_more_seeds
from tests.unit.rows import compared as row
from tests.workflow.graphs import graph_of

SETTING = "fedfv_fmnist"


ONLY = {"papers": ["fedfv"], "settings": [SETTING], "seeds": [0, 1, 2], "mirrors": [], "budget_downloads": True}


@pytest.fixture
def planner(root, load, folder, monkeypatch):
    """A function; an hour each, but the last variant, which takes three."""
    monkeypatch.setattr(Planner, "hours", lambda self, name: 3.0 if "qffl/q=5.0" in name else 1.0)
    return lambda **more: Planner(graph_of(load(**ONLY | more)), root)


def runs(picks):
    return [job for pick in picks for job in pick.jobs if job.startswith("train/")]


SELECTION = "selections/papers=fedfv_settings=fedfv_fmnist_seeds=0,1,2/"  # as it is called


def compare(below="", **verdicts):
    """Leave a comparison.csv in which a metric of some algorithms has such a verdict, with seed 0 alone."""
    lines = [
        row({"setting": SETTING, "metric": "accuracy_avg", "algorithm": algorithm} | values)
        for algorithm, values in verdicts.items()
    ]
    path = Path(f"results/full/{below}comparison.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(csv_text(lines, ComparisonLine))


def test_one_seed_of_every_variant_that_tells_something_the_cheap_ones_first(planner):
    plan = planner()
    picks = plan.select(1000.0)
    bought = runs(picks)
    telling = [v for v in plan.workload.variants[SETTING] if plan.numbers[SETTING, v]]
    assert len(bought) == len(telling) > 10
    assert all(name.endswith("/seed0") for name in bought)
    per_hour = [pick.new_verdicts / pick.hours for pick in picks]
    assert per_hour == sorted(per_hour, reverse=True)
    dear = next(pick for pick in picks if "qffl/q=5.0" in pick.name)
    assert dear.hours == 3.0 and picks.index(dear) > 5
    assert runs(plan.select(3.5)) == bought[:3]


def test_a_second_seed_only_where_a_verdict_hangs_on_noise_and_after_all_first_ones(planner):
    plan = planner()
    variants = {run.algorithm: run for run in plan.workload.runs if run.seed == 0 and not run.variant.values}
    fedavg = f"train/{variants['fedavg'].id}"
    other = next(run for run in plan.workload.runs if run.algorithm == "afl" and run.seed == 0)
    finish(plan.graph, [fedavg, f"train/{other.id}"])
    near = {"verdict": "differs", "difference": "1.2", "tolerance": "1", "seed_std": "0.3"}
    far = near | {"difference": "9", "hyperparameters": other.variant.csv}
    compare(fedavg=near, afl=far)
    bought = runs(planner().select(1000.0))
    assert bought[-1] == fedavg.replace("seed0", "seed1")
    assert all(name.endswith("/seed0") for name in bought[:-1]) and len(bought) > 10
    assert fedavg.replace("seed0", "seed1") not in runs(planner().select(5.0))


def test_the_verdicts_of_a_selection_are_in_its_folder(planner):
    """Those of all runs may be older."""
    compare(fedavg={"verdict": "agrees"})
    assert [line.verdict for line in planner().compared] == ["agrees"]
    compare(SELECTION, fedavg={"verdict": "differs"})
    assert [line.verdict for line in planner().compared] == ["differs"]


def test_the_restricted_workload_has_what_is_done_and_what_is_bought(planner):
    plan = planner()
    done = runs(plan.select(1.0))
    finish(plan.graph, done)
    plan = planner()
    picks = plan.select(2.0)
    kept = plan.workload.restricted_to(plan.available(picks))
    assert {f"train/{run.id}" for run in kept.runs} == {*done, *runs(picks)} and len(kept.runs) == 3


def why_not(reasons):
    return f"left out, one seed each: {reasons}"


def test_a_budget_takes_what_can_run_here_and_says_what_it_left_out(planner, monkeypatch):
    """Fashion-MNIST is not here: it is downloaded if that is allowed, and not at all without a network."""
    asked = planner()
    assert asked.select(1000.0) and asked.left_out() == ""
    plan = planner(budget_downloads=False)
    assert plan.select(1000.0) == []
    telling = sum(1 for variant in plan.workload.variants[SETTING] if plan.numbers[SETTING, variant])
    why = f"{telling} whose data must be downloaded first (fashion_mnist; budget_downloads: true takes them)"
    assert plan.left_out() == why_not(why)
    assert budget.describe_purchases(plan, [], 1000.0).endswith(f"check 0 numbers; {plan.left_out()}")
    one = [budget.Purchase("train/s", frozenset({"train/s"}), 4, 0.5)]
    assert ": 1 training in about 0.5, which check" in budget.describe_purchases(plan, one, 1000.0)
    without = planner(offline=True)
    assert without.select(1000.0) == []
    assert without.left_out() == why_not(f"{telling} whose data are neither here nor to be downloaded (fashion_mnist)")
    monkeypatch.setattr(budget, "estimate_rule", lambda *job: None)
    unknown = planner()
    assert unknown.select(1000.0) == [] and unknown.left_out() == why_not(
        f"{telling} whose hours are unknown (fashion_mnist)"
    )


@pytest.mark.parametrize(
    ("line", "hangs"),
    [
        ({"verdict": "agrees", "difference": "0.1", "tolerance": "1", "seed_std": "1"}, False),
        ({"verdict": "differs", "difference": "-1.2", "tolerance": "1", "seed_std": "0.3"}, True),
        ({"verdict": "differs", "difference": "-1.4", "tolerance": "1", "seed_std": "0.3"}, False),
        (
            {"verdict": "close", "difference": "1.2", "tolerance": "0.05", "seed_std": ""},
            True,
        ),  # nothing is known of it
        ({"verdict": "inconclusive", "difference": "-9", "tolerance": "1", "seed_std": "0.1"}, True),  # a lower bound
        ({"verdict": "differs", "difference": "", "tolerance": "", "seed_std": ""}, False),  # diverged
    ],
)
def test_verdicts_that_hang_on_noise(line, hangs):
    assert may_change_with_more_seeds(row(line)) is hangs


def test_local_optima_belong_to_the_first_run_that_needs_them(planner):
    plan = planner(papers=["eagle"], settings=["eagle_emnist_linear_a0.5"], seeds=[0])
    first, second, *_ = plan.select(1000.0)
    assert sum(job.startswith("local_optimum/") for job in first.jobs) == 10
    assert not any(job.startswith("local_optimum/") for job in second.jobs)


# -- The choice itself, on jobs that are only names.
def candidate(name, tells, *needs):
    return Purchase(name, frozenset({name, *needs}), tells)


def buy_for(candidates, hours, budget, paid=()):
    return buy(candidates, hours.__getitem__, budget, paid)


PLAIN, HOURS = [candidate("a", 10), candidate("b", 10), candidate("c", 1)], {"a": 5.0, "b": 1.0, "c": 0.5}
SHARED = [candidate("a", 8, "optimum"), candidate("b", 6, "optimum"), candidate("c", 1)]


@pytest.mark.parametrize(
    ("candidates", "hours", "budget", "paid", "expected"),
    [
        # The most telling per hour come first, what does not fit is passed over.
        (PLAIN, HOURS, 2.0, [], [("b", "b", 10, 1.0), ("c", "c", 1, 0.5)]),
        (PLAIN, HOURS, 9.0, [], [("b", "b", 10, 1.0), ("c", "c", 1, 0.5), ("a", "a", 10, 5.0)]),
        # What several need is paid by the first.
        (SHARED, {"a": 1.0, "b": 1.0, "c": 1.0, "optimum": 3.0}, 10.0, [],
         [("a", "a optimum", 8, 4.0), ("b", "b", 6, 1.0), ("c", "c", 1, 1.0)]),
        # A run that comes first tells too, and is not taken twice.
        ([candidate("first", 4), candidate("then", 5, "first")], {"first": 2.0, "then": 1.0}, 3.0, [],
         [("then", "first then", 9, 3.0)]),
        # What is paid costs nothing.
        (SHARED[:1], {"a": 1.0, "optimum": 9.0}, 1.0, ["optimum"], [("a", "a", 8, 1.0)]),
    ],
)  # fmt: skip
def test_what_is_bought(candidates, hours, budget, paid, expected):
    picks = buy_for(candidates, hours, budget, paid)
    assert [(one.name, " ".join(sorted(one.jobs)), one.new_verdicts, one.hours) for one in picks] == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_sum_never_exceeds_the_budget_and_the_order_of_candidates_does_not_matter(seed):
    draw = random.Random(seed)
    hours = {f"job{i}": draw.uniform(0.01, 3) for i in range(60)}
    shared = [f"job{i}" for i in range(40, 60)]
    candidates = [candidate(f"job{i}", draw.randrange(6), *draw.sample(shared, draw.randrange(4))) for i in range(40)]
    budget = draw.uniform(0, 30)
    picks = buy_for(candidates, hours, budget)
    assert math.fsum(hours[job] for pick in picks for job in pick.jobs) <= budget
    paid = [job for pick in picks for job in pick.jobs]
    assert len(paid) == len(set(paid))
    draw.shuffle(candidates)
    assert buy_for(candidates, hours, budget) == picks
    # Nothing that fits is left.
    left = budget - math.fsum(pick.hours for pick in picks)
    for other in candidates:
        if other.name not in paid and other.new_verdicts:
            assert math.fsum(hours[job] for job in other.jobs - set(paid)) > left - 1e-9
