"""What `fairfl plan` prints and writes."""

import csv
import json
import re
from pathlib import Path

import pytest
from benchmarks.pretend import finish

from fairfl.experiments.config import Config
from fairfl.experiments.workload import load_workload, usual_config
from fairfl.planning import plan, reference
from fairfl.planning.budget import Planner
from tests import defaults
from tests.workflow.graphs import graph_of

SETTINGS = ["fedfv_fmnist", "fedfv_mnist"]
PAGE = "results/full/selections/papers=fedfv_settings=fedfv_fmnist,fedfv_mnist_seeds=0,1/index.html"


ONLY = {"papers": ["fedfv"], "settings": SETTINGS, "seeds": [0, 1], "device": "cpu"}


@pytest.fixture
def printed(root, configuration, folder, capsys, monkeypatch):
    """A function: the lines of a plan with other keys."""
    for module in ("planning.plan", "workflow.session"):
        monkeypatch.setattr(f"fairfl.{module}.usual_config", defaults.usual_config)

    def of(**more):
        plan.main(["--config", json.dumps(configuration(**ONLY | more)), "--root", str(root)])
        return capsys.readouterr().out.splitlines()

    return of


def marked():
    """Trainings in plan.txt that the budget buys."""
    lines = Path("results/full/plan.txt").read_text().splitlines()
    return [line for line in lines if "train/" in line and line.endswith("finished; the budget buys it")]


def rows():
    return {row["setting"]: row for row in csv.DictReader(Path("results/full/plan.csv").open())}


def test_what_runs_then_how_long_what_it_tells_and_what_to_do_next(printed):
    text = printed()
    assert re.fullmatch(r"\d+ jobs would run at scale full:", text[0])
    assert "  50 trainings  never finished" in [f"  {line.strip()}" for line in text]
    assert "done: 0 of 50 trainings here, 0 stored, 50 missing" in text
    (takes,) = [line for line in text if line.startswith("takes: about ")]
    assert re.search(r" on a core, .* on all \d+ here, or .* on an NVIDIA", takes)
    assert "   hours are measured by runs of the same setting and algorithm" in text
    (tells,) = [line for line in text if line.startswith("decides: ")]
    assert " 0 are checked by what is done, " in tells and "claims that can be checked: " in tells
    table = text[text.index(tells) + 1 :]
    assert table[0].split() == ["numbers", "setting", "missing", "on", "a", "core", "data"]
    assert [line.split()[1] for line in table[1:3]] == SETTINGS
    (left_out,) = [line for line in table if line.startswith("left out, one seed each: ")]
    assert left_out.endswith(
        " whose data must be downloaded first (fashion_mnist, mnist; budget_downloads: true takes them)"
    )
    downloading = printed(budget_downloads=True)
    assert any(line.startswith("numbers checked by core-hours") for line in downloading)
    assert len(text) < 40 and not re.search(r"[0-9a-f]{16}", "\n".join(text))
    assert text[-2:] == [
        f"then see:  {PAGE}",
        "details:   results/full/plan.txt (each job), results/full/plan.csv (each setting)",
    ]
    detailed = Path("results/full/plan.txt").read_text()
    assert len(re.findall(r"^run   train/\S+  never finished$", detailed, re.M)) == 50


def test_what_is_done_is_not_missing_and_its_numbers_are_done(printed, load):
    graph = graph_of(load(**ONLY))
    runs = [run for run in graph.workload.runs if run.setting == SETTINGS[0] and run.seed == 0]
    finish(graph, [f"train/{run.id}" for run in runs])
    text = printed()
    row = rows()[SETTINGS[0]]
    assert (row["finished"], row["missing"], row["numbers"], row["numbers_done"]) == ("15", "15", "67", "67")
    assert "done: 15 of 50 trainings here, 0 stored, 35 missing" in text
    waiting = [line.split()[1] for line in text[text.index("") :] if re.match(r" +\d+  fedfv_", line)]
    assert waiting == [SETTINGS[1]]  # the other's numbers are checked: more seeds of it tell no more of them
    (tells,) = [line for line in text if line.startswith("decides: ")]
    assert " 67 are checked by what is done, " in tells


def test_no_more_are_inconclusive_than_are_checked(printed):
    """Stored numbers are of all papers, the selection is not."""
    (tells,) = [line for line in printed(recorded="use", seeds=None) if line.startswith("decides: ")]
    published, checked, unsure = map(int, re.findall(r"(\d+) (?:published|are checked|of them inconclusive)", tells))
    assert 0 < unsure <= checked <= published < 200


def test_the_command_that_runs_it_says_what_config_yaml_does_not(folder, monkeypatch):
    usual = usual_config(folder).model_dump(mode="json")
    assert plan.command(folder, Config(**usual)) == "fairfl run"
    more = {"papers": ["fedfv", "focus"], "budget": 5, "offline": True}
    changed = plan.command(folder, Config(**usual | more))
    assert changed == "fairfl run --config papers=fedfv,focus offline=true budget=5"
    usual["budget"] = 5.0  # as config.yaml may have it
    monkeypatch.setattr(plan, "usual_config", lambda root: Config(**usual))
    words = plan.command(folder, Config(**usual | {"budget": None})).split()
    assert words == ["fairfl", "run", "--config", "budget=null"]


def test_a_budget_shows_what_it_buys(printed):
    text = printed(budget=0.002, budget_downloads=True)
    (line,) = [line for line in text if line.startswith("budget of 0.002 core-hours: ")]
    row, dear = (rows()[name] for name in SETTINGS)
    assert 0 < int(row["budget_runs"]) < 30 and float(row["budget_hours"]) <= 0.002
    assert line.endswith(f"which check {row['budget_numbers']} numbers")
    assert dear["budget_runs"] == "0" and 0 < 10 * float(row["core_hours"]) < float(dear["core_hours"])
    assert len(marked()) == int(row["budget_runs"])
    assert all(line.startswith(f"run   train/{SETTINGS[0]}/") for line in marked())


def test_nothing_is_marked_without_a_budget(printed):
    printed()
    assert not marked()


def test_an_hour_on_a_gpu_counts_where_there_is_one(root, load, folder):
    hours, name = {}, f"train/{SETTINGS[1]}/fedavg/default/seed0"
    for device in ("cpu", "cuda"):
        planner = Planner(graph_of(load(**ONLY | {"device": device})), root)
        hours[planner.unit] = planner.hours(name)
    found = planner.estimate(name)
    assert hours == {"core-hours": found.core_seconds / 3600, "GPU-hours": found.gpu_seconds / 3600}
    assert 50 < hours["core-hours"] / hours["GPU-hours"] < 100  # a convolutional network


def test_every_rule_of_a_build_at_quick_has_seconds_for_the_first_line(root, monkeypatch):
    graph = graph_of(load_workload(root, {"scale": "quick"}))
    rules = {job.rule for job in graph.below(graph.everything())}
    assert rules <= reference.reference()["seconds"]["quick"].keys()
    monkeypatch.setattr(reference, "reference", lambda: {"seconds": {"quick": {"train": 3.0, "table": 1.0}}})
    jobs = {"train": 40, "table": 10, "page": 1}
    found = [reference.expected(*where, jobs) for where in (("quick", 2), ("quick", None), ("mine", 2))]
    assert found == ["; about 1 min 5 s", "", ""]


def test_own_data_are_described_for_the_settings_that_run_not_for_those_of_their_searches(printed):
    text = printed(papers=["fairbench"], settings=["fairbench_gaussian"])
    assert [line for line in text if ": drawn as in " in line] == [
        "fairbench_gaussian: drawn as in EAGLE, section 4 (synthetic data), seed 0"
    ]
    assert not [line for line in printed() if ": drawn as in " in line]
