"""Runs -> tidy tables: gaps, final metrics, local optima, files that do not belong together."""

import json

import numpy as np
import pandas as pd
import pytest

from fairfl import tidy
from fairfl.errors import FairflError
from fairfl.provenance.fingerprint import fingerprint

PARTS = ("train", "validation", "test")
LOSS = {  # part -> loss [round 0, round 4][client]
    "train": [[1.0, 1.5], [0.5, 0.25]],
    "validation": [[1.1, 1.6], [0.625, 0.375]],
    "test": [[1.2, 1.7], [0.75, 0.5]],
}
BEST = {"train": [0.25, 0.125], "validation": [0.5, 0.125], "test": [0.25, 0.375]}
SPEC = {
    "setting": "s",
    "data": "toy",
    "rounds": 4,
    "reported_part": "test",
    "gap_part": "test",
    "runs": [{"id": "s/eagle/lambda=1.0/seed7", "algorithm": "eagle", "hyperparameters": "lambda=1.0", "seed": 7}],
    "local_only": False,
    "seeds": [7],
    "optima_seeds": [7],
    "clients": 2,
    "code": {},
}


MADE = {"setting": "s", "algorithm": "eagle", "arm": "lambda=1.0", "seed": 7}


def write_run(results, run, shift=0.0, order=(3, 0, 2, 1)):
    """Files of a run whose losses are LOSS + shift; the rows lie in an order of their own."""
    folder = results / "runs" / run["id"]
    folder.mkdir(parents=True)
    table = {"round": [0, 0, 4, 4], "client": [0, 1, 0, 1]}
    for number, part in enumerate(PARTS):
        table[f"loss_{part}"] = np.array(LOSS[part]).ravel() + shift
        table[f"accuracy_{part}"] = [0.0, 0.0, 0.5 + number / 8, 0.25]
        table[f"recall_{part}"] = [0.0, 0.0, 0.375, 0.125 + number / 8]
    pd.DataFrame(table).iloc[list(order)].to_parquet(folder / "metrics.parquet", index=False)
    setting, algorithm, arm, _ = run["id"].split("/")
    spec = {"setting": setting, "algorithm": algorithm, "arm": arm, "seed": run["seed"]}
    summary = {"spec": spec, "fingerprint": fingerprint(spec), "data_source": "drawn by hand"}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def write_optima(results, seed, best=BEST):
    folder = results / "optima" / "s" / f"seed{seed}"
    folder.mkdir(parents=True)
    for k in range(2):
        (folder / f"client{k}.json").write_text(json.dumps({f"loss_{part}": best[part][k] for part in PARTS}))


@pytest.fixture
def results(tmp_path):
    write_run(tmp_path, SPEC["runs"][0])
    write_optima(tmp_path, 7)
    return tmp_path


def values(final, algorithm="eagle"):
    mine = final[final["algorithm"] == algorithm]
    return dict(zip(mine["metric"], mine["value"], strict=True))


def test_a_gap_is_the_loss_minus_the_local_optimum_of_the_same_client_and_part(results):
    _, curves = tidy.tidy(SPEC, results)
    assert len(curves) == 4
    for part in PARTS:
        for row in curves.itertuples():
            expected = LOSS[part][row.round // 4][row.client] - BEST[part][row.client]
            assert getattr(row, f"gap_{part}") == pytest.approx(expected, abs=1e-15)


def test_curves_say_first_which_run_they_belong_to(results):
    _, curves = tidy.tidy(SPEC, results)
    assert list(curves)[:4] == ["setting", "algorithm", "hyperparameters", "seed"]
    assert curves.iloc[0, :4].tolist() == ["s", "eagle", "lambda=1.0", 7]


@pytest.mark.parametrize(
    ("reported", "gap", "gaps"),
    [("test", "test", [0.5, 0.125]), ("train", "validation", [0.125, 0.25]), ("validation", "train", [0.25, 0.125])],
)
def test_final_metrics_are_those_of_the_last_round_on_the_parts_asked_for(results, reported, gap, gaps):
    final, _ = tidy.tidy(SPEC | {"reported_part": reported, "gap_part": gap}, results)
    found, number = values(final), PARTS.index(reported)
    loss = LOSS[reported][1]
    assert found["gap_max"] == max(gaps) and found["gap_min"] == min(gaps)
    assert found["gap_var"] == pytest.approx(np.var(gaps, ddof=1))
    assert found["accuracy_balanced"] == (0.75 + number / 8) / 2
    assert found["accuracy_balanced_recall"] == (0.5 + number / 8) / 2
    assert found["loss_mean"] == sum(loss) / 2
    assert [found["loss_client_0"], found["loss_client_1"]] == loss
    assert [found["gap_client_0"], found["gap_client_1"]] == gaps
    assert [found["accuracy_client_0"], found["accuracy_client_1"]] == [0.5 + number / 8, 0.25]


def test_every_final_row_says_where_it_comes_from(results):
    final, _ = tidy.tidy(SPEC, results)
    row = final.iloc[0]
    assert list(final) == ["setting", "algorithm", "hyperparameters", "seed", "metric", "value", "unit", "data",
                           "rounds", "run", "fingerprint", "source"]  # fmt: skip
    assert (row["setting"], row["data"], row["rounds"], row["run"]) == ("s", "toy", 4, SPEC["runs"][0]["id"])
    assert (row["fingerprint"], row["source"]) == (fingerprint(MADE), "drawn by hand")
    units = dict(zip(final["metric"], final["unit"], strict=True))
    assert (units["gap_max"], units["gap_var"], units["accuracy_balanced"]) == ("nats", "nats^2", "fraction")


def test_every_seed_is_compared_with_its_own_optima(results):
    other = {"id": "s/eagle/lambda=1.0/seed8", "algorithm": "eagle", "hyperparameters": "lambda=1.0", "seed": 8}
    write_run(results, other)
    write_optima(results, 8, {part: [0.0, 0.0] for part in PARTS})
    both = SPEC | {"runs": [*SPEC["runs"], other], "seeds": [7, 8], "optima_seeds": [7, 8]}
    final, curves = tidy.tidy(both, results)
    assert final[final["metric"] == "gap_max"]["value"].tolist() == [0.5, 0.75]
    assert len(curves) == 8


def test_local_only_has_its_losses_on_the_gap_part(results):
    final, _ = tidy.tidy(SPEC | {"local_only": True, "gap_part": "validation"}, results)
    assert values(final, "local_only") == {
        "local_loss_min": 0.125,
        "local_loss_max": 0.5,
        "loss_client_0": 0.5,
        "loss_client_1": 0.125,
    }
    row = final[final["algorithm"] == "local_only"].iloc[0]
    assert (row["run"], row["hyperparameters"], row["seed"]) == ("optima/s/seed7", "", 7)


def test_local_only_is_absent_unless_asked_for(results):
    final, _ = tidy.tidy(SPEC, results)
    assert set(final["algorithm"]) == {"eagle"}


def test_a_local_optimum_that_diverged_makes_gaps_nan(tmp_path):
    write_run(tmp_path, SPEC["runs"][0])
    write_optima(tmp_path, 7, BEST | {"test": [None, 0.375]})
    final, curves = tidy.tidy(SPEC | {"local_only": True}, tmp_path)
    found = values(final)
    assert all(np.isnan(found[name]) for name in ("gap_max", "gap_min", "gap_var", "gap_client_0"))
    assert found["gap_client_1"] == 0.125 and found["loss_mean"] == 0.625
    assert np.isnan(values(final, "local_only")["local_loss_max"])
    assert curves["gap_test"].isna().sum() == 2 and not curves["gap_train"].isna().any()


def test_a_setting_without_local_optima_has_losses_and_no_gaps(tmp_path):
    write_run(tmp_path, SPEC["runs"][0])
    final, _ = tidy.tidy(SPEC | {"optima_seeds": []}, tmp_path)
    found = values(final)
    assert not [name for name in found if name.startswith("gap")] and found["loss_mean"] == 0.625


def edit_run(results, change, run=SPEC["runs"][0]["id"]):
    path = results / "runs" / run / "metrics.parquet"
    change(table := pd.read_parquet(path))
    table.to_parquet(path, index=False)


def test_a_client_without_samples_is_left_out_of_the_part_that_it_lacks(results):
    def change(table):
        table.loc[table["client"] == 1, ["loss_test", "accuracy_test", "recall_test"]] = np.nan

    edit_run(results, change)
    found = values(tidy.tidy(SPEC | {"gap_part": "validation"}, results)[0])
    assert (found["loss_mean"], found["accuracy_mean"], found["accuracy_std"]) == (0.75, 0.75, 0)
    assert "accuracy_client_1" not in found and found["n_skipped"] == 1
    assert (found["gap_max"], found["gap_min"]) == (0.25, 0.125)  # both have validation samples
    whole = values(tidy.tidy(SPEC | {"reported_part": "train"}, results)[0])
    assert whole["n_skipped"] == 0 and "gap_client_1" not in whole and whole["gap_max"] == 0.5


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_a_diverged_client_leaves_no_number_though_its_model_predicts_something(results, loss):
    def change(table):
        table.loc[(table["client"] == 1) & (table["round"] == 4), "loss_test"] = loss

    edit_run(results, change)
    found = values(tidy.tidy(SPEC, results)[0])
    assert found["n_skipped"] == 0 and found["accuracy_client_0"] == 0.75
    wanted = ("accuracy_mean", "accuracy_balanced", "accuracy_worst", "accuracy_worst10", "accuracy_best10", "loss_std")
    assert all(np.isnan(found[name]) for name in (*wanted, "accuracy_client_1", "gap_max", "gap_client_1"))


# -- beside a baseline ------------------------------------------------------------------------
def against(tmp_path, *arms):
    """Final metrics with baseline fedavg, of runs (algorithm, hyper-parameters) with seeds 7 and 8."""
    runs = [
        {
            "id": f"s/{algorithm}/{shown or 'default'}/seed{seed}",
            "algorithm": algorithm,
            "hyperparameters": shown,
            "seed": seed,
        }
        for algorithm, shown in arms
        for seed in (7, 8)
    ]
    for run in runs:
        write_run(tmp_path, run)
        if run["algorithm"] != "fedavg":
            edit_run(tmp_path, lambda table, run=run: rise(table, run["seed"]), run["id"])
    spec = SPEC | {"runs": runs, "seeds": [7, 8], "optima_seeds": [], "baseline": "fedavg"}
    return tidy.tidy(spec, tmp_path)[0]


def rise(table, seed):
    """Client 1, of accuracy 0.25, gains 0.25; with seed 8 it loses as much."""
    table.loc[table["client"] == 1, "accuracy_test"] += 0.25 if seed == 7 else -0.25


def test_runs_are_held_against_the_baselines_run_of_the_same_seed(tmp_path):
    final = against(tmp_path, ("fedavg", ""), ("qffl", "q=1.0"))
    of_seed = {seed: values(final[final["seed"] == seed], "qffl") for seed in (7, 8)}
    assert (of_seed[7]["accuracy_gain"], of_seed[7]["improved_suffering_pct"]) == (0.125, 100)
    assert (of_seed[8]["accuracy_gain"], of_seed[8]["improved_suffering_pct"]) == (-0.125, 0)
    assert of_seed[7]["improved_suffering_gain"] == 0.25 and of_seed[7]["degraded_well_pct"] == 0
    assert "accuracy_gain" not in values(final, "fedavg")


@pytest.mark.parametrize(
    "arms",
    [(("qffl", "q=1.0"),), (("fedavg", "a=1"), ("fedavg", "a=2"), ("qffl", "q=1.0"))],
    ids=["none", "several"],
)
def test_without_one_baseline_there_is_nothing_to_hold_against(tmp_path, arms):
    assert "accuracy_gain" not in set(against(tmp_path, *arms)["metric"])


def test_a_forged_summary_is_refused_by_name(results):
    path = results / "runs" / SPEC["runs"][0]["id"] / "summary.json"
    summary = json.loads(path.read_text())
    summary["spec"]["seed"] = 8
    path.write_text(json.dumps(summary))
    with pytest.raises(FairflError, match=r"lambda=1\.0/seed7/summary\.json: the fingerprint does not belong"):
        tidy.tidy(SPEC, results)


def test_a_missing_local_optimum_is_named(results):
    (results / "optima/s/seed7/client1.json").unlink()
    with pytest.raises(FileNotFoundError) as caught:
        tidy.tidy(SPEC, results)
    assert str(caught.value.filename).endswith("seed7/client1.json")


def test_the_command_writes_the_same_bytes_in_every_order_of_rows(tmp_path):
    made = []
    for number, order in enumerate([(0, 1, 2, 3), (3, 1, 2, 0)]):
        folder = tmp_path / str(number)
        write_run(folder, SPEC["runs"][0], shift=1 / 3, order=order)
        write_optima(folder, 7)
        final, rounds = folder / "tidy/s.csv", folder / "tidy/s.rounds.parquet"
        arguments = ["--results", str(folder), "--final", str(final), "--rounds", str(rounds)]
        tidy.main(["--spec", json.dumps(SPEC | {"local_only": True}), *arguments])
        made.append(final.read_bytes())
        assert len(pd.read_parquet(rounds)) == 4
        assert sorted(p.name for p in final.parent.iterdir()) == ["s.csv", "s.rounds.parquet"]
    assert made[0] == made[1]
    mark = fingerprint(MADE)
    text = made[0].decode()
    made_by = f"{SPEC['runs'][0]['id']},{mark},drawn by hand"
    assert f"s,eagle,lambda=1.0,7,loss_mean,0.958333333,nats,toy,4,{made_by}\n" in text
    assert "s,local_only,,7,local_loss_max,0.375,nats,toy,4,optima/s/seed7,,\n" in text
    assert "\r" not in text


def test_a_refused_run_leaves_no_table(results):
    (results / "runs" / SPEC["runs"][0]["id"] / "summary.json").unlink()
    final = results / "tidy/s.csv"
    arguments = ["--results", str(results), "--final", str(final), "--rounds", str(results / "tidy/s.parquet")]
    with pytest.raises(FileNotFoundError):
        tidy.main(["--spec", json.dumps(SPEC), *arguments])
    assert not final.parent.exists()


def test_a_summary_of_another_run_is_refused_by_name(results):
    folder = results / "runs" / SPEC["runs"][0]["id"]
    spec = {"setting": "s", "algorithm": "fedavg", "arm": "default", "seed": 7}
    (folder / "summary.json").write_text(
        json.dumps({"spec": spec, "fingerprint": fingerprint(spec), "data_source": ""})
    )
    with pytest.raises(FairflError, match="belongs to run s/fedavg/default/seed7"):
        tidy.tidy(SPEC, results)


def test_a_lost_client_is_refused_by_name(results):
    path = results / "runs" / SPEC["runs"][0]["id"] / "metrics.parquet"
    table = pd.read_parquet(path)
    table[table["client"] == 0].to_parquet(path, index=False)
    with pytest.raises(FairflError, match="metrics.parquet: its last round has not every client"):
        tidy.tidy(SPEC, results)


@pytest.mark.parametrize("name", ["runs/s/eagle/lambda=1.0/seed7/summary.json", "optima/s/seed7/client1.json"])
@pytest.mark.parametrize("content", ["{", "[]", "{}", '"a"'])
def test_a_damaged_record_is_named(results, name, content):
    (results / name).write_text(content)
    with pytest.raises(FairflError, match=f"{name.split('/')[-1]}: damaged"):
        tidy.tidy(SPEC, results)
