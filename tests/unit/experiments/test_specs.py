"""Specs of jobs: variants with modifiers, timed columns, surrogates."""

import json

from fairfl.experiments.artifact import Row
from fairfl.experiments.setting import Surrogate
from fairfl.experiments.variant import Run, Variant, split_modifiers
from fairfl.experiments.workload import load_workload
from fairfl.jobs import partition, surrogate, timing, train
from fairfl.runtime.fingerprint import canonical
from fairfl.workflow.graph import spec_of
from tests.unit.reporting import demo
from tests.workflow.graphs import graph_of

TABLE = {"kind": "table", "title": "T", "caption": ""}


def load(root, settings, artifacts, **paper):
    """A workload of one paper; its metrics and algorithms need no words."""
    tables = {key: TABLE | {"settings": list(settings)} | given for key, given in artifacts.items()}
    metrics = {
        name: {"name": name, "meaning": "", "unit": ""} for table in tables.values() for name in table["columns"]
    }
    algorithms = {name: {"title": name} for name in ("fedavg", "qffl", "fedma", "ditto")}
    given = {"metrics": metrics, "algorithms": algorithms, "settings": settings, "artifacts": tables}
    demo.project(root, demo.PAPER | given | paper)
    return load_workload(root, {"scale": "tiny", "papers": ["demo"]})


# -- modifiers ----------------------------------------------------------------------------------
def train_spec(root, row, setting=None, **paper):
    """The spec of the run of one row."""
    settings = {"s": demo.SETTING | {"data": {"name": "digits"}, "seeds": [5]} | (setting or {})}
    workload = load(root, settings, {"table1": {"columns": ["accuracy_mean"], "rows": [row]}}, **paper)
    (run,) = workload.runs
    return spec_of(workload, "train", setting=run.setting, algorithm=run.algorithm, variant=run.variant.folder)


def test_a_row_folds_its_modifiers_into_its_hyper_parameters():
    row = Row(algorithm="qffl", hyperparameters={"q": 0.5}, modifiers={"dp": {"sigma": 2, "clip": 1.0}, "lsr": {}})
    assert row.hyperparameters == {"q": 0.5, "dp.sigma": 2, "dp.clip": 1.0, "lsr": True}
    assert row.variant.folder == "dp.clip=1.0~dp.sigma=2~lsr=true~q=0.5"
    assert split_modifiers(row.hyperparameters) == ({"q": 0.5}, {"dp": {"sigma": 2, "clip": 1.0}, "lsr": {}})
    assert Row(**row.model_dump()) == row


def test_the_spec_of_a_run_has_its_modifiers_with_all_parameters_and_their_code(tmp_path):
    row = {"algorithm": "qffl", "hyperparameters": {"q": 0.5}, "modifiers": {"server_momentum": {"beta": 0.8}}}
    spec = train_spec(tmp_path, row)
    assert spec["variant"] == "q=0.5~server_momentum.beta=0.8"
    assert spec["modifiers"] == {"server_momentum": {"beta": 0.8, "form": "heavy"}}
    assert spec["hyperparameters"]["q"] == 0.5 and "server_momentum.beta" not in spec["hyperparameters"]
    assert "fairfl.modifiers.server_momentum" in spec["code"] and "fairfl.modifiers.lsr" not in spec["code"]


def test_noise_on_gradients_is_for_algorithms_whose_models_are_not_all_sent_too(tmp_path):
    """Noise on updates is refused there (tests/bad_input)."""
    noise = {"sigma": 2, "target": "gradient"}
    row = {"algorithm": "ditto", "hyperparameters": {"report": "personal"}, "modifiers": {"dp": noise}}
    assert train_spec(tmp_path, row)["modifiers"]["dp"]["target"] == "gradient"


def test_values_of_the_row_come_before_those_of_the_setting_and_the_papers(tmp_path):
    row = {"algorithm": "fedavg", "modifiers": {"lsr": {"gamma": 0.1}}}
    paper = {"modifiers": {"lsr": {"gamma": 0.3, "augmentation": "none", "Td": 0.5}}}
    spec = train_spec(tmp_path, row, {"modifiers": {"lsr": {"gamma": 0.2, "augmentation": "colour"}}}, **paper)
    given = spec["modifiers"]["lsr"]
    assert (given["gamma"], given["augmentation"], given["Td"], given["warmup"]) == (0.1, "colour", 0.5, 0.2)


# -- timed columns ------------------------------------------------------------------------------
SECONDS = ["train_seconds_per_round", "inference_seconds"]
ROWS = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 1.0}}]
ARTIFACTS = {
    "table9": {"columns": ["metric_seconds_faa"]},
    "table12": {"settings": ["ten"], "rows": ROWS, "columns": SECONDS},
    "table2": {"settings": ["ten"], "columns": ["config_batch_size", "config_rounds", "num_clients"]},
}
ACCURACY = {"table1": {"settings": ["ten"], "rows": ROWS[:1], "columns": ["accuracy_mean"]}}


def timed(root, artifacts):
    ten = demo.SETTING | {"seeds": [5, 6], "timing": {}}
    return load(root, {"ten": ten, "hundred": ten | {"clients": 100, "clients_per_round": 100}}, artifacts)


def test_timed_artifacts_ask_for_measurements_and_no_runs(tmp_path) -> None:
    workload = timed(tmp_path, ARTIFACTS)
    assert workload.runs == []
    assert workload.seconds == {"ten": {"metric_seconds_faa", *SECONDS}, "hundred": {"metric_seconds_faa"}}
    assert workload.timed_variants == {"ten": [Variant("fedavg", {}), Variant("qffl", {"q": 1.0})]}


def test_the_spec_holds_the_training_jobs_of_all_variants(tmp_path) -> None:
    workload = timed(tmp_path, ARTIFACTS | ACCURACY)
    spec = timing.spec(workload, "ten")
    assert json.loads(canonical(spec)) == spec
    assert (spec["rounds"], spec["inferences"], spec["metrics"], spec["clients"]) == (20, 100, 100, 3)
    variants = [(variant["algorithm"], variant["shown"], variant["seed"]) for variant in spec["variants"]]
    assert variants == [("fedavg", "", 5), ("qffl", "q=1.0", 5)]
    training = train.spec_of_run(workload, Run("ten", Variant("qffl", {"q": 1.0}), 5))
    assert spec["variants"][1] == {"shown": "q=1.0", **training, "seed": 5}


# -- surrogates ---------------------------------------------------------------------------------
SETTING = "fedfv_fmnist"


def with_surrogates(root, **changes):
    """FedFV at full scale, with two surrogates in one setting; `changes` are to the setting."""
    workload = load_workload(root, {"scale": "full", "papers": ["fedfv"]})
    changes = {"surrogate": Surrogate(clusters=2)} | changes
    workload.settings[SETTING] = workload.settings[SETTING].model_copy(update=changes)
    return workload


def test_a_spec_holds_what_a_surrogate_depends_on(root):
    load = with_surrogates(root)
    spec = spec_of(load, "surrogate", setting=SETTING)
    setting = load.settings[SETTING]
    assert spec["model"]["name"] == setting.model.name
    assert spec["surrogate"] == {
        "clusters": 2, "method": "trained", "epochs": setting.rounds * setting.local_epochs,
        "every": setting.local_epochs, "batch_size": "setting",
    }  # fmt: skip
    job = graph_of(load).job(f"surrogate/{SETTING}/seed12/cluster1")
    assert job.spec == canonical(spec | {"seed": 12, "cluster": 1})


def test_no_run_depends_on_a_surrogate_and_a_surrogate_on_no_evaluation_of_runs(root):
    with_one, without = with_surrogates(root), with_surrogates(root, surrogate=None)
    for run in with_one.runs_of(SETTING):
        assert canonical(train.spec_of_run(with_one, run)) == canonical(train.spec_of_run(without, run))
    assert partition.spec(with_one, SETTING) == partition.spec(without, SETTING)
    rates = {"evaluate_every": 7, "clients_per_round": 1, "learning_rates": {"fedfv": 0.5}, "notes": ["x"]}
    assert surrogate.spec(with_surrogates(root, **rates), SETTING) == surrogate.spec(with_one, SETTING)
