"""How values are known: words of sources, of rows, of algorithms' files; and every value that a paper's runs use."""

import pytest

from fairfl.experiments.setting import SOURCED, Setting
from fairfl.experiments.workload import load_workload
from fairfl.judgement import sources
from fairfl.judgement.sources import SURE
from fairfl.reporting.marks import MARKS, legend, marks
from tests.unit.reporting import demo


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("paper table 1", "paper"),
        ("public code FedFV", "paper"),
        ("confirmed by FedFV's table 2", "confirmed"),
        ("inferred from monotone columns", "inferred"),
        ("recalled from an earlier version", "recalled"),
        ("not stated: chosen because it is usual", "assumed"),
    ],
)
def test_a_source_begins_with_how_a_value_is_known(source, word) -> None:
    assert sources.kind(source) == word
    assert word in SURE


def test_marks_stand_in_one_order_and_only_what_is_used_is_explained() -> None:
    assert marks(["reconstructed", "assumed", "paper"]) == "ᵃ*"
    assert marks(["paper"]) == marks([]) == ""
    assert len({*MARKS.values()}) == len(MARKS)
    assert legend(["assumed", "assumed", "paper"]) == ["ᵃ hyper-parameters not known, assumed."]
    assert [text[0] for text in legend(MARKS)] == list(MARKS.values())
    assert legend(["paper", ""]) == []


def setting(**given: str) -> Setting:
    return Setting(**demo.SETTING | {"sources": demo.SETTING["sources"] | given})


def test_settings_say_what_was_lost_and_then_all_that_is_not_the_papers() -> None:
    known = {"batch_size": "recalled from v1", "loss": "not stated: chosen because", "rounds": "inferred from figure 3"}
    count = len(SOURCED)
    text = sources.unprinted(setting(**known, seeds="public code"))
    assert text == (
        f"3 of the setting's {count} values are not printed in the paper: "
        "rounds (inferred); batch_size (recalled); loss (assumed)"
    )
    assert sources.unprinted(setting(loss="not stated: chosen because")) == ""  # left open, not lost
    assert sources.unprinted(setting()) == ""


TABLE = {"kind": "table", "title": "T", "caption": "", "settings": ["a", "b"], "columns": ["accuracy_mean"]}
QFFL = {"algorithm": "qffl"}
PAPER = {
    **demo.PAPER,
    "metrics": {
        "accuracy_mean": {"name": "acc", "meaning": "", "unit": "fraction"},
        "learning_rate": {"name": "lr", "meaning": "", "unit": ""},
    },
    "algorithms": {
        "qffl": {"title": "q-FFL"},
        "fedprox": {"title": "FedProx", "defaults": {"mu": 0.1}, "sources": {"mu": "recalled from v1"}},
        "fedavg": {"title": "FedAvg"},
    },
    "settings": {
        "a": demo.SETTING,
        "b": demo.SETTING | {
            "hyperparameters": {"qffl": {"epsilon": 2.0}},
            "sources": demo.SETTING["sources"] | {"hyperparameters.qffl": "inferred from the rates"},
        },
    },
    "artifacts": {
        "table1": {**TABLE, "rows": [
            {**QFFL, "hyperparameters": {"q": 10.0}, "provenance": "recalled", "note": "from v1"},
            {**QFFL, "hyperparameters": {"q": 0.5}, "provenance": "assumed", "note": "a default", "setting": "a"},
            {"algorithm": "fedprox"}, {"algorithm": "fedavg"},
        ]},
        "table2": {**TABLE, "settings": ["a"], "rows": [
            {**QFFL, "hyperparameters": {"q": 10}, "provenance": "confirmed", "note": "equal numbers"},
        ]},
        "table4": {**TABLE, "settings": ["a"], "columns": ["learning_rate"],
                   "rows": [{**QFFL, "hyperparameters": {"q": 99.0}}]},
        "table6": {"kind": "static_table", "title": "Table 6", "caption": "Grids", "content": "used"},
    },
}  # fmt: skip


@pytest.fixture
def workload(tmp_path):
    demo.project(tmp_path, PAPER)
    return lambda **given: load_workload(tmp_path, {"scale": "tiny", "papers": ["demo"], **given})


def used(workload) -> dict[tuple[str, str, str], sources.UsedValue]:
    records = sources.used_values(workload, "demo")
    return {(used.algorithm, used.hyperparameter, str(used.value)): used for used in records}


def test_every_value_in_use_has_the_surest_provenance_of_its_rows(workload) -> None:
    found = used(workload())
    ten = found["qffl", "q", "10.0"]
    assert (ten.provenance, ten.note, ten.artifacts) == ("confirmed", "equal numbers", ["table1", "table2"])
    half = found["qffl", "q", "0.5"]
    assert (half.provenance, half.note, half.artifacts) == ("assumed", "a default", ["table1"])
    mu = found["fedprox", "mu", "0.1"]
    assert (mu.provenance, mu.note, mu.title) == ("recalled", "recalled from v1", "FedProx")
    assert not [key for key in found if key[0] == "fedavg" or key[2] == "99.0"]  # nothing named, nothing run
