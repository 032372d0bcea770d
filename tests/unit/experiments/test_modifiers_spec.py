"""Variants with modifiers: how a row names them, what a run's spec says, what is refused and by which name."""

from fairfl.experiments.paper import Row
from fairfl.experiments.variant import split_modifiers
from fairfl.experiments.workload import load_workload
from fairfl.workflow.graph import spec_of
from tests.unit.reporting import demo

SETTING = demo.SETTING | {"data": {"name": "digits"}, "seeds": [5]}


def load(root, row, setting=None, **paper):
    """A workload of one setting and one row."""
    table = {"kind": "table", "title": "T", "caption": "", "settings": ["s"], "columns": ["accuracy_mean"]}
    given = {
        "metrics": {"accuracy_mean": {"name": "a", "meaning": "", "unit": "percent"}},
        "algorithms": {name: {"title": name} for name in ("fedavg", "qffl", "fedma")},
        "settings": {"s": SETTING | (setting or {})},
        "artifacts": {"table1": {**table, "rows": [row]}},
    }
    demo.project(root, demo.PAPER | given | paper)
    return load_workload(root, {"scale": "tiny", "papers": ["demo"]})


def train_spec(workload):
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
    spec = train_spec(load(tmp_path, row))
    assert spec["variant"] == "q=0.5~server_momentum.beta=0.8"
    assert spec["modifiers"] == {"server_momentum": {"beta": 0.8, "form": "heavy"}}
    assert spec["hyperparameters"]["q"] == 0.5 and "server_momentum.beta" not in spec["hyperparameters"]
    assert "fairfl.modifiers.server_momentum" in spec["code"] and "fairfl.modifiers.lsr" not in spec["code"]


def test_values_of_the_row_come_before_those_of_the_setting_and_the_papers(tmp_path):
    row = {"algorithm": "fedavg", "modifiers": {"lsr": {"gamma": 0.1}}}
    paper = {"modifiers": {"lsr": {"gamma": 0.3, "augmentation": "none", "Td": 0.5}}}
    spec = train_spec(load(tmp_path, row, {"modifiers": {"lsr": {"gamma": 0.2, "augmentation": "colour"}}}, **paper))
    given = spec["modifiers"]["lsr"]
    assert (given["gamma"], given["augmentation"], given["Td"], given["warmup"]) == (0.1, "colour", 0.5, 0.2)
