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
    summary = {"spec": spec, "fingerprint": fingerprint(spec)}
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
                           "rounds", "run", "fingerprint"]  # fmt: skip
    assert (row["setting"], row["data"], row["rounds"], row["run"]) == ("s", "toy", 4, SPEC["runs"][0]["id"])
    assert row["fingerprint"] == fingerprint(MADE)
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
    assert np.isnan(found["gap_max"]) and found["loss_mean"] == 0.625


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
    assert f"s,eagle,lambda=1.0,7,loss_mean,0.958333333,nats,toy,4,{SPEC['runs'][0]['id']},{mark}\n" in text
    assert "s,local_only,,7,local_loss_max,0.375,nats,toy,4,optima/s/seed7,\n" in text
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
    (folder / "summary.json").write_text(json.dumps({"spec": spec, "fingerprint": fingerprint(spec)}))
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
