"""What `snakemake plan` prints and writes."""

import csv
import json
from pathlib import Path

import pytest
import yaml
from benchmarks.pretend import finish

from fairfl.experiments.workload import load_workload
from fairfl.planning import budget, plan
from fairfl.planning.budget import Planner
from tests.workflow.graphs import graph_of

SETTINGS = ["fedfv_fmnist", "fedfv_mnist"]


@pytest.fixture
def configuration(root, tmp_path, monkeypatch):
    for name in ("papers", "config.yaml"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan.speed, "gflops", lambda: 100.0)
    only = {"papers": ["fedfv"], "settings": SETTINGS, "seeds": [0, 1], "scale": "paper", "device": "cpu"}
    config = yaml.safe_load((root / "config.yaml").read_text()) | only
    return lambda **more: config | more


def printed(root, config, capsys, *options):
    plan.main(["--config", json.dumps(config), "--root", str(root), *options])
    return capsys.readouterr().out.splitlines()


def rows():
    return {row["setting"]: row for row in csv.DictReader(Path("results/paper/plan.csv").open())}


def test_jobs_first_then_settings_then_sentences_and_a_csv(root, configuration, capsys):
    text = printed(root, configuration(), capsys)
    assert text[0].startswith("run   ")
    table = text[text.index("") + 1 :]
    assert table[0].split()[:3] == ["setting", "missing", "core-hours"]
    assert [line.split()[0] for line in table[1:3]] == SETTINGS
    assert any(line.startswith("scale paper: ") and " 0 are recorded and " in line for line in table)
    assert any("GFLOP/s" in line for line in table)
    assert any(line.startswith("numbers judged by core-hours") for line in table)
    linear, convolutional = (rows()[name] for name in SETTINGS)
    assert linear["runs"] == linear["missing"] == "30" and linear["finished"] == linear["recorded"] == "0"
    assert 0 < float(linear["core_hours"]) < float(convolutional["core_hours"])
    assert float(linear["core_hours"]) == pytest.approx(2 * float(linear["core_hours_one_seed"]), rel=0.01)
    assert linear["known"] == "estimated" and int(linear["memory_mib"]) > 300 and float(linear["disk_mib"]) > 0
    assert int(linear["numbers"]) == 68 and linear["numbers_done"] == "0"
    assert linear["budget_runs"] == "0"


def test_what_is_done_is_not_missing_and_its_numbers_are_done(root, configuration, capsys):
    graph = graph_of(load_workload(root, configuration()))
    runs = [run for run in graph.workload.runs if run.setting == SETTINGS[0] and run.seed == 0]
    finish(graph, [f"train/{run.id}" for run in runs])
    text = printed(root, configuration(), capsys)
    row = rows()[SETTINGS[0]]
    assert (row["finished"], row["missing"], row["numbers_done"]) == ("15", "15", "68")
    assert any(line.startswith(f"{SETTINGS[0]}  15 of 30 ") and " 0 of 68 " in line for line in text)


def test_a_budget_shows_what_it_buys(root, configuration, capsys):
    text = printed(root, configuration(budget=0.002), capsys)
    (line,) = [line for line in text if line.startswith("budget of 0.002 core-hours: ")]
    row = rows()[SETTINGS[0]]
    assert 0 < int(row["budget_runs"]) < 30 and float(row["budget_hours"]) <= 0.002
    assert line.endswith(f"which judge {row['budget_numbers']} numbers")
    assert rows()[SETTINGS[1]]["budget_runs"] == "0"  # ten times as dear


def test_the_same_twice(root, configuration, capsys):
    assert printed(root, configuration(budget=1), capsys) == printed(root, configuration(budget=1), capsys)


def test_an_hour_on_a_gpu_counts_where_there_is_one(root, configuration, monkeypatch):
    monkeypatch.setattr(budget, "Costs", budget.Costs)
    planner = Planner(graph_of(load_workload(root, configuration(device="cuda"))), root)
    assert planner.costs.on == "gpu_hours"
    kind = ("train", SETTINGS[1], "fedavg", "default")
    job = planner.graph.job(f"train/{SETTINGS[1]}/fedavg/default/seed0")
    assert planner.costs.hours(job) == planner.costs.estimate(kind)[1]


def test_jobs_only_writes_nothing(root, configuration, capsys):
    before = sorted(map(str, Path().glob("[!.]*/**/*")))
    text = printed(root, configuration(), capsys, "--jobs-only")
    assert text[-1].endswith("other jobs would run at scale paper")
    assert sorted(map(str, Path().glob("[!.]*/**/*"))) == before
