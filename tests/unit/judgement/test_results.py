"""The reader of results: seeds become mean and spread, units are the paper's, bad files are named."""

from importlib.metadata import version
from pathlib import Path

import pytest

from fairfl.experiments.described import Metric
from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.arithmetic import describe_numerics
from fairfl.judgement.cells import Cells, expanded
from fairfl.judgement.results import Results
from fairfl.judgement.units import factor, printed
from fairfl.runtime.errors import FairflError
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
    assert factor("", "nats") == 1.0


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
    [
        (0.00026, "", 2, "0.00026"),
        (6e-5, "", 2, "6e-05"),
        (0.2, "", 2, "0.2"),
        (3.0, "", 2, "3"),
        (12.345, "percent", 2, "12.35"),
        (-0.001, "percent", 2, "0.00"),
        (24959.0, "count", 0, "24959"),
    ],
)
def test_numbers_without_a_unit_print_significant_digits(value, unit, digits, text) -> None:
    assert printed(value, unit, digits) == text


# -- targets that were not reached --------------------------------------------------------------


# -- units that a metric has in other settings --------------------------------------------------


# -- what is timed and what settings say --------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "wanted", "expected"),
    [("fraction", "percent", 100), ("fraction^2", "percent2", 1e4), ("percent2", "fraction^2", 1e-4),
     ("percent", "percent_points", 1), ("nats", "nats", 1), ("nats", "", 1)],
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
