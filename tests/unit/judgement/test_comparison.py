"""The comparison: every cell beside its reported number, with the right verdict and the same bytes each time."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from types import SimpleNamespace

import pytest

from fairfl.experiments.searches import Unstated
from fairfl.experiments.workload import load_workload
from fairfl.judgement.cells import Cell, number_text
from fairfl.judgement.comparison import comparison_lines, verdict
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import half_unit
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo
from tests.unit.reporting.demo import REPORTED, SETTING, TIDY

PAPER = {
    **demo.PAPER,
    "metrics": {
        "loss": {"name": "loss", "meaning": "mean loss", "unit": "nats", "direction": "down", "digits": 2},
        "acc": {"name": "accuracy", "meaning": "mean accuracy", "unit": "percent", "direction": "up", "digits": 1},
    },
    "algorithms": {
        "fedavg": {"title": "FedAvg"},
        "qffl": {"title": "q-FFL", "grid": {"q": [1, 2]}, "sources": {"q": "paper table 1"}},
    },
    "settings": {name: SETTING for name in ("same", "shorter", "other_data", "both", "fewer_seeds")},
    "artifacts": {
        "table1": {
            "kind": "table", "title": "Table 1", "caption": "Numbers", "columns": ["loss", "acc"],
            "settings": ["same", "shorter", "other_data", "both", "fewer_seeds"],
            "rows": [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}],
        },
        "figure1": {
            "kind": "figure", "title": "F", "caption": "f", "plot": "metric_curves", "settings": ["same"], "rows": [],
        },
    },
}  # fmt: skip
PATCHES = [
    {"match": ["shorter", "both"], "set": {"rounds": 10}, "why": "time"},
    {"match": ["other_data", "both"], "set": {"data": {"name": "digits"}}, "why": "no files"},
    {"match": ["fewer_seeds"], "set": {"seeds": [0]}, "why": "time"},
]


def build(
    root: Path,
    reported: str = "",
    artifacts: dict | None = None,
    metrics: dict | None = None,
    settings: dict | None = None,
    **config,
):
    """A workload with one run per row and seed: loss 5.0 and 5.2, accuracy 50 percent."""
    more = {key: PAPER[key] | (given or {}) for key, given in (("metrics", metrics), ("settings", settings))}
    paper = {**PAPER, **more, "artifacts": artifacts or PAPER["artifacts"]}
    demo.project(root, paper, *PATCHES)
    if reported:
        (root / "papers/reported/demo/table1.csv").write_text(REPORTED + reported)
    for setting in PAPER["settings"]:
        text = TIDY
        for algorithm, variant in (("fedavg", ""), ("qffl", "q=1.0")):
            for seed, loss in ((0, 5.0), (1, 5.2)):
                run = f"{setting}/{algorithm}/{variant or 'default'}/seed{seed},f{seed}"
                text += f"{setting},{algorithm},{variant},{seed},loss,{loss},nats,d,10,{run}\n"
                text += f"{setting},{algorithm},{variant},{seed},acc,0.5,fraction,d,10,{run}\n"
        (root / f"results/tidy/{setting}.csv").write_text(text)
    return load_workload(root, {"scale": "tiny", "papers": ["demo"], **config})


def lines_of(workload, root: Path) -> list[SimpleNamespace]:
    """The rows with their numbers as the file has them."""
    lines = comparison_lines(workload, root, demo.files_below(root / "results", workload))
    numbers = [column.name for column in fields(ComparisonLine) if column.type == float | None]
    return [
        SimpleNamespace(**asdict(line) | {key: number_text(getattr(line, key)) for key in numbers}) for line in lines
    ]


def compare(root: Path, *given, **options) -> list[SimpleNamespace]:
    return lines_of(build(root, *given, **options), root)


def one(rows: list[SimpleNamespace], setting: str, algorithm: str = "fedavg", metric: str = "loss") -> SimpleNamespace:
    (found,) = [r for r in rows if (r.setting, r.algorithm, r.metric) == (setting, algorithm, metric)]
    return found


def test_numbers_units_and_provenance(tmp_path) -> None:
    rows = compare(tmp_path, "table1,same,fedavg,,loss,5.3,0.2,std,nats,read off\n")
    line = one(rows, "same")
    assert (line.ours, line.ours_std, line.ours_by_seed, line.seeds) == ("5.1", "0.1", "0:5;1:5.2", 2)
    assert (line.reported, line.reported_spread, line.reported_note, line.note) == ("5.3", "0.2", "read off", "")
    assert line.difference == "-0.2"
    pooled = "pooled over 2 variants and the printed spread, 3 degrees of freedom"
    assert (line.reported_seeds, line.tolerance_source) == (2, pooled)
    # Both variants have 5.0 and 5.2, so 0.02 each; t of 3 degrees at 5 % is 3.182446.
    std = ((0.02 + 0.02 + 0.2**2) / 3) ** 0.5
    assert float(line.seed_std) == pytest.approx(std)
    assert float(line.tolerance) == pytest.approx(3.182446 * std + 0.005, abs=1e-6)
    assert line.runs == "same/fedavg/default/seed0;same/fedavg/default/seed1"
    assert (line.fingerprints, line.data, line.changed_by_scale) == ("f0;f1", "synthetic_gaussian", "")
    percent = one(rows, "same", metric="acc")
    assert (percent.ours, percent.unit) == ("50", "percent")


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [("same", "agrees"), ("fewer_seeds", "agrees"), ("shorter", "not comparable: scale"),
     ("other_data", "not comparable: stand-in"), ("both", "not comparable: stand-in and scale")],
)  # fmt: skip
def test_only_the_papers_own_setting_is_judged(tmp_path, setting, wanted) -> None:
    rows = compare(tmp_path, f"table1,{setting},fedavg,,loss,5.1,,,nats,\n")
    line = one(rows, setting)
    assert line.verdict == wanted
    assert ("digits (stand-in for synthetic_gaussian)" in line.data) == (setting in ("other_data", "both"))
    assert ("rounds: 100 -> 10" in line.changed_by_scale) == (setting in ("shorter", "both"))


def test_last_evaluations_widen_the_tolerance(tmp_path) -> None:
    """t s of seeds: sqrt(0.02), two degrees: 4.302653 x 0.141421; of evaluations, 18 degrees: 2.100922 x 0.5."""
    workload = build(tmp_path, "table1,same,fedavg,,loss,5.9,,,nats,\n")
    tidy = tmp_path / "results/tidy/same.csv"
    for seed in (0, 1):
        for metric, value, unit in (("loss_late_std", 0.5, "nats"), ("n_late", 10, "count")):
            run = f"same/fedavg/default/seed{seed},f{seed}"
            tidy.write_text(tidy.read_text() + f"same,fedavg,,{seed},{metric},{value},{unit},d,10,{run}\n")
    line = one(lines_of(workload, tmp_path), "same")
    assert (line.verdict, line.seed_std) == ("agrees", "0.5")
    assert float(line.tolerance) == pytest.approx(2.100922 * 0.5 + 0.005, abs=1e-6)


FACTS = {"length": {"key": "rounds", "values": [50, 100], "why": "not stated"}}


@pytest.mark.parametrize(
    ("chosen", "verdicts", "notes"),
    [
        ({"unstated": {"fitted": "100 rounds"}}, ("fitted", "agrees"), None),
        ({"unstated": {}}, ("agrees", "agrees"), None),  # searched, and nothing taken
        ({"fitted": {"qffl/q=1.0": "its step"}}, ("agrees", "fitted"), ("", "fitted: this row chose its step")),
        ({"fitted": {"qffl": "its step"}}, ("agrees", "fitted"), ("", "fitted: this row chose its step")),
    ],
)
def test_numbers_that_something_was_chosen_by_are_not_judged_and_the_others_are(
    tmp_path, chosen, verdicts, notes
) -> None:
    workload = build(tmp_path, "".join(f"table1,same,{name},loss,5.1,,,nats,\n" for name in ("fedavg,", "qffl,q=1.0")))
    if "unstated" in chosen:
        chosen = {"unstated": Unstated(facts=FACTS, targets={"loss": 0.1}, **chosen["unstated"])}
    workload.settings["same"] = workload.settings["same"].model_copy(update=chosen)
    found = [one(lines_of(workload, tmp_path), "same", name) for name in ("fedavg", "qffl")]
    assert tuple(line.verdict for line in found) == verdicts
    assert notes is None or tuple(line.note for line in found) == notes


SHARP = {"significance_level": 0.2}


@pytest.mark.parametrize(
    ("value", "config", "wanted"),
    [
        *((value, {}, "agrees") for value in ("5.71", "4.49", "5.4")),  # the tolerance is 0.6135
        *((value, {}, "differs") for value in ("5.72", "4.48")),
        ("5.4", SHARP | {"close_relative": 0.05}, "differs"),  # it is 0.2717, and 6 % of 5.4 are 0.324
        ("5.4", SHARP | {"close_relative": 0.06}, "close"),
    ],
)
def test_agreement_is_two_sided_includes_its_limit_and_limits_come_from_config(tmp_path, value, config, wanted) -> None:
    """Ours is 5.1."""
    workload = build(tmp_path, f"table1,same,fedavg,,loss,{value},,,nats,\n", verdict=config)
    assert one(lines_of(workload, tmp_path), "same").verdict == wanted


def test_numbers_without_a_unit_agree_to_their_significant_digits() -> None:
    assert half_unit(2.6e-4, "", 2) == pytest.approx(5e-6)
    assert half_unit(3, "", 2) == pytest.approx(0.05)
    assert half_unit(0.0, "", 2) == half_unit(7.0, "nats", 2) == 0.005


@pytest.mark.parametrize(
    ("reported", "wanted"),
    [
        ({"fedavg,": 1.2}, "inconclusive"),  # half of it is 0.6, the tolerance 0.6135
        ({"fedavg,": 0.05}, "inconclusive"),  # however far: a hit would not have counted either
        ({"fedavg,": 1.3}, "differs"),
        ({"fedavg,": 0}, "differs"),  # no half, no column
        ({"fedavg,": 0, "qffl,q=1.0": 0.1, "qffl,q=2.0": 0.2}, "inconclusive"),
        ({"fedavg,": 5.1, "qffl,q=1.0": 5.3, "qffl,q=2.0": 5.6}, "inconclusive"),  # range 0.5
        ({"fedavg,": 5.1, "qffl,q=1.0": 5.3, "qffl,q=2.0": 5.8}, "agrees"),
    ],
)
def test_a_limit_that_nearly_any_number_would_be_within_tells_nothing(tmp_path, reported, wanted) -> None:
    text = "".join(f"table1,same,{name},loss,{value},,,nats,\n" for name, value in reported.items())
    line = one(compare(tmp_path, text), "same")
    assert line.verdict == wanted
    assert float(line.tolerance) == pytest.approx(0.6135, abs=1e-4)


def single_seed(root: Path, reported: str, late: float | None) -> SimpleNamespace:
    """One seed of FedAvg, loss 5.0, and nothing of the others, beside two seeds of the paper."""
    workload = build(root, reported)
    tidy = root / "results/tidy/same.csv"
    run = "d,10,same/fedavg/default/seed0,f0\n"
    text = TIDY + f"same,fedavg,,0,loss,5.0,nats,{run}"
    if late is not None:
        text += f"same,fedavg,,0,loss_late_std,{late},nats,{run}same,fedavg,,0,n_late,10,count,{run}"
    tidy.write_text(text)
    return one(lines_of(workload, root), "same")


@pytest.mark.parametrize("late", [0.01, None])
@pytest.mark.parametrize(("value", "wanted"), [("5.0", "agrees"), ("5.2", "inconclusive"), ("9", "inconclusive")])
def test_a_lower_bound_of_the_noise_never_makes_a_number_differ(tmp_path, late, value, wanted) -> None:
    """Two seeds of the paper, one of ours: its late evaluations say how little it may scatter at least."""
    line = single_seed(tmp_path, f"table1,same,fedavg,,loss,{value},,,nats,\n", late)
    assert line.verdict == wanted
    assert ("a bound from below" in line.tolerance_source) == (late is not None)


@pytest.mark.parametrize("kind", ["unknown", "population std"])
@pytest.mark.parametrize(("value", "wanted"), [("5.2", "agrees"), ("9", "differs")])
def test_a_printed_spread_of_any_kind_bounds_the_noise_too(tmp_path, kind, value, wanted) -> None:
    """0.1 over two seeds: t of one degree is 12.7062; a number may then differ, for more than a bound is known."""
    line = single_seed(tmp_path, f"table1,same,fedavg,,loss,{value},0.1,{kind},nats,\n", 0.01)
    std = 0.1 * (2**0.5 if kind == "population std" else 1)
    assert (line.verdict, float(line.seed_std)) == (wanted, pytest.approx(std))
    assert float(line.tolerance) == pytest.approx(12.7062 * std * 1.5**0.5 + 0.005, abs=1e-3)


NUMBER, EMPTY, BAD, THEIRS = Cell(1.0), Cell(None), Cell(None, seeds=2, diverged=1), Cell(None, diverged=1)
SCALED = "not comparable: scale"


@pytest.mark.parametrize(
    ("paper", "here", "blocked", "wanted"),
    [
        (None, None, None, "not reported"), (EMPTY, NUMBER, None, "not reported"), (NUMBER, None, SCALED, "not run"),
        (NUMBER, BAD, SCALED, "diverged"), (NUMBER, NUMBER, SCALED, SCALED), (THEIRS, BAD, None, "agrees"),
        (THEIRS, NUMBER, None, "differs"), (THEIRS, BAD, SCALED, SCALED), (THEIRS, None, None, "not run"),
        (NUMBER, BAD, None, "diverged"),
    ],
)  # fmt: skip
def test_order_of_verdicts(paper, here, blocked, wanted) -> None:
    assert verdict(paper, here, blocked, None, (0.0, 0.0)) == wanted


def test_divergence_on_both_sides_is_said(tmp_path) -> None:
    reported = "table1,same,fedavg,,loss,,,,nats,diverged\ntable1,same,qffl,q=1,loss,,,,nats,diverged after round 3\n"
    workload = build(tmp_path, reported)
    path = tmp_path / "results/tidy/same.csv"
    path.write_text(path.read_text().replace("fedavg,,1,loss,5.2", "fedavg,,1,loss,"))
    rows = lines_of(workload, tmp_path)
    both, only = one(rows, "same"), one(rows, "same", "qffl")
    assert (both.verdict, both.reported_note, both.note) == ("agrees", "diverged", "1 of 2 seeds diverged")
    assert (only.verdict, only.reported_note, only.ours) == ("differs", "diverged after round 3", "5.1")


# -- rows of one setting, choices, counts -----------------------------------------------------
MORE = {
    "learning_rate": {"name": "rate", "meaning": "", "unit": "", "digits": 2},
    "hp_q": {"name": "q", "meaning": "", "unit": "", "digits": 2},
    "num_clients": {"name": "clients", "meaning": "", "unit": "count", "digits": 0},
    "samples_train": {"name": "train", "meaning": "", "unit": "count", "digits": 0},
}
TABLE = {"kind": "table", "title": "T", "caption": "c", "settings": ["same", "fewer_seeds"]}


def choose(root: Path, setting: str, algorithm: str, rate: float, value: float | None = 0.5, **hyperparameters) -> None:
    path = root / f"results/tuned/{setting}/{algorithm}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"setting": setting, "algorithm": algorithm, "learning_rate": rate, "batch_size": 64}
    path.write_text(json.dumps({**record, "hyperparameters": hyperparameters, "value": value, "points": []}))


def test_what_tuning_chose_stands_beside_what_the_paper_chose(tmp_path) -> None:
    table = {
        **TABLE,
        "rows": [{"algorithm": "fedavg"}, {"algorithm": "qffl"}],
        "columns": ["learning_rate", "hp_q"],
        "columns_of": {"fedavg": ["learning_rate"]},
    }
    printed = ("fedavg,,learning_rate,0.01", "qffl,q=3,learning_rate,0.01", "qffl,,hp_q,1")
    reported = "".join(f"table1,same,{text},,,,\n" for text in printed)
    workload = build(tmp_path, reported, {"table1": table}, MORE)
    choose(tmp_path, "same", "fedavg", 0.01)
    choose(tmp_path, "same", "qffl", 0.02, q=1, order="loss")
    choose(tmp_path, "fewer_seeds", "fedavg", 0.01, value=None)
    rows = lines_of(workload, tmp_path)
    verdicts = {(row.setting, row.algorithm, row.metric): (row.ours, row.verdict, row.note) for row in rows}
    assert verdicts == {
        ("same", "fedavg", "learning_rate"): ("0.01", "agrees", ""),
        ("same", "qffl", "learning_rate"): ("0.02", "differs", ""),
        ("same", "qffl", "hp_q"): ("1", "agrees", ""),
        ("fewer_seeds", "fedavg", "learning_rate"): ("", "not reported", "every point of the grid diverged"),
        ("fewer_seeds", "qffl", "learning_rate"): ("", "not reported", "nothing was tuned for qffl"),
        ("fewer_seeds", "qffl", "hp_q"): ("", "not reported", "nothing was tuned for qffl"),
    }
    assert one(rows, "same", "qffl", "hp_q").runs == "tuned/same/qffl.json"


def test_counts_of_the_partition_stand_beside_the_papers(tmp_path) -> None:
    reported = "".join(
        f"table1,same,,,{metric},{n},,,count,\n" for metric, n in (("num_clients", 2), ("samples_train", 10))
    )
    table = {**TABLE, "columns": ["num_clients", "samples_train"]}
    workload = build(tmp_path, reported, {"table1": table}, MORE)
    path = tmp_path / "results/partitions/same/seed0.csv"
    path.parent.mkdir(parents=True)
    path.write_text(
        'client,part,samples,label_0,data,remarks\n0,train,3,3,d,""\n0,validation,1,1,d,""\n0,test,1,1,d,""\n'
        '1,train,5,5,d,"a, b"\n1,validation,0,0,d,""\n1,test,2,2,d,""\n'
    )
    rows = lines_of(workload, tmp_path)
    found = [(row.setting, row.algorithm, row.metric, row.ours, row.verdict) for row in rows]
    assert found == [
        ("same", "", "num_clients", "2", "fitted"),
        ("same", "", "samples_train", "8", "differs"),
        ("fewer_seeds", "", "num_clients", "", "not reported"),
        ("fewer_seeds", "", "samples_train", "", "not reported"),
    ]
    assert (rows[0].runs, rows[3].note) == ("partitions/same/seed0.csv", "no partition was counted")


def test_how_numbers_are_known_and_what_speaks_against_them(tmp_path) -> None:
    row = {"algorithm": "qffl", "hyperparameters": {"q": 1.0}, "provenance": "recalled", "note": "from version 1"}
    table = {**PAPER["artifacts"]["table1"], "rows": [{"algorithm": "fedavg"}, row]}
    other = {**table, "settings": ["same"], "rows": []}
    printed = "table1,same,qffl,q=1,loss,5.3,0.1,std,nats,equal to table 7\ntable1,same,qffl,q=3,loss,2,,,nats,\n"
    figure = {**other, "kind": "figure", "plot": "metric_curves"}
    workload = build(tmp_path, printed, {"table1": table, "figure1": figure})
    (tmp_path / "papers/reported/demo/figure1.csv").write_text(REPORTED + "figure1,same,qffl,q=1,loss,5.5,,,nats,\n")
    rows = lines_of(workload, tmp_path)
    by_variant = {
        row.hyperparameters: row
        for row in rows
        if (row.artifact, row.setting, row.metric) == ("demo_table1", "same", "loss")
    }
    fedavg, qffl, leftover = by_variant[""], by_variant["q=1.0"], by_variant["q=3"]
    assert (fedavg.provenance, fedavg.note, fedavg.contradiction) == ("paper", "", "")
    assert (qffl.provenance, qffl.note, qffl.reported_note) == ("recalled", "from version 1", "equal to table 7")
    assert (qffl.contradiction, qffl.reported, qffl.verdict) == ("figure1: 5.50", "5.3", "agrees")
    assert (leftover.provenance, leftover.note) == ("", "no run of qffl(q=3) measured this")
    assert rows[-1].artifact == "demo_figure1" and rows[-1].contradiction == "table1: 5.30 ± 0.10"


# -- rounds without end, seconds, what settings say --------------------------------------------
REACH = {"reach": {"name": "70%", "meaning": "", "unit": "rounds", "direction": "down", "digits": 0}}


@pytest.mark.parametrize(
    ("reported", "ours", "shown", "wanted", "note"),
    [
        ("inf", ("inf", "inf"), "inf", "agrees", "not reached by 2 of 2 seeds"),
        ("29", ("29", "inf", "inf"), "inf", "differs", "not reached by 2 of 3 seeds"),
        ("inf", ("29", "inf"), "inf", "agrees", "not reached by 1 of 2 seeds"),
        ("inf", ("29", "nan"), "", "diverged", "1 of 2 seeds diverged"),
    ],
)
def test_targets_that_were_not_reached(tmp_path, reported, ours, shown, wanted, note) -> None:
    table = {**TABLE, "rows": [{"algorithm": "fedavg"}], "columns": ["reach"]}
    workload = build(tmp_path, f"table1,same,fedavg,,reach,{reported},,,rounds,\n", {"table1": table}, REACH)
    text = "".join(f"same,fedavg,,{seed},reach,{v},rounds,d,10,r{seed},f\n" for seed, v in enumerate(ours))
    (tmp_path / "results/tidy/same.csv").write_text(TIDY + text)
    line = one(lines_of(workload, tmp_path), "same", metric="reach")
    assert (line.reported, line.ours, line.verdict, line.difference) == (reported, shown, wanted, "")
    assert (line.note, line.ours_std, line.seeds) == (note, "", len(ours))


SECONDS = {
    name: {"name": name, "meaning": "", "unit": "seconds", "direction": "down", "digits": 3}
    for name in ("inference_seconds", "metric_seconds_faa")
}


def test_seconds_are_shown_and_never_judged(tmp_path) -> None:
    table = {**TABLE, "rows": [{"algorithm": "fedavg"}, {"algorithm": "qffl"}], "columns": [*SECONDS]}
    table["settings"] = ["timed"]
    reported = (
        "table1,timed,fedavg,,inference_seconds,0.12,,,seconds,\ntable1,timed,,,metric_seconds_faa,6e-06,,,seconds,\n"
    )
    workload = build(tmp_path, reported, {"table1": table}, SECONDS, {"timed": {**SETTING, "timing": {}}})
    path = tmp_path / "results/timed/timed.json"
    path.parent.mkdir()
    variant = {"algorithm": "fedavg", "hyperparameters": "", "seconds": {"inference_seconds": [0.1, 0.14]}}
    record = {"variants": [variant], "metrics": {"metric_seconds_faa": [6e-6]}, "fingerprint": "abc"}
    path.write_text(json.dumps({**record, "processor": "AMD EPYC", "device": "cpu", "threads": 2}))
    rows = lines_of(workload, tmp_path)
    mine = one(rows, "timed", metric="inference_seconds")
    assert (mine.ours, mine.ours_std, mine.seeds) == ("0.12", "0.02", 2)
    assert mine.verdict == "not comparable: hardware"  # though the numbers are equal, and the scale is the paper's
    assert (mine.note, mine.runs, mine.fingerprints) == ("measured on AMD EPYC, 2 threads", "timed/timed.json", "abc")
    cost = one(rows, "timed", metric="metric_seconds_faa")
    assert (cost.ours, cost.reported, cost.verdict) == ("6e-06", "6e-06", "not comparable: hardware")
    other = one(rows, "timed", "qffl", "inference_seconds")
    assert (other.verdict, other.note) == ("not reported", "nothing was timed")
    path.unlink()
    rows = lines_of(workload, tmp_path)
    assert one(rows, "timed", metric="inference_seconds").verdict == "not run"


CONFIGURED = {
    name: {"name": name, "meaning": "", "unit": "", "digits": 4}
    for name in ("config_rounds", "config_batch_size", "config_clusters")
}


def test_what_settings_say_is_compared(tmp_path) -> None:
    reported = "".join(
        f"table1,{setting},,,{metric},{value},,,,\n"
        for setting in ("same", "shorter")
        for metric, value in (("config_rounds", 100), ("config_batch_size", 6000), ("config_clusters", 3))
    )
    table = {**TABLE, "settings": ["same", "shorter"], "columns": [*CONFIGURED]}
    rows = compare(tmp_path, reported, {"table1": table}, CONFIGURED)
    found = [(row.setting, row.metric, row.ours, row.verdict) for row in rows]
    assert found == [
        ("same", "config_rounds", "100", "fitted"),  # it was copied from there
        ("same", "config_batch_size", "inf", "differs"),  # a full batch is not one of 6000
        ("same", "config_clusters", "", "not run"),
        ("shorter", "config_rounds", "10", "not comparable: scale"),
        ("shorter", "config_batch_size", "inf", "not comparable: scale"),
        ("shorter", "config_clusters", "", "not run"),
    ]
    assert rows[2].note == "the setting does not say"


def test_numbers_in_different_units_are_not_compared(tmp_path) -> None:
    loss = {"loss": {**PAPER["metrics"]["loss"], "other_units": ["mse"]}}
    workload = build(tmp_path, "table1,same,fedavg,,loss,5.1,,,mse,\n", metrics=loss)
    with pytest.raises(FairflError, match="demo_table1: loss in same: measured in 'nats', reported in 'mse'"):
        lines_of(workload, tmp_path)
    path = tmp_path / "results/tidy/same.csv"
    path.write_text(path.read_text().replace(",nats,", ",mse,"))
    line = one(lines_of(workload, tmp_path), "same")
    assert (line.verdict, line.unit) == ("agrees", "mse")
