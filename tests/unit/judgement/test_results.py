"""The reader of results: seeds become mean and spread, units are the paper's, bad files are named."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from fairfl.experiments.described import Metric
from fairfl.experiments.paper import Paper
from fairfl.experiments.setting import SOURCED, Setting
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import load_workload
from fairfl.judgement import sources
from fairfl.judgement.arithmetic import describe_numerics
from fairfl.judgement.cells import Cells, expanded
from fairfl.judgement.claims import preflight
from fairfl.judgement.results import Results
from fairfl.judgement.sources import SURE
from fairfl.judgement.units import factor, printed
from fairfl.reporting.marks import MARKS, legend, marks
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import SpecError
from tests.unit.reporting import demo
from tests.unit.reporting.demo import REPORTED, TIDY


def tidy(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "s.csv"
    path.write_text(TIDY + "".join(f"{line}\n" for line in lines))
    return path


def paper() -> Paper:
    metrics = {"loss": Metric(name="loss", meaning="", unit="nats", digits=2)}
    return Paper.model_construct(metrics=metrics, settings={"s": None}, algorithms={"fedavg": None})


def ours(path: Path, unit: str = "") -> Cells:
    """The numbers of a tidy file; `unit` is the one that the paper prints, "" for that of the file."""
    metrics = {name: Metric(name=name, meaning="", unit=unit) for name in ("acc", "loss") if unit}
    return Results({"tidy": {"s": str(path)}}, lambda setting: metrics).ours


def reported(path: Path, paper: Paper, artifact: str) -> Cells:
    files = {"reported": {f"p_{artifact}": str(path)}}
    return Results(files, lambda setting: paper.metrics, papers={"p": paper}).reported[f"p_{artifact}"]


def test_seeds_stand_in_their_order_wherever_their_lines_are(tmp_path) -> None:
    path = tidy(tmp_path, *(f"s,a,,{seed},loss,{seed + 1},nats,d,5,r{seed},f{seed}" for seed in (12, 0)))
    cell = ours(path).find("s", Variant("a", {}), "loss")
    assert list(cell.by_seed.items()) == [(0, 1.0), (12, 13.0)] and cell.mean == 7.0
    assert (cell.runs, cell.fingerprints) == (("r0", "r12"), ("f0", "f12"))


@pytest.mark.parametrize("bad", ["", "nan", "inf", "-inf"])
def test_one_diverged_seed_leaves_no_mean(tmp_path, bad) -> None:
    path = tidy(tmp_path, f"s,a,,0,loss,{bad},nats,d,5,r0,f0", "s,a,,1,loss,3.0,nats,d,5,r1,f1")
    values = ours(path)
    cell = values.find("s", Variant.from_csv("a", ""), "loss")
    assert (cell.mean, cell.std, cell.seeds, cell.diverged) == (None, None, 2, 1)
    assert values.missing("s", Variant.from_csv("a", ""), "loss") == "loss of a in s: 1 of 2 seeds diverged"


def test_units_are_those_of_the_paper(tmp_path) -> None:
    path = tidy(tmp_path, "s,a,,0,acc,0.25,fraction,d,5,r,f")
    cell = ours(path, "percent").find("s", Variant.from_csv("a", ""), "acc")
    assert (cell.mean, cell.unit) == (25.0, "percent")
    with pytest.raises(FairflError, match=r"s\.csv, line 2: unit 'fraction' cannot be shown as 'nats'"):
        ours(path, "nats")


def test_a_seed_that_comes_twice_is_named(tmp_path) -> None:
    """Lines that cannot be read: tests/bad_input/test_bad_files.py."""
    with pytest.raises(FairflError, match=r"line 3: seed 0 of loss is duplicated"):
        ours(tidy(tmp_path, *["s,a,,0,loss,1,nats,d,5,r,f"] * 2))


def test_missing_column_is_named(tmp_path) -> None:
    path = tmp_path / "s.csv"
    path.write_text(TIDY.replace("metric", "metrc"))
    with pytest.raises(FairflError, match="no column 'metric'; delete it and run again"):
        ours(path)
    path.write_text(REPORTED.replace("metric", "metrc"))  # no job can make that again
    with pytest.raises(FairflError, match="no column 'metric'; did you mean 'metrc'"):
        reported(path, paper(), "t")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("u,s,fedavg,,loss,1,,,nats,", "artifact: 'u' is not 't'"),
        ("t,s,fedavk,,loss,1,,,nats,", "algorithm: unknown 'fedavk'; did you mean 'fedavg'"),
        ("t,s,fedavg,,loss,1,,,percent,", "unit 'percent' cannot be shown as 'nats'"),
    ],
)
def test_unknown_names_in_reported_files(tmp_path, line, message) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{REPORTED}{line}\n")
    with pytest.raises(FairflError, match=f"t.csv, line 2: {message}"):
        reported(path, paper(), "t")


def test_family_column_stands_for_its_members_in_numeric_order(tmp_path) -> None:
    path = tidy(tmp_path, *(f"s,a,,0,gap_client_{k},1,nats,d,5,r,f" for k in (10, 2, 0)))
    values = ours(path)
    assert expanded("gap_client_k", "s", values) == ["gap_client_0", "gap_client_2", "gap_client_10"]
    assert expanded("gap_client_k", "s", Cells()) == ["gap_client_k"]
    assert expanded("gap_max", "s", values) == ["gap_max"]


@pytest.mark.parametrize(
    ("value", "unit", "digits", "text"),
    [(0.00026, "", 2, "0.00026"), (6e-5, "", 2, "6e-05"), (0.2, "", 2, "0.2"), (3.0, "", 2, "3"),
     (12.345, "percent", 2, "12.35"), (-0.001, "percent", 2, "0.00"), (24959.0, "count", 0, "24959")],
)  # fmt: skip
def test_numbers_without_a_unit_print_significant_digits(value, unit, digits, text) -> None:
    assert printed(value, unit, digits) == text


@pytest.mark.parametrize(
    ("unit", "wanted", "expected"),
    [("fraction", "percent", 100), ("fraction^2", "percent2", 1e4), ("percent2", "fraction^2", 1e-4),
     ("percent", "percent_points", 1), ("nats", "nats", 1), ("nats", "", 1), ("", "nats", 1)],
)  # fmt: skip
def test_factors_between_units(unit, wanted, expected) -> None:
    assert factor(unit, wanted) == expected


# -- What is said of the arithmetic of runs in one table.
CPU = {"torch": version("torch"), "device": "cpu", "instructions": "AVX2", "threads": "1", "backend": "auto"}


def test_what_is_said_of_a_table():
    assert describe_numerics([CPU, CPU, {}]) == describe_numerics([]) == ""
    assert describe_numerics([CPU, CPU | {"threads": "2"}, CPU, {}]) == "threads 1 (2 runs) and 2 (1 run)"
    assert describe_numerics([CPU | {"threads": "2"}] * 2) == "threads 2"  # not as usual
    mixed = [CPU, CPU | {"torch": "1.0", "backend": "sequential"}, CPU | {"torch": "2.0"}]
    assert describe_numerics(mixed) == (
        f"torch 1.0 (1 run), 2.0 (1 run) and {CPU['torch']} (1 run); backend auto (2 runs) and sequential (1 run)"
    )
    assert describe_numerics([CPU | {"instructions": "NEON"}]) == ""  # every machine has its own


# -- how values are known: words of sources, of rows, of algorithms' files; every value that runs use --------
@pytest.mark.parametrize(
    ("source", "word"),
    [("paper table 1", "paper"), ("public code FedFV", "paper"), ("confirmed by FedFV's table 2", "confirmed"),
     ("inferred from monotone columns", "inferred"), ("recalled from an earlier version", "recalled"),
     ("not stated: chosen because it is usual", "assumed")],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda text: text.replace(",fedavg,", ",fedavgg,", 1),
            ", line 2: algorithm: unknown 'fedavgg'; did you mean 'fedavg'",
        ),
        (lambda text: text.replace(",", ";"), ": "),
        (lambda text: re.sub(r",(\d+\.\d+),", r",\1 ± 0.2,", text, count=1), ", line 2: "),
    ],
)
def test_printed_numbers_are_read_before_the_first_job(root, tmp_path, monkeypatch, change, words):
    workload = load_workload(root, {"scale": "quick", "papers": ["fedfv"]})
    place = Path("papers/reported/fedfv/table3.csv")
    (tmp_path / place.parent).mkdir(parents=True)
    text = (root / place).read_text()
    monkeypatch.chdir(tmp_path)
    place.write_text(text)
    preflight.check_printed(workload)
    place.write_text(change(text))
    with pytest.raises(SpecError, match=re.escape(f"papers/fedfv.yaml: {place}{words}")):
        preflight.check_printed(workload)
