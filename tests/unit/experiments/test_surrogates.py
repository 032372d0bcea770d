"""Surrogates of a setting: files, specs of their jobs, what depends on them, bad input."""

from pathlib import Path

import yaml

from fairfl.experiments.setting import Surrogate
from fairfl.experiments.workload import load_workload
from fairfl.jobs import partition, surrogate, train
from fairfl.runtime.fingerprint import canonical
from fairfl.workflow.graph import spec_of
from tests.workflow.graphs import graph_of

SETTING = "fedfv_fmnist"


def workload(root: Path, **changes):
    """At full scale, with two surrogates in one setting; `changes` are to the setting."""
    load = load_workload(
        root, yaml.safe_load((root / "config.yaml").read_text()) | {"scale": "full", "papers": ["fedfv"]}
    )
    changes = {"surrogate": Surrogate(clusters=2)} | changes
    load.settings[SETTING] = load.settings[SETTING].model_copy(update=changes)
    return load


def test_a_spec_holds_what_a_surrogate_depends_on(root):
    load = workload(root)
    spec = spec_of(load, "surrogate", setting=SETTING)
    setting = load.settings[SETTING]
    assert spec["model"]["name"] == setting.model.name
    assert spec["surrogate"] == {
        "clusters": 2, "method": "trained", "epochs": setting.rounds * setting.local_epochs,
        "every": setting.local_epochs, "batch_size": "setting",
    }  # fmt: skip
    assert graph_of(load).job(f"surrogate/{SETTING}/seed12/cluster1").spec == canonical(
        spec | {"seed": 12, "cluster": 1}
    )


def test_no_run_depends_on_a_surrogate_and_a_surrogate_on_no_evaluation_of_runs(root):
    with_one, without = workload(root), workload(root, surrogate=None)
    for run in with_one.runs_of(SETTING):
        assert canonical(train.spec_of_run(with_one, run)) == canonical(train.spec_of_run(without, run))
    assert partition.spec(with_one, SETTING) == partition.spec(without, SETTING)
    rates = {"evaluate_every": 7, "clients_per_round": 1, "learning_rates": {"fedfv": 0.5}, "notes": ["x"]}
    assert surrogate.spec(workload(root, **rates), SETTING) == surrogate.spec(with_one, SETTING)
