"""Runs -> collected tables: gaps, final metrics, local optima, surrogates, files that do not belong together."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

from fairfl.jobs import collect
from fairfl.judgement.collection import CollectSpec, tidy
from fairfl.metrics.registry import DIFFER
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import fingerprint

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
    "late_evaluations": None,
    "baseline": [],
    "runs": [{"id": "s/eagle/lambda=1.0/seed7", "algorithm": "eagle", "hyperparameters": "lambda=1.0", "seed": 7}],
    "local_only": False,
    "seeds": [7],
    "optima_seeds": [7],
    "surrogates": 0,
    "loss_unit": "nats",
    "clients": 2,
    "code": {},
}


MADE = {"setting": "s", "algorithm": "eagle", "variant": "lambda=1.0", "seed": 7}


def write_run(results, run, shift=0.0, order=(3, 0, 2, 1), **summary):
    """Files of a run whose losses are LOSS + shift; the rows lie in an order of their own."""
    folder = results / "runs" / run["id"]
    folder.mkdir(parents=True)
    table = {"round": [0, 0, 4, 4], "client": [0, 1, 0, 1]}
    for number, part in enumerate(PARTS):
        table[f"loss_{part}"] = np.array(LOSS[part]).ravel() + shift
        table[f"accuracy_{part}"] = [0.0, 0.0, 0.5 + number / 8, 0.25]
        table[f"recall_{part}"] = [0.0, 0.0, 0.375, 0.125 + number / 8]
        table[f"samples_{part}"] = [8, 4, 8, 4]
    pd.DataFrame(table).iloc[list(order)].to_parquet(folder / "metrics.parquet", index=False)
    setting, algorithm, variant, _ = run["id"].split("/")
    spec = {"setting": setting, "algorithm": algorithm, "variant": variant, "seed": run["seed"]}
    summary |= {"spec": spec, "fingerprint": fingerprint(spec), "data_source": "drawn by hand", "measures": {}}
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
    _, curves = tidy(CollectSpec(**SPEC), results)
    assert len(curves) == 4
    for part in PARTS:
        for row in curves.itertuples():
            expected = LOSS[part][row.round // 4][row.client] - BEST[part][row.client]
            assert getattr(row, f"gap_{part}") == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("reported", "gap", "gaps"),
    [("test", "test", [0.5, 0.125]), ("train", "validation", [0.125, 0.25]), ("validation", "train", [0.25, 0.125])],
)
def test_final_metrics_are_those_of_the_last_round_on_the_parts_asked_for(results, reported, gap, gaps):
    final, _ = tidy(CollectSpec(**SPEC | {"reported_part": reported, "gap_part": gap, "loss_unit": "mse"}), results)
    assert {"mse", "mse^2"} < set(final["unit"]) and "nats" not in set(final["unit"])
    found, number = values(final), PARTS.index(reported)
    loss = LOSS[reported][1]
    assert found["gap_max"] == max(gaps) and found["gap_min"] == min(gaps)
    assert found["gap_var"] == pytest.approx(np.var(gaps, ddof=1))
    assert found["gap_var_population"] == pytest.approx(np.var(gaps))
    mixed = [LOSS[gap][1][k] - BEST["validation"][k] for k in range(2)]
    wanted = {"gap_max_mixed": max(mixed), "gap_min_mixed": min(mixed), "gap_var_mixed": np.var(mixed, ddof=1)}
    here = {} if gap == "validation" else wanted  # there it is the gap itself
    assert {name: found[name] for name in found if name.endswith("_mixed")} == pytest.approx(here)
    assert found["accuracy_balanced"] == (0.75 + number / 8) / 2
    assert found["accuracy_balanced_recall"] == (0.5 + number / 8) / 2
    assert found["loss_mean"] == sum(loss) / 2
    assert [found["loss_client_0"], found["loss_client_1"]] == loss
    assert [found["gap_client_0"], found["gap_client_1"]] == gaps
    assert [found["accuracy_client_0"], found["accuracy_client_1"]] == [0.5 + number / 8, 0.25]


@pytest.mark.parametrize("evaluations", [1, 2, 5])
def test_late_metrics_are_means_over_the_last_evaluations_of_trained_models(tmp_path, evaluations):
    """Not over the untrained model, however many evaluations are asked for, and beside the last round's own."""
    folder = write_run(tmp_path, SPEC["runs"][0])
    write_optima(tmp_path, 7)
    table = pd.read_parquet(folder / "metrics.parquet")
    middle = table[table["round"] == 4].assign(round=2, accuracy_test=[0.125, 0.625])
    pd.concat([table, middle]).to_parquet(folder / "metrics.parquet", index=False)
    found = values(tidy(CollectSpec(**SPEC | {"late_evaluations": evaluations}), tmp_path)[0])
    last, before = [0.75, 0.25], [0.125, 0.625]
    late = [last] if evaluations == 1 else [before, last]
    assert found["accuracy_var"] == pytest.approx(np.var(last))
    assert found["accuracy_var_late"] == pytest.approx(np.mean([np.var(each) for each in late]))
    assert found["accuracy_global_late"] == pytest.approx(np.mean(late))
    assert found["gap_max_late"] == found["gap_max"] == 0.5
    assert not [name for name in found if name.startswith("accuracy_client") and name.endswith("_late")]


def test_every_seed_is_compared_with_its_own_optima(results):
    other = {"id": "s/eagle/lambda=1.0/seed8", "algorithm": "eagle", "hyperparameters": "lambda=1.0", "seed": 8}
    write_run(results, other)
    write_optima(results, 8, {part: [0.0, 0.0] for part in PARTS})
    both = SPEC | {"runs": [*SPEC["runs"], other], "seeds": [7, 8], "optima_seeds": [7, 8]}
    final, curves = tidy(CollectSpec(**both), results)
    assert final[final["metric"] == "gap_max"]["value"].tolist() == [0.5, 0.75]
    assert len(curves) == 8


def test_a_local_optimum_that_diverged_makes_gaps_nan(tmp_path):
    write_run(tmp_path, SPEC["runs"][0])
    write_optima(tmp_path, 7, BEST | {"test": [None, 0.375]})
    final, curves = tidy(CollectSpec(**SPEC | {"local_only": True}), tmp_path)
    found = values(final)
    assert all(np.isnan(found[name]) for name in ("gap_max", "gap_min", "gap_var", "gap_client_0"))
    assert found["gap_client_1"] == 0.125 and found["loss_mean"] == 0.625
    assert np.isnan(values(final, "local_only")["local_loss_max"])
    assert curves["gap_test"].isna().sum() == 2 and not curves["gap_train"].isna().any()


def command(folder, **changes):
    """The job's files: final metrics, curves."""
    final, rounds = folder / "tidy/s.csv", folder / "tidy/s.rounds.parquet"
    arguments = ["--results", str(folder), "--final", str(final), "--rounds", str(rounds)]
    collect.main(["--spec", json.dumps(SPEC | changes), *arguments])
    return final, rounds


def edit_run(results, change, run=SPEC["runs"][0]["id"]):
    path = results / "runs" / run / "metrics.parquet"
    change(table := pd.read_parquet(path))
    table.to_parquet(path, index=False)


def test_a_client_without_samples_is_said_beside_the_numbers_of_the_others(results):
    def change(table):
        table.loc[table["client"] == 1, "samples_test"] = 0

    assert set(tidy(CollectSpec(**SPEC), results)[0]["partition"].dropna()) == {""}
    edit_run(results, change)
    final = tidy(CollectSpec(**SPEC), results)[0]
    assert values(final)["n_skipped"] == 1 and values(final)["accuracy_mean"] == 0.75
    assert set(final["partition"].dropna()) == {"clients without test samples, and so without numbers: 1 of 2"}


@pytest.mark.parametrize("loss", [np.nan, np.inf])
def test_a_diverged_client_leaves_no_number_though_its_model_predicts_something(results, loss):
    def change(table):
        table.loc[(table["client"] == 1) & (table["round"] == 4), "loss_test"] = loss

    edit_run(results, change)
    found = values(tidy(CollectSpec(**SPEC), results)[0])
    assert found["n_skipped"] == 0 and found["accuracy_client_0"] == 0.75
    wanted = ("accuracy_mean", "accuracy_balanced", "accuracy_worst", "accuracy_worst10", "accuracy_best10", "loss_std",
              "accuracy_parity", "accuracy_area", "agnostic_loss")  # fmt: skip
    assert all(np.isnan(found[name]) for name in (*wanted, "accuracy_client_1", "gap_max", "gap_client_1"))


# -- surrogates -------------------------------------------------------------------------------
CLUSTERS = {0: [1], 1: [0]}  # cluster -> clients
BAYES = {"best": {"train": [0.25, 0.125], "test": [0.5, 0.375]}, "last": {"train": [0.125, 0.0], "test": [0.625, 0.75]}}


def write_surrogates(results, seed=7, clusters=CLUSTERS, bayes=BAYES):
    folder = results / "surrogates" / "s" / f"seed{seed}"
    folder.mkdir(parents=True)
    for number, clients in clusters.items():
        epochs = {
            name: {"epoch": 3, **{f"loss_{part}": [losses[k] for k in clients] for part, losses in of_part.items()}}
            for name, of_part in bayes.items()
        }
        (folder / f"cluster{number}.json").write_text(json.dumps({"clients": clients, **epochs}))


def with_surrogates(results, **changes):
    """Final metrics and curves of a run that is evaluated on train and test only."""
    write_run(results, SPEC["runs"][0])
    edit_run(results, lambda table: [table.pop(name) for name in list(table) if name.endswith("validation")])
    write_surrogates(results, **changes)
    return tidy(CollectSpec(**SPEC | {"optima_seeds": [], "surrogates": 2}), results)


def test_excess_risk_is_the_loss_above_the_surrogate_of_the_clients_own_cluster(tmp_path):
    final, curves = with_surrogates(tmp_path)
    found = values(final)
    assert (found["excess_client_0"], found["excess_client_1"]) == (0.25, 0.125)  # 0.75 - 0.5 and 0.5 - 0.375
    assert (found["faa"], found["faa_last"], found["agnostic_loss"]) == (0.125, 0.375, 0.75)
    for row in curves.itertuples():
        for part in ("train", "test"):
            loss = LOSS[part][row.round // 4][row.client]
            assert getattr(row, f"excess_{part}") == loss - BAYES["best"][part][row.client]
            assert getattr(row, f"excess_last_{part}") == loss - BAYES["last"][part][row.client]
    assert not [name for name in curves if "validation" in name or name.startswith("gap")]


# -- along training, clusters, regressions -------------------------------------------------------
def test_rounds_to_an_accuracy_survive_the_csv_where_it_is_never_reached(results):
    def change(table):
        table.loc[table["round"] == 4, "accuracy_test"] = [0.75, 0.5]

    edit_run(results, change)
    final, _ = command(results)
    written = pd.read_csv(final).set_index("metric")
    assert written.loc["rounds_to_accuracy60", ["value", "unit"]].tolist() == [4, "rounds"]
    assert written.loc["rounds_to_accuracy65", "value"] == np.inf
    assert written.loc["accuracy_area", ["value", "unit"]].tolist() == [0.625, "fraction"]
    assert ",rounds_to_accuracy65,inf,rounds," in final.read_text()


def test_models_that_clients_follow_are_held_against_the_true_clusters(tmp_path):
    write_run(tmp_path, SPEC["runs"][0], memberships=[[0.25, 0.75], [1.0, 0.0]], clusters=[0, 1])
    found = values(tidy(CollectSpec(**SPEC | {"optima_seeds": []}), tmp_path)[0])
    assert (found["cluster_client_0"], found["cluster_client_1"], found["assignment_rand"]) == (1, 0, 1)


# -- beside a baseline ------------------------------------------------------------------------
def against(tmp_path, *variants):
    """Final metrics with baseline fedavg, of runs (algorithm, hyper-parameters) with seeds 7 and 8."""
    runs = []
    for (algorithm, shown), seed in product(variants, (7, 8)):
        run = f"s/{algorithm}/{shown or 'default'}/seed{seed}"
        runs.append({"id": run, "algorithm": algorithm, "hyperparameters": shown, "seed": seed})
    for run in runs:
        write_run(tmp_path, run)
        if run["algorithm"] != "fedavg":
            edit_run(tmp_path, lambda table, run=run: rise(table, run["seed"]), run["id"])
    plain = [f"s/fedavg/default/seed{seed}" for seed in (7, 8)]
    spec = SPEC | {"runs": runs, "seeds": [7, 8], "optima_seeds": [], "baseline": plain}
    return tidy(CollectSpec(**spec), tmp_path)[0]


def rise(table, seed):
    """Client 1, of accuracy 0.25, gains 0.25; with seed 8 it loses as much."""
    table.loc[table["client"] == 1, "accuracy_test"] += 0.25 if seed == 7 else -0.25


def test_runs_are_held_against_the_baselines_run_of_the_same_seed(tmp_path):
    final = against(tmp_path, ("fedavg", ""), ("fedavg", "dp.sigma=1"), ("qffl", "q=1.0"))
    of_seed = {seed: values(final[final["seed"] == seed], "qffl") for seed in (7, 8)}
    assert (of_seed[7]["accuracy_gain"], of_seed[7]["improved_suffering_pct"]) == (0.125, 100)
    assert (of_seed[8]["accuracy_gain"], of_seed[8]["improved_suffering_pct"]) == (-0.125, 0)
    assert of_seed[7]["improved_suffering_gain"] == 0.25 and of_seed[7]["degraded_well_pct"] == 0
    own = final[final["algorithm"] == "fedavg"].set_index(["hyperparameters", "metric"])["value"]
    assert (own["", "accuracy_gain"] == 0).all() and (own["", "cv_improvement_pct"] == 0).all(), "its own zero"
    assert "accuracy_gain" in own["dp.sigma=1"], "another variant of the algorithm is held against it too"


OTHER = {"setting": "s", "algorithm": "fedavg", "variant": "default", "seed": 7}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spec": MADE | {"seed": 8}}, r"lambda=1\.0/seed7/summary\.json: the fingerprint does not belong"),
        ({"spec": OTHER, "fingerprint": fingerprint(OTHER)}, "belongs to run s/fedavg/default/seed7"),
    ],
    ids=["forged", "of another run"],
)
def test_a_summary_that_is_not_the_runs_is_refused_by_name(results, changes, message):
    path = results / "runs" / SPEC["runs"][0]["id"] / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(FairflError, match=message):
        tidy(CollectSpec(**SPEC), results)


def test_the_command_writes_the_same_bytes_in_every_order_of_rows(tmp_path):
    made = []
    for number, order in enumerate([(0, 1, 2, 3), (3, 1, 2, 0)]):
        folder = tmp_path / str(number)
        write_run(folder, SPEC["runs"][0], shift=1 / 3, order=order)
        write_optima(folder, 7)
        final, rounds = command(folder, local_only=True)
        made.append(final.read_bytes())
        assert len(pd.read_parquet(rounds)) == 4
        assert sorted(p.name for p in final.parent.iterdir()) == ["s.csv", "s.rounds.parquet"]
    assert made[0] == made[1]
    mark = fingerprint(MADE)
    text = made[0].decode()
    made_by = f"{SPEC['runs'][0]['id']},{mark},drawn by hand,,"
    assert f"s,eagle,lambda=1.0,7,loss_mean,0.958333333,nats,toy,4,{made_by}\n" in text
    assert "s,local_only,,7,local_loss_max,0.375,nats,toy,4,optima/s/seed7,,,,\n" in text
    assert "\r" not in text


RUNS = [SPEC["runs"][0] | {"id": f"s/eagle/lambda=1.0/seed{seed}", "seed": seed} for seed in (7, 8)]
TWO = SPEC | {"runs": RUNS, "seeds": [7, 8], "optima_seeds": []}


@pytest.mark.parametrize(("second", "same"), [(["north", "west"], True), (["west", "north"], False)])
def test_numbers_of_one_client_are_of_one_owner(tmp_path, second, same):
    for run, owners in zip(RUNS, (["north", "west"], second), strict=True):
        write_run(tmp_path, run, owners=owners)
    final, curves = tidy(CollectSpec(**TWO), tmp_path)
    assert final["metric"].str.contains("_client_").any() == same
    assert {"accuracy_mean", "loss_mean"} <= set(final["metric"]), "means are of all, whoever they are"
    assert set(final["partition"]) == ({""} if same else {DIFFER})
    assert set(final["owners"]) == {json.dumps(["north", "west"]), json.dumps(second)}
    assert curves.groupby("client")["owner"].nunique().tolist() == ([1, 1] if same else [2, 2])


def test_data_without_named_owners_have_no_column_of_them(tmp_path):
    for run in RUNS:
        write_run(tmp_path, run)
    final, curves = tidy(CollectSpec(**TWO), tmp_path)
    assert "owners" not in final and "owner" not in curves and final["metric"].str.contains("_client_").any()
