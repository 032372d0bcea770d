"""What counts: numbers once wherever they are printed, none that cannot be compared or that the paper contradicts."""

from dataclasses import replace

import pytest

from fairfl.experiments.paper import Headline
from fairfl.judgement.comparison import BY_TARGET, UNSEEN
from fairfl.judgement.headlines import Change, changes
from fairfl.judgement.measurements import comparable, count, count_claims, measurements, seeds_said
from fairfl.reporting.headlines import share
from tests.unit.rows import claim, compared

LINE = {
    "artifact": "demo_table1", "setting": "x", "algorithm": "fedavg", "hyperparameters": "", "metric": "accuracy_mean",
    "reported": "80", "verdict": "agrees", "seeds": "2", "reported_seeds": "5", "contradiction": "", "data": "mnist",
    "changed_by_scale": "",
}  # fmt: skip


def lines(*changes):
    return [compared(LINE | change) for change in changes]


def test_a_number_that_two_tables_print_counts_once_and_two_values_of_it_twice():
    found = count(lines({}, {"artifact": "demo_table2"}, {"artifact": "demo_table3", "reported": "81"}))
    assert (found.conclusive, found.cells, found.agree, found.published) == (2, 3, 2, 2)
    other = count(lines({}, {"artifact": "demo_late", "reported": "79"}), {"demo_late"})
    assert (other.conclusive, other.cells) == (1, 1)


def test_choices_belong_to_algorithms_and_counts_to_settings():
    rows = [{"metric": "learning_rate", "algorithm": "qffl", "hyperparameters": f"q={q}"} for q in (1.0, 2.0)]
    rows += [{"metric": "samples_train", "algorithm": name} for name in ("fedavg", "afl")]
    assert [len(places) for places in measurements(lines(*rows)).values()] == [2, 2]


def test_what_the_paper_contradicts_itself_on_stays_out_wherever_it_is_printed():
    found = count(lines({"contradiction": "table 9: 70"}, {"artifact": "demo_table2"}, {"metric": "accuracy_var"}))
    assert (found.conclusive, found.cells) == (1, 1)


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({"verdict": "not run"}, True),
        ({"verdict": "not run", "changed_by_scale": "seeds: [0, 1] -> [0]; keep: none -> model"}, True),
        ({"verdict": "not run", "changed_by_scale": "seeds: [0, 1] -> [0]; rounds: 100 -> 10"}, False),
        ({"verdict": "not run", "data": "digits (stand-in for mnist)"}, False),
        ({"verdict": "not run", "metric": "inference_seconds"}, False),
        ({"verdict": "not run", "metric": "config_rounds"}, False),
        ({"verdict": "not run", "note": BY_TARGET}, False),
        ({"verdict": "not run", "note": "value lost; fitted: this row chose its step"}, False),
        ({"verdict": "not run", "note": UNSEEN}, True),
        ({"verdict": "not comparable: scale"}, False),
        ({"verdict": "not reported"}, False),
        ({"verdict": "fitted"}, False),
        ({"verdict": "diverged"}, True),
        ({"verdict": "diverged", "data": "digits (stand-in for mnist)"}, False),
        ({"verdict": "diverged", "changed_by_scale": "rounds: 100 -> 10"}, False),
        ({"verdict": "diverged", "note": "1 of 1 seeds diverged; fitted: this row chose its step"}, False),
    ],
)
def test_what_can_be_compared(change, counts):
    assert comparable(compared(LINE | change)) == counts
    record = compared({key: value for key, value in (LINE | change).items() if key not in ("data", "changed_by_scale")})
    known = change.keys() & {"metric", "note"}  # these the record has too
    assert comparable(record) == (counts or change["verdict"] in ("not run", "diverged") and not known)


def test_one_seed_is_counted_where_the_paper_has_several():
    rows = [{"seeds": seeds, "reported": str(n)} for n, seeds in enumerate(("1", "1", "4", "5"))]
    rows += [{"seeds": "1", "reported_seeds": "1"}, {"seeds": "1", "metric": "samples_train"}]
    rows += [{"seeds": "0", "verdict": "not run", "metric": "loss_mean"}]
    found = count(lines(*rows))
    assert (found.one_seed, found.fewer_seeds, found.conclusive, found.published) == (2, 3, 6, 7)


def test_inconclusive_numbers_are_counted_apart_and_in_no_share():
    rows = [{"verdict": word, "reported": str(n)} for n, word in enumerate(("agrees", "differs"))]
    rows.append({"verdict": "inconclusive", "reported": "2"})
    found = count(lines(*rows, {"verdict": "not run", "metric": "loss_mean"}))
    assert (found.conclusive, found.inconclusive, found.checked, found.published) == (2, 1, 3, 4)
    assert share(found) == "50 %" and found.cells == 3
    alone = lines({"verdict": "inconclusive", "unit": "percent2", "tolerance": "50", "difference": "60"})
    assert (count(alone).conclusive, share(count(alone))) == (0, "–")


def test_claims_of_other_readings_do_not_count():
    claims = [claim({"artifact": "a", "status": here}) for here in ("supported", "inconclusive", "missing numbers")]
    found = count_claims([*claims, claim({"artifact": "b", "status": "refuted"})], {"b"})
    assert found.checked == 2 and found.statuses.total() == 3


def test_tables_say_what_is_true_of_their_seeds():
    one = {"seeds": "1"}
    assert seeds_said(lines(one, one | {"metric": "accuracy_var"})) == "ours of 1 of the paper's 5 seeds"
    said = "2 of our 3 numbers rest on fewer seeds than the paper's, 1 on one"
    rest = {"seeds": "5", "metric": "loss_mean"}
    ignored = ({"seeds": "0", "verdict": "not run"}, {"seeds": "1", "metric": "samples_train"}, one | {"reported": ""})
    assert seeds_said(lines(one, {"metric": "accuracy_var"}, rest, *ignored)) == said
    assert seeds_said(lines(rest)) == "" and seeds_said([]) == ""


# -- what a paper's method gains, ours and as printed; numbers that a paper prints more than once -----
HEADLINE = Headline(
    setting="x", method={"algorithm": "fedfv", "hyperparameters": {"alpha": 0.5}}, baseline={"algorithm": "fedavg"},
    fairness="std", utility="acc", source="abstract",
)  # fmt: skip


def headline(algorithm, hyperparameters, metric, ours, reported, seeds="2", setting="x", by_seed=""):
    return compared({
        "ours_by_seed": by_seed,
        "setting": setting, "algorithm": algorithm, "hyperparameters": hyperparameters, "metric": metric, "ours": ours,
        "reported": reported, "seeds": seeds, "reported_seeds": "5",
    })  # fmt: skip


HEADLINES = [
    headline("fedavg", "", "std", "11", "12"),
    headline("fedfv", "alpha=0.5", "std", "2", "3", "1"),
    headline("fedfv", "alpha=0.9", "std", "9", "9"),
    headline("fedavg", "", "acc", "80", "81", setting="other"),
    headline("fedavg", "", "acc", "81", "80"),
    headline("fedfv", "alpha=0.5", "acc", "81.5", "79"),
    headline("fedfv", "alpha=0.5", "acc", "70", "70"),  # another table: the first counts
]


def test_the_method_is_held_against_the_baseline_in_one_setting():
    both = changes(HEADLINE, HEADLINES)
    assert both == {"ours": Change(11, 2, 0.5, 1), "reported": Change(12, 3, -1, 5)}


def test_ours_are_held_against_each_other_over_the_seeds_that_both_have():
    """The baseline has 11 over seeds 0 and 1, of which the method has the first: 12 there. Without a common one: 11."""
    method = headline("fedfv", "alpha=0.5", "std", "2", "3", "1", by_seed="0:2")
    lines = [headline("fedavg", "", "std", "11", "12", by_seed="0:12;1:10"), method]
    assert changes(HEADLINE, lines) == {"ours": Change(12, 2, None, 1), "reported": Change(12, 3, None, 5)}
    lines[1] = replace(method, ours_by_seed="7:2")
    assert changes(HEADLINE, lines)["ours"] == Change(11, 2, None, 1)


def test_a_number_that_is_not_there_is_none():
    both = changes(HEADLINE, [HEADLINES[0], HEADLINES[4], headline("fedfv", "alpha=0.5", "std", "", "3", "0")])
    assert both["ours"] == Change(11, None, None, 2) and both["reported"] == Change(12, 3, None, 5)


def test_a_headline_says_if_something_was_chosen_by_the_methods_own_numbers():
    chosen = {"method": "fedfv", "baseline": "fedavg"}
    for role, algorithm in chosen.items():
        lines = [replace(line, verdict="fitted") if line.algorithm == algorithm else line for line in HEADLINES]
        both = changes(HEADLINE, lines)
        assert (both["ours"].fitted, both["reported"].fitted) == (role == "method", False)
