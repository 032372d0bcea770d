"""Numbers and claims that runs would check: against the papers' CSVs and the workflow's own comparison."""

import csv
import re

import pytest
import yaml

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import load_workload
from fairfl.planning import targets


@pytest.fixture(scope="module")
def workload(root):
    def load(**more):
        return load_workload(root, yaml.safe_load((root / "config.yaml").read_text()) | {"scale": "full"} | more)

    return load


def printed(root, path):
    """Lines with a number, or of a run that diverged, that are no points of curves."""
    lines = csv.DictReader((root / "papers/reported" / path).open())
    whole = [line for line in lines if not re.match(r"round=\d", line["note"])]
    return [line for line in whole if line["value"] or line["note"].startswith("diverged")]


def test_every_printed_number_of_a_run_counts_once(root, workload):
    for path, setting in (("eagle/table5.csv", "eagle_emnist_linear_a0.5"), ("fedfv/table3.csv", "fedfv_fmnist")):
        paper = path.partition("/")[0]
        load = workload(papers=[paper], artifacts=[path.replace("/", "_").removesuffix(".csv")])
        numbers = targets.numbers(load, root)
        assert sum(numbers.of_runs.values()) == len(printed(root, path)) > 30
        assert {place for place, _ in numbers.of_runs} == {setting}
        fedavg = sum(line["algorithm"] == "fedavg" for line in printed(root, path))
        assert numbers.of_runs[setting, Variant("fedavg", {})] == fedavg > 0


def test_numbers_of_several_artifacts_count_once(root, workload):
    """Table 19 prints FedAvg's numbers of table 1 again: only its other columns are new."""
    one, other, both = (
        targets.numbers(workload(papers=["fedeba"], artifacts=artifacts), root).published
        for artifacts in (["fedeba_table1"], ["fedeba_table19"], ["fedeba_table1", "fedeba_table19"])
    )
    assert max(one, other) < both < one + other


def test_counts_and_choices_belong_to_no_run_and_seconds_to_nobody(root, workload):
    numbers = targets.numbers(workload(papers=["focus"]), root).of_jobs
    assert numbers["focus_rotated_mnist_10", ""] == 5
    assert numbers["focus_rotated_mnist_10", "partition/focus_rotated_mnist_10/seed0"] == 3
    timed = targets.numbers(workload(papers=["focus"], artifacts=["focus_table12"]), root)
    assert not timed.published
    tuned = targets.numbers(workload(papers=["vred"], artifacts=["vred_table4", "vred_table5"]), root)
    assert not tuned.of_runs and tuned.of_jobs.total() > 40
    assert all(job.startswith(f"tune/{setting}/") for setting, job in tuned.of_jobs)
    (part,) = workload(papers=["fedfv"], algorithms=["fedavg"]).artifacts.keys() & {"fedfv_table3"}
    left = targets.numbers(workload(papers=["fedfv"], artifacts=[part], algorithms=["fedavg"]), root)
    assert left.of_runs.total() == 5 and left.unselected.total() > 40  # no run of the selection measures the others


def test_settings_that_a_scale_has_changed_judge_nothing(root, workload):
    numbers = targets.numbers(workload(scale="quick"), root)
    assert {place for place, _ in numbers.of_runs} == {"fedeba_toy", "focus_synthetic_10"}  # nothing is changed there
    claims = targets.checkable_claims(workload(scale="quick", papers=["eagle"]))
    assert claims.keys() == {"", "eagle_toy_2clients"}


def test_a_claim_needs_every_run_that_it_speaks_of(workload):
    load = workload(papers=["eagle"], artifacts=["eagle_table5"])
    (setting,) = load.variants
    every = {(setting, variant) for variant in load.variants[setting]}
    claims = targets.checkable_claims(load)
    assert claims[""] == claims[setting] == len(load.artifacts["eagle_table5"][2].claims) > 0
    assert targets.checkable_claims(load, every) == claims
    assert not targets.checkable_claims(load, set())
    without = {place for place in every if place[1].algorithm != "eagle"}
    assert targets.checkable_claims(load, without)[""] < claims[""]
