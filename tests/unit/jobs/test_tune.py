"""The tuning stage: what is chosen, from which numbers, and what a tuned run takes."""

import json

import pytest

from fairfl.experiments.workload import load_workload
from fairfl.jobs import train, tune
from fairfl.judgement.results import chosen_values
from fairfl.reporting.footer import facts_of
from fairfl.runtime.errors import FairflError
from fairfl.values import result_files
from fairfl.values.result_files import TunedChoice
from tests.unit.simulation.federations import spec_of as training_spec

POINTS = [
    {"setting": f"s~tuning~learning_rate={rate}", "shown": f"beta={beta}", "learning_rate": rate, "batch_size": 8,
     "hyperparameters": {"beta": beta}}
    for rate in (0.1, 0.5)
    for beta in (1.0, 2.0)
]  # fmt: skip
SPEC = {
    "setting": "s", "algorithm": "vred", "data": "digits", "metric": "accuracy_mean", "direction": "up",
    "seeds": [0, 1], "points": POINTS, "code": {},
}  # fmt: skip


def rows(values, seeds=(0, 1), metric="accuracy_mean", algorithm="vred"):
    """Tidy lines: value - 0.01 and value + 0.01 of each grid point, beside lines of other metrics."""
    return [
        {"setting": point["setting"], "algorithm": algorithm, "hyperparameters": point["shown"], "seed": str(seed),
         "metric": name, "value": text}
        for point, value in zip(POINTS, values, strict=True)
        for seed in seeds
        for name, text in ((metric, value and str(value + 0.02 * seed - 0.01)), ("loss_mean", "9"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "direction", "best", "value"),
    [
        ([0.2, 0.9, 0.4, 0.3], "up", (0.1, 2.0), 0.9),
        ([0.2, 0.9, 0.1, 0.3], "down", (0.5, 1.0), 0.1),
        ([0.9, 0.9, 0.9, 0.9], "up", (0.1, 1.0), 0.9),
        (["", 0.2, 0.3, ""], "up", (0.5, 1.0), 0.3),
        (["", "", "", ""], "up", (0.1, 1.0), None),
    ],
)
def test_the_best_mean_over_seeds_is_chosen_and_of_equal_ones_the_first(values, direction, best, value):
    result = tune.choose(tune.TuneSpec(**SPEC | {"direction": direction}), rows(values))
    assert (result["learning_rate"], result["hyperparameters"]["beta"], result["batch_size"]) == (*best, 8)
    assert result["value"] == (pytest.approx(value) if value else None)
    assert [point["value"] for point in result["points"]] == [pytest.approx(each) if each else None for each in values]
    assert (result["setting"], result["algorithm"], result["data"]) == ("s", "vred", "digits")


def test_one_diverged_seed_rules_a_point_out():
    lines = rows([0.2, 0.9, 0.4, 0.3])
    next(line for line in lines if line["hyperparameters"] == "beta=2.0" and line["metric"] == "accuracy_mean")[
        "value"
    ] = ""
    assert tune.choose(tune.TuneSpec(**SPEC), lines)["value"] == pytest.approx(0.4)


def test_the_only_point_of_a_grid_is_chosen_without_trials(tmp_path):
    spec, out = json.dumps(SPEC | {"points": POINTS[1:2]}), tmp_path / "choice.json"
    tune.main(["--spec", spec, "--trials", "--out", str(out)])
    result = json.loads(out.read_text())
    assert (result["hyperparameters"], result["value"], result["tried"]) == ({"beta": 2.0}, None, False)
    assert chosen_values(out) == {"learning_rate": 0.1, "hp_beta": 2.0}  # and not: diverged
    assert train.tuned(run(tuned="all"), result_files.read(out, TunedChoice)).hyperparameters == {"beta": 2.0}


@pytest.mark.parametrize(
    ("metric", "seeds", "message"),
    [
        ("acuracy_mean", (0, 1), r"tuning.metric: 'acuracy_mean'; did you mean 'accuracy_mean'"),
        ("accuracy_mean", (0,), r"learning_rate=0.1: vred\(beta=1.0\): no run of some seed"),
    ],
)
def test_an_unknown_metric_and_a_missing_seed_are_errors(metric, seeds, message):
    with pytest.raises(FairflError, match=message):
        tune.choose(tune.TuneSpec(**SPEC | {"metric": metric}), rows([0.1, 0.2, 0.3, 0.4], seeds))


def run(**changes):
    """A run that takes what was chosen."""
    spec = training_spec(setting="s", algorithm="vred", learning_rate=9.0, hyperparameters={"beta": 9.0})
    return train.TrainSpec(**spec.model_dump() | changes)


def choice():
    return TunedChoice(**tune.choose(tune.TuneSpec(**SPEC), rows([0.2, 0.9, 0.4, 0.3])))


@pytest.mark.parametrize(("applies", "beta"), [("all", 2.0), ("rates", 9.0)])
def test_a_tuned_run_takes_what_was_chosen(applies, beta):
    spec = train.tuned(run(tuned=applies), choice())
    assert (spec.learning_rate, spec.batch_size, spec.hyperparameters) == (0.1, 8, {"beta": beta})


def test_a_choice_for_another_run_is_refused():
    with pytest.raises(FairflError, match="chosen for algorithm 'vred', the run has 'semi_vred'"):
        train.tuned(run(algorithm="semi_vred", tuned="all"), choice())


# -- The trials of one algorithm: which runs they are, and what is made of them.


def test_no_table_says_that_tuning_chose_where_nothing_is_tried(root):
    settings = facts_of(load_workload(root, {"scale": "quick", "papers": ["fairbench"]}), "fairbench_table4").settings
    chosen = {name: facts.tuned for name, facts in settings.items()}
    assert chosen["fairbench_shards"] == "all" and chosen["fairbench_rotated"] is chosen["fairbench_regression"] is None
