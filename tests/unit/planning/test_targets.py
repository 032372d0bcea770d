"""Numbers and claims that runs would check: against the papers' CSVs and the workflow's own comparison."""

import csv
import re

from fairfl.experiments.variant import Variant
from fairfl.planning import targets


def printed(root, path):
    """Lines with a number, or of a run that diverged, that are no points of curves."""
    lines = csv.DictReader((root / "papers/reported" / path).open())
    whole = [line for line in lines if not re.match(r"round=\d", line["note"])]
    return [line for line in whole if line["value"] or line["note"].startswith("diverged")]


def test_every_printed_number_of_a_run_counts_once(root, load):
    for path, setting in (("eagle/table9.csv", "eagle_emnist_cnn_a0.5"), ("fedfv/table3.csv", "fedfv_fmnist")):
        paper = path.partition("/")[0]
        found = load(papers=[paper], artifacts=[path.replace("/", "_").removesuffix(".csv")])
        numbers = targets.count_numbers(found, root)
        assert numbers.total() == len(printed(root, path)) > 30
        assert {place for place, _ in numbers} == {setting}
        fedavg = sum(line["algorithm"] == "fedavg" for line in printed(root, path))
        assert numbers[setting, Variant("fedavg", {})] == fedavg > 0


def test_numbers_of_several_artifacts_count_once(root, load):
    """Table 19 prints FedAvg's numbers of table 1 again: only its other columns are new."""
    one, other, both = (
        targets.count_numbers(load(papers=["fedeba"], artifacts=artifacts), root).total()
        for artifacts in (["fedeba_table1"], ["fedeba_table19"], ["fedeba_table1", "fedeba_table19"])
    )
    assert max(one, other) < both < one + other


def test_counts_and_choices_belong_to_no_run_and_seconds_to_nobody(root, load):
    numbers = targets.count_numbers(load(papers=["focus"]), root)
    assert numbers["focus_rotated_mnist_10", "partition/focus_rotated_mnist_10/seed0"] == 2
    assert "" not in {by for _, by in numbers}
    # A setting that is not as printed differs, whatever runs.
    assert (
        targets._measured_by(load(papers=["focus"]), "focus_rotated_mnist_10", Variant("", {}), "config_rounds") == ""
    )
    timed = targets.count_numbers(load(papers=["focus"], artifacts=["focus_table12"]), root)
    assert not timed
    tuned = targets.count_numbers(load(papers=["vred"], artifacts=["vred_table4", "vred_table5"]), root)
    assert tuned.total() > 40 and all(job.startswith(f"tune/{setting}/") for setting, job in tuned)
    (part,) = load(papers=["fedfv"], algorithms=["fedavg"]).artifacts.keys() & {"fedfv_table3"}
    left = targets.count_numbers(load(papers=["fedfv"], artifacts=[part], algorithms=["fedavg"]), root)
    no_run = sum(count for (_, by), count in left.items() if by is None)  # of the selection measures them
    assert left.total() - no_run == 5 and no_run > 40


def test_settings_that_a_scale_has_changed_judge_nothing(root, load):
    numbers = targets.count_numbers(load(scale="quick"), root)
    assert {place for place, by in numbers if isinstance(by, Variant)} == {
        "fedeba_toy",
        "focus_synthetic_10",
    }  # nothing is changed there
    claims = targets.checkable_claims(load(scale="quick", papers=["eagle"]))
    assert claims.keys() == {"", "eagle_toy_2clients"}


def test_a_claim_needs_every_run_that_it_speaks_of(load):
    found = load(papers=["eagle"], artifacts=["eagle_table5"])
    (setting,) = found.variants
    claims = targets.checkable_claims(found)
    assert claims[""] == claims[setting] == len(found.artifacts["eagle_table5"][2].claims) > 0
    others = {variant.algorithm for variant in found.variants[setting]} - {"eagle"}
    without = load(papers=["eagle"], artifacts=["eagle_table5"], algorithms=sorted(others))
    assert targets.checkable_claims(without)[""] < claims[""]
