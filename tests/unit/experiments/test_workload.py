"""Expansion into the run table; scales; specs of jobs; generated schemas; environments that agree."""

import csv
import importlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from fairfl import algorithms
from fairfl.algorithms.interface import Algorithm
from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.experiments.schemas import schemas
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import load_workload
from fairfl.jobs import train
from fairfl.judgement.cells import MEASURED_KINDS
from fairfl.judgement.changes import changed_by_scale
from tests.defaults import CONFIG, PAPERS
from tests.workflow.graphs import graph_of


def workload(root: Path, **changes):
    return load_workload(root, CONFIG | {"papers": PAPERS} | changes)


def test_every_paper_has_all_its_tables_figures_and_algorithms(root):
    """Which they are: tests/golden."""
    artifacts = workload(root).artifacts
    printed = Counter(name.partition("_")[0] for name, (_, _, artifact) in artifacts.items() if artifact.in_paper)
    assert printed == {"eagle": 17, "fedeba": 43, "focus": 23, "fedfv": 6, "vred": 8}
    # What a paper leaves open has a row or a file for each reading.
    assert len(artifacts) == sum(printed.values()) + 14


# What only we have: rows of another budget, the cost of a whole round, the time of all models one after another.
OWN = {"comm_cost", "train_seconds_per_round"}


@pytest.mark.parametrize("name", ["fedeba", "focus"])
def test_every_printed_number_has_its_cell_and_every_cell_of_a_table_its_number(root, name):
    for key, artifact in workload(root, scale="full").papers[name].artifacts.items():
        path = root / f"papers/reported/{name}/{key}.csv"
        if artifact.kind not in MEASURED_KINDS or not path.is_file():
            continue
        lines = list(csv.DictReader(path.open()))
        variants = [Variant.from_csv(line["algorithm"], line["hyperparameters"]) for line in lines]
        there = [(line["setting"], v, line["metric"]) for line, v in zip(lines, variants, strict=True)]
        own = {
            (setting, variant, metric)
            for setting in artifact.settings
            for variant in [row.variant for row in artifact.rows_in(setting)] or [Variant("", {})]
            for metric in artifact.columns_for(variant.algorithm, setting)
        }
        assert len(set(there)) == len(there) and {line["artifact"] for line in lines} == {key}
        if artifact.kind == "table" and artifact.in_paper:
            missing = own - set(there)
            assert all(variant.number("dp.target") or metric in OWN for _, variant, metric in missing)
        assert set(there) <= own or (name == "focus" and artifact.kind == "figure"), key


def test_runs_that_two_artifacts_share_are_run_once(root):
    runs = workload(root).runs
    assert len(runs) == len(set(runs))
    same = workload(root, artifacts=["eagle_table1", "eagle_table4"]).runs
    assert same == workload(root, artifacts=["eagle_table1"]).runs
    assert len(same) == 10


def test_paper_scale_changes_nothing(root):
    load = workload(root, scale="full")
    assert all(changed_by_scale(load, name) == [] for name in load.settings)
    setting = load.settings["eagle_emnist_cnn_a0.1"]
    assert (setting.rounds, setting.seeds, setting.data.name) == (10000, [0, 42, 100, 200], "emnist")


def test_a_variant_of_several_hyper_parameters_can_be_named_on_the_command_line(root):
    named = "fedavg,fedeba_plus/alpha=0.9,tau=0.1, qffl/q=0.5"
    load = workload(root, artifacts="fedeba_table1", algorithms=named, settings="fedeba_fashion_mnist_mlp", seeds=0)
    assert load.config.algorithms == ["fedavg", "fedeba_plus/alpha=0.9,tau=0.1", "qffl/q=0.5"]
    assert {f"{run.algorithm}/{run.variant.folder}" for run in load.runs} == {
        "fedavg/default", "fedeba_plus/alpha=0.9~tau=0.1", "qffl/q=0.5"
    }  # fmt: skip


def test_a_run_that_comes_after_another_brings_it_along(root):
    load = workload(root, artifacts="focus_table13", algorithms="fedavg_hardcluster", settings="focus_rotated_mnist_10")
    hard, focus = sorted((run for run in load.runs if run.seed == 0), key=lambda run: run.algorithm)
    assert focus.variant == Variant("focus", {"M": 3}) and load.predecessor(hard) == focus
    assert load.predecessor(focus) is None
    graph = graph_of(load)
    assert graph.job(f"train/{hard.id}").reads["after"] == f"results/quick/runs/{focus.id}/summary.json"
    assert f"train/{focus.id}" in graph.job(f"train/{hard.id}").inputs
    assert graph.job(f"train/{focus.id}").reads["after"] == []


def test_prepared_data_are_shared_by_settings_and_split_by_seed_only_if_drawn(root):
    load = workload(root)
    keys = {load.prepared(f"eagle_emnist_linear_a{a}", 0) for a in ("0.1", "0.5", "1.0", "2000")}
    assert keys == {"digits"}
    drawn = {load.prepared("eagle_synthetic_gaussian", seed) for seed in (0, 42)}
    assert len(drawn) == 2


# -- calibration -------------------------------------------------------------------------------------
def test_calibration_points_are_settings_of_their_own_with_fedavg_alone(root):
    load = workload(root, scale="full")
    grid = load.calibration_grid("eagle_emnist_linear_a2000")
    assert len(grid) == 5 * 4  # with the named choices, samples 50000 at rate 0.07, which are a point of the grid
    first, *_, last = grid
    assert first == "eagle_emnist_linear_a2000~calibration~default" and grid[first].departures == []
    assert last == "eagle_emnist_linear_a2000~calibration~learning_rate=0.3~samples=None"
    assert (load.settings[last].samples, load.settings[last].learning_rate) == (None, 0.3)
    assert grid[last].departures == ["samples", "learning_rate"]
    assert grid["eagle_emnist_linear_a2000~calibration~learning_rate=0.3~samples=50000"].departures == ["learning_rate"]
    assert {run.algorithm for name in grid for run in load.runs_of(name)} == {"fedavg"}
    assert "~calibration~" not in "".join(graph_of(load).everything())


# -- tuning -----------------------------------------------------------------------------------------
def test_tuning_points_hold_out_training_data_and_never_see_the_test_part(root):
    load = workload(root, scale="full")
    base = load.settings["vred_cifar100"]
    points = load.tuning_grid("vred_cifar100")
    assert [point["learning_rate"] for point in points.values()] == [0.001, 0.002, 0.005, 0.01, 0.02, 0.05]
    for name, point in points.items():
        setting = load.settings[name]
        assert setting.reported_part == "validation" and setting.learning_rate == point["learning_rate"]
        assert (setting.split.train, setting.split.validation, setting.split.test) == (0.64, 0.16, 0.2)
        assert setting.seeds == [0] and setting.learning_rates == {} and setting.rounds == base.rounds
        # A run of the grid trains with the rate of its point, whatever the algorithm.
        spec = train.spec_of_run(load, load.run(name, "term", "alpha=0.1", 0))
        assert spec["learning_rate"] == point["learning_rate"]
    assert len(load.variants[name]) == 1 + 3 + 1 + 4 + 4 + 4 + 6 + 6
    fedfv = load.tuning_grid("fedfv_fmnist")
    assert [tuple(point.values()) for point in fedfv.values()] == [(0.01, None), (0.01, 400), (0.1, None), (0.1, 400)]
    assert all(load.settings[name].split == load.settings["fedfv_fmnist"].split for name in fedfv)


@pytest.mark.parametrize("name", ["comparison", "claims"])
def test_only_what_a_selection_makes_is_compared(root, name):
    """Comparison and claims may read no choice of an algorithm that is left out, and nothing that the record lacks."""
    chosen = {"papers": ["vred"], "artifacts": ["vred_table4"], "algorithms": ["fedavg"]}
    fedavg = graph_of(workload(root, **chosen)).job(name)
    assert {choice.partition("/")[2] for choice in fedavg.parsed["files"]["tuned"]} == {"fedavg"}
    assert fedavg.reads["tuned"] == list(fedavg.parsed["files"]["tuned"].values())
    load = workload(root, papers=["focus"], artifacts=["focus_table9"])
    timed = load.artifacts["focus_table9"][2].settings
    every, recorded = (graph_of(other).job(name).parsed["files"] for other in (load, load.restricted_to(frozenset())))
    assert list(every["timed"]) == timed and recorded["timed"] == {}


def test_a_table_on_request_is_a_target_that_brings_its_search(root):
    graph = graph_of(workload(root, scale="full", papers=["vred"]))
    assert graph.wanted("vred_table4") == ["table/vred/table4"]
    assert "tune/vred_cifar100/vred" in graph.job("table/vred/table4").inputs
    rest = {job.name for job in graph.below(graph.everything())}
    assert "table/vred/table6" in rest and "table/vred/table4" not in rest
    assert not [name for name in rest if name.startswith("tune/")]


DECLARED = """
from pathlib import Path; from tests.defaults import CONFIG
import snakemake.api; before = set(sys.modules)
from fairfl.workflow.rerun import Rerun; from fairfl.workflow import snakemake
Rerun(snakemake.parsed(Path('.'), CONFIG)['graph']).reason('page')
heavy = {'torch', 'pandas', 'matplotlib', 'pyarrow', 'sklearn'} & (set(sys.modules) - before)
"""
PLANNED = """
from fairfl.commands.snakemake import run
try: run(['-n', '--cores', '1', '--configfile', 'tests/config.yaml'])
except SystemExit as end: assert not end.code
heavy = {'torch', 'pandas._libs', 'matplotlib', 'requests.api', 'sklearn'} & set(sys.modules)
import pandas; assert pandas.Series([1]).sum() == 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [DECLARED, PLANNED], ids=["declarations", "plan"])
def test_nothing_heavy_is_imported_before_a_job_runs(root, code):
    code = f"import sys; sys.path.insert(0, 'src')\n{code}\nassert not heavy, heavy"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


@pytest.mark.parametrize("kind", ["algorithms", "models", "partition"])
def test_a_declaration_equals_the_module(kind):
    for name in names(kind):
        module, declared = importlib.import_module(f"fairfl.{kind}.{name}"), declaration(kind, name)
        assert declared.Config.model_json_schema() == module.Config.model_json_schema()
        if kind == "algorithms":
            for attribute in Algorithm.__annotations__:
                assert getattr(declared, attribute) == getattr(algorithms.load(name), attribute)


def test_committed_schemas_are_up_to_date(root):
    for name, text in schemas().items():
        assert (root / "schemas" / name).read_text() == text, f"{name} lags behind: run `make schemas`"


def test_conda_and_pip_say_the_same_versions(root):
    lock = (root / "envs" / "requirements.lock").read_text()
    pinned: dict[str, set] = {}
    for name, version in re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==([^ ;\\]+)", lock, re.M):
        pinned.setdefault(name, set()).add(version)
    environment = yaml.safe_load((root / "envs" / "fairfl.yaml").read_text())
    packages = environment["dependencies"][-1]["pip"]
    assert len(packages) >= 15
    for package in packages:
        name, version = re.fullmatch(r"([a-z0-9._-]+)(?:\[[a-z]+\])?==(.+)", package).groups()
        assert version in pinned[name], f"{name}: conda {version}, lock {pinned[name]}"
