"""tests.golden: which differences from the committed results are told, and which are none."""

import json

import pandas as pd
import pytest

from tests.golden import __main__ as held

CELL = {"setting": "s", "algorithm": "a", "hyperparameters": "", "metric": "m", "unit": "percent"}


def results(folder, value="1.5", fingerprint="f0", seconds="3", artifacts=range(10), heading=""):
    """Results of one paper: ten tables of one number each, and one that holds seconds."""
    rows = [
        {"artifact": f"p_table{n}", **CELL, "ours": "2" if n else value, "fingerprints": fingerprint} for n in artifacts
    ]
    rows.append({"artifact": "p_table99", **CELL, "unit": "seconds", "ours": seconds, "fingerprints": fingerprint})
    (folder / "p").mkdir(parents=True, exist_ok=True)
    for row in rows:
        name = row["artifact"].removeprefix("p_")
        pd.DataFrame([row]).drop(columns="fingerprints").to_csv(folder / "p" / f"{name}.csv", index=False)
        for ending in ("md", "side_by_side.tex"):
            (folder / "p" / f"{name}.{ending}").write_text(f"{row['ours']}{heading}")
    pd.DataFrame(rows).to_csv(folder / "comparison.csv", index=False)
    pd.DataFrame([{"artifact": "p_table1", "claim": "c", "status": "supported"}]).to_csv(
        folder / "claims.csv", index=False
    )
    pd.DataFrame([{"artifact": "p_table1", "tau": "1"}]).to_csv(folder / "ranking.csv", index=False)
    return folder


@pytest.fixture(autouse=True)
def committed(tmp_path, monkeypatch):
    monkeypatch.setattr(held, "DIGESTS", tmp_path / "quick.json")
    monkeypatch.setattr(held, "NUMBERS", tmp_path / "quick.csv")
    monkeypatch.setattr(held, "REPORTED", tmp_path / "reported")
    (tmp_path / "reported/p").mkdir(parents=True)
    held.write(results(tmp_path / "then"))
    return tmp_path / "quick.json"


def elsewhere(committed):
    record = json.loads(committed.read_text())
    committed.write_text(json.dumps(record | {"machine": {"processor": "another"}}))


def test_fingerprints_and_seconds_may_differ(tmp_path):
    assert held.problems(results(tmp_path / "now", fingerprint="f1", seconds="4")) == []


def test_another_number_is_told_by_the_files_that_hold_it(tmp_path):
    told = held.problems(results(tmp_path / "now", value="1.5000001"))
    texts = ["p/table0.md: differs", "p/table0.side_by_side.tex: differs"]
    assert told == ["p/table0.csv: differs", "comparison.csv: differs", *texts]


def test_another_text_of_equal_numbers_is_told(tmp_path):
    told = held.problems(results(tmp_path / "now", heading=" ", artifacts=range(10)))
    assert len(told) == 20 and "p/table3.side_by_side.tex: differs" in told and "p/table3.csv: differs" not in told


def test_missing_and_unknown_files_are_told(tmp_path):
    told = held.problems(results(tmp_path / "now", artifacts=[*range(9), 11]))
    assert "p/table9.csv: missing" in told and "p/table11.csv: not among the committed ones" in told


def test_another_kind_of_machine_may_round_otherwise(tmp_path, committed):
    elsewhere(committed)
    assert held.problems(results(tmp_path / "now", value="1.6")) == []
    assert held.problems(results(tmp_path / "far", value="-7")) == []  # one of ten
    too_many = results(tmp_path / "all")
    frame = held.read(too_many / "comparison.csv")
    frame.assign(ours="9").to_csv(too_many / "comparison.csv", index=False)
    assert held.problems(too_many) == ["only 0.0% of the numbers are within 10%"]
