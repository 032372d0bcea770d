"""Calibration reports: the miss, its order, the named best point."""

import json

import numpy as np
import pandas as pd
import pytest

from fairfl.jobs import calibration

SPEC = {
    "name": "rate",
    "points": {
        "s~learning_rate=0.1": {"learning_rate": 0.1, "samples": 500},
        "s~learning_rate=1.0": {"learning_rate": 1.0, "samples": 500},
        "s~learning_rate=5.0": {"learning_rate": 5.0, "samples": 1000},
    },
    "algorithm": "fedavg",
    "targets": [
        {"metric": "gap_max", "value": 0.5, "tolerance": 0.1, "source": "paper"},
        {"metric": "accuracy_balanced", "value": 0.8, "tolerance": 0.02, "source": "paper"},
    ],
    "why": "The rate is not stated.",
    "data": "digits (stand-in for emnist)",
    "code": {},
}


def compare(final, **changes):
    return calibration.compare(calibration.Spec(**SPEC | changes), final)


def tidy(values, algorithm="fedavg"):
    """Two seeds per grid point around (gap_max, accuracy_balanced)."""
    rows = []
    for setting, (gap, accuracy) in zip(SPEC["points"], values, strict=True):
        for seed in (-1, 1):
            rows.append((setting, algorithm, seed, "gap_max", gap + seed * 0.05))
            rows.append((setting, algorithm, seed, "accuracy_balanced", accuracy + seed * 0.01))
    return pd.DataFrame(rows, columns=["setting", "algorithm", "seed", "metric", "value"])


VALUES = [(0.9, 0.8), (0.5, 0.84), (0.6, 0.8)]  # misses: sqrt(16/2), sqrt(4/2), sqrt(1/2)


def test_the_smallest_miss_comes_first():
    table = compare(tidy(VALUES))
    assert table["setting"].tolist() == list(SPEC["points"])[::-1]
    np.testing.assert_allclose(table["miss"], [0.5**0.5, 2**0.5, 8**0.5])


def test_a_row_holds_the_point_our_mean_and_the_reported_number():
    row = compare(tidy(VALUES)).iloc[0]
    assert (row["learning_rate"], row["samples"], row["data"]) == (5.0, 1000, SPEC["data"])
    assert row["gap_max"] == pytest.approx(0.6) and row["gap_max_reported"] == 0.5
    assert row["accuracy_balanced"] == pytest.approx(0.8) and row["accuracy_balanced_reported"] == 0.8


def test_other_algorithms_and_settings_do_not_count():
    foreign = pd.concat([tidy([(9, 9)] * 3, "eagle"), tidy([(9, 9)] * 3).assign(setting="other")])
    mine = tidy(VALUES)
    pd.testing.assert_frame_equal(compare(pd.concat([foreign, mine])), compare(mine))


def test_points_of_equal_miss_keep_the_order_of_the_grid():
    grid = {f"s~x={n}": {"x": n} for n in range(60)}  # long enough for a sort that is not stable to show
    rows = [(name, "fedavg", 0, metric, 0.5 + n % 2) for n, name in enumerate(grid) for metric in ("a", "b")]
    final = pd.DataFrame(rows, columns=["setting", "algorithm", "seed", "metric", "value"])
    targets = [{"metric": metric, "value": 0.5, "tolerance": 1.0, "source": "paper"} for metric in ("a", "b")]
    table = compare(final, points=grid, targets=targets)
    assert table["x"].tolist() == [*range(0, 60, 2), *range(1, 60, 2)]


def test_a_diverged_point_comes_last():
    table = compare(tidy([(float("nan"), 0.8), (9.0, 0.1), (5.0, 0.1)]))
    assert table["learning_rate"].tolist() == [5.0, 1.0, 0.1]
    assert np.isnan(table["miss"].iloc[-1])


def test_the_command_names_the_best_point_and_writes_the_same_bytes_again(tmp_path):
    rows = tidy(VALUES)
    for number, (_, group) in enumerate(rows.groupby("setting")):
        group.to_csv(tmp_path / f"{number}.csv", index=False)
    made = []
    for name in ("a", "b"):
        csv, md = tmp_path / name / "rate.csv", tmp_path / name / "rate.md"
        files = [str(tmp_path / f"{n}.csv") for n in range(3)]
        calibration.main(["--spec", json.dumps(SPEC), "--tidy", *files, "--csv", str(csv), "--md", str(md)])
        made.append((csv.read_bytes(), md.read_bytes()))
    assert made[0] == made[1]
    text = made[0][1].decode()
    assert "nearest to the reported numbers: learning_rate = 5.0, samples = 1000." in text
    assert text.startswith("# Calibration rate on fedavg\n\nThe rate is not stated.\n\n")
    assert "Data: digits (stand-in for emnist)." in text
    assert text.count("\n| ") == 4  # header and three points, besides the line below the header
    head, first, *_ = made[0][0].decode().splitlines()
    assert head.startswith("learning_rate,samples,gap_max,gap_max_reported,accuracy_balanced,")
    assert first == f"5,1000,0.6,0.5,0.8,0.8,0.707106781,{SPEC['data']},s~learning_rate=5.0"
