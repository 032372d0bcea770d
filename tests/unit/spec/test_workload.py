"""Expansion into the run table; scales; specs of jobs; generated schemas; environments that agree."""

import json
import re
from pathlib import Path

import pytest
import yaml

from fairfl.provenance.fingerprint import canonical
from fairfl.spec import jobs
from fairfl.spec.declaration import declaration, names
from fairfl.spec.layout import Layout
from fairfl.spec.schemas import schemas
from fairfl.spec.workload import Run, arm_name, load_workload


def workload(root: Path, **changes):
    return load_workload(root, yaml.safe_load((root / "config.yaml").read_text()) | changes)


def test_eagle_has_all_its_artifacts(root):
    keys = set(workload(root).artifacts)
    assert keys == {f"eagle_table{n}" for n in range(1, 12)} | {f"eagle_figure{n}" for n in range(1, 7)}


def test_runs_that_two_artifacts_share_are_run_once(root):
    runs = workload(root).runs
    assert len(runs) == len(set(runs))
    same = workload(root, artifacts=["eagle_table1", "eagle_table4"]).runs
    assert same == workload(root, artifacts=["eagle_table1"]).runs
    assert len(same) == 10


def test_paper_scale_changes_nothing(root):
    load = workload(root, scale="paper")
    assert all(jobs.changed_by_scale(load, name) == [] for name in load.settings)
    assert len(load.runs) == 4 * (8 * 10 + 12 + 4) + 2
    setting = load.settings["eagle_emnist_cnn_a0.1"]
    assert (setting.rounds, setting.seeds, setting.data.name) == (10000, [0, 42, 100, 200], "emnist")


@pytest.mark.parametrize("scale", ["quick", "small"])
def test_stand_ins_are_declared(root, scale):
    load = workload(root, scale=scale)
    labels = {name: setting.data.label for name, setting in load.settings.items()}
    for name, label in labels.items():
        if "emnist" in name:
            assert label.endswith("(stand-in for emnist)")
        if "dirty" in name:
            assert label.endswith("(stand-in for dirty_mnist)")
        if "synthetic" in name:
            assert label == "synthetic_gaussian"


@pytest.mark.parametrize("scale", ["quick", "small"])
def test_synthetic_settings_run_at_paper_scale(root, scale):
    load = workload(root, scale=scale)
    for name in ("eagle_synthetic_gaussian", "eagle_toy_2clients"):
        assert jobs.changed_by_scale(load, name) == []


def test_restrictions(root):
    load = workload(root, algorithms="fedavg,eagle", seeds=7, artifacts="eagle_table1")
    assert {run.algorithm for run in load.runs} == {"fedavg", "eagle"}
    assert {run.seed for run in load.runs} == {7}


def test_run_id_is_a_path():
    assert Run("fedfv_cifar10", "qffl", "q=1.0", 12).id == "fedfv_cifar10/qffl/q=1.0/seed12"
    assert arm_name({}) == "default"
    assert arm_name({"b": 2, "a": True}) == "a=true,b=2"
    with pytest.raises(Exception, match="cannot be part of a file name"):
        arm_name({"a": "../x"})


def spec_of(load, setting="eagle_emnist_linear_a0.1", algorithm="eagle", arm="lambda=1.0", seed=0):
    return jobs.train(load, Run(setting, algorithm, arm, seed))


def test_a_train_spec_holds_what_the_run_depends_on(root):
    spec = spec_of(workload(root))
    assert spec["hyperparameters"]["lambda"] == 1.0
    code = set(spec["code"])
    assert {"fairfl.train", "fairfl.engine.rounds", "fairfl.algorithms.eagle"} <= code
    assert "fairfl.models.logistic_regression" in code
    # Nothing that the run does not execute.
    others = {f"fairfl.algorithms.{name}" for name in names("algorithms")} - {"fairfl.algorithms.eagle"}
    assert not code & others
    assert not any(name.startswith(("fairfl.artifacts", "fairfl.data.", "fairfl.partition.")) for name in code)
    assert "fairfl.models.cnn" not in code
    assert json.loads(canonical(spec)) == spec


def test_sources_notes_and_reporting_do_not_change_a_train_spec(root):
    load = workload(root)
    before = canonical(spec_of(load))
    name = "eagle_emnist_linear_a0.1"
    patched = {"sources": {}, "notes": ["x"], "reported_part": "validation", "gap_part": "validation"}
    load.settings[name] = load.settings[name].model_copy(update=patched)
    assert canonical(spec_of(load)) == before


def test_other_arms_and_settings_do_not_change_a_train_spec(root):
    before = canonical(spec_of(workload(root)))
    load = workload(root)
    other = "eagle_emnist_linear_a0.5"
    load.settings[other] = load.settings[other].model_copy(update={"rounds": 3})
    assert canonical(spec_of(load)) == before


def test_prepared_data_are_shared_by_settings_and_split_by_seed_only_if_drawn(root):
    load = workload(root)
    keys = {jobs.data_key(load, f"eagle_emnist_linear_a{a}", 0) for a in ("0.1", "0.5", "1.0", "2000")}
    assert keys == {"digits"}
    drawn = {jobs.data_key(load, "eagle_synthetic_gaussian", seed) for seed in (0, 42)}
    assert len(drawn) == 2


def test_local_optima_are_inputs_of_eagle_only(root):
    layout = Layout(workload(root, scale="paper"))
    assert len(layout.optima_for("eagle", "eagle_emnist_linear_a0.1", 0)) == 10
    assert layout.optima_for("fedavg", "eagle_emnist_linear_a0.1", 0) == []


def test_calibration_points_are_settings_of_their_own(root):
    load = workload(root)
    grid = load.calibration_grid("eagle", "emnist_size")
    assert len(grid) == 9
    assert load.settings[grid[-1]].samples == 50000 and load.settings[grid[-1]].learning_rate == 1.0
    assert {run.algorithm for name in grid for run in load.runs_of(name)} == {"fedavg"}


def test_declarations_come_without_torch():
    import subprocess
    import sys

    code = (
        "import sys; sys.path.insert(0, 'src')\n"
        "import yaml; from pathlib import Path\n"
        "from fairfl.spec.workload import load_workload; from fairfl.spec.layout import Layout\n"
        "load = load_workload(Path('.'), yaml.safe_load(open('config.yaml')))\n"
        "layout = Layout(load); layout.outputs(); layout.train_spec(*load.runs[0].id.split('/')[:3], '0')\n"
        "heavy = {'torch', 'pandas', 'matplotlib', 'pyarrow', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).resolve().parents[3])


@pytest.mark.parametrize("kind", ["algorithms", "models", "partition"])
def test_a_declaration_equals_the_module(kind):
    import importlib

    for name in names(kind):
        module, declared = importlib.import_module(f"fairfl.{kind}.{name}"), declaration(kind, name)
        assert declared.Config.model_json_schema() == module.Config.model_json_schema()
        if kind == "algorithms":
            assert (declared.NEEDS, declared.ROUNDS) == (module.NEEDS, module.ROUNDS)


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


def test_direct_dependencies_are_locked_within_their_bounds(root):
    import tomllib

    from packaging.requirements import Requirement

    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    lock = (root / "envs" / "requirements.lock").read_text()
    for text in project["dependencies"]:
        wanted = Requirement(text)
        versions = re.findall(rf"^{re.escape(wanted.name)}==([^ ;\\]+)", lock, re.M)
        assert versions and all(wanted.specifier.contains(version) for version in versions)


def test_no_file_is_too_long(root):
    for path in [*(root / "src").rglob("*.py"), *(root / "rules").glob("*.smk"), root / "Snakefile"]:
        limit = 60 if path.name == "Snakefile" else 400
        assert len(path.read_text().splitlines()) <= limit, path
