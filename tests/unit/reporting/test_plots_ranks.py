"""The plots of a benchmark: ranks over settings and what they tell apart."""

from itertools import product

import numpy as np
import pytest

from tests.unit.reporting import demo
from tests.unit.reporting import drawing as in_memory

RANKED = {"fedavg": (50.0, 2.0), "qffl": (60.0, 3.0), "afl": (40.0, 1.0), "eagle": (70.0, 9.0)}  # accuracy, loss
TOLD = {"name": "worst 10 %", "meaning": "m", "unit": "percent", "direction": "up", "digits": 1}


def ranked_spec(folder, plot, options, settings=("one", "two")):
    """Accuracy in the first setting, loss in the others; two seeds, AFL's second one diverged in the second."""
    rows = [{"algorithm": name, "hyperparameters": {}} for name in RANKED]
    files = {}
    for setting in settings:
        lines = []
        for (algorithm, (accuracy, loss)), seed in product(RANKED.items(), (0, 1)):
            own = ("accuracy", (accuracy + seed) / 100, "fraction") if setting == "one" else ("loss", loss, "nats")
            value = np.nan if (setting, algorithm, seed) == ("two", "afl", 1) else own[1]
            lines.append((setting, algorithm, "", seed, own[0], value, own[2]))
        files[setting] = demo.tidy(folder / f"{setting}.csv", lines)
    metrics = {"accuracy": TOLD, "loss": TOLD | {"name": "worst loss", "unit": "nats", "direction": "down"}}
    columns_in = {setting: ["loss"] for setting in settings if setting != "one"}
    given = {"settings": list(settings), "rows": rows, "columns": list(metrics), "columns_in": columns_in}
    return demo.spec(
        "eagle_figure9", {"tidy": files}, metrics=metrics, kind="figure", plot=plot, options=options, **given
    )


def test_leaderboard_ranks_by_what_a_setting_has_and_a_class_by_itself(tmp_path):
    wanted = {"utility": ["accuracy", "loss"], "fairness": ["loss"], "apart": ["eagle"], "labels": {"two": "Second"}}
    spec = ranked_spec(tmp_path, "leaderboard", wanted)
    drawing, frame, remarks = in_memory.drawn(spec)
    panel = frame[frame["panel"] == "utility"].set_index(["setting", "algorithm"])["rank"]
    assert panel["one"].to_dict() == {"qffl": 1, "fedavg": 2, "afl": 3, "eagle": 1}
    assert panel["two"].to_dict() == {"qffl": 2, "fedavg": 1, "afl": 3, "eagle": 1}  # AFL has diverged
    assert panel["all"].to_dict() == {"qffl": 1.5, "fedavg": 1.5, "afl": 3, "eagle": 1}
    ends = frame[frame["setting"] == "all"]
    assert (ends["low"] <= ends["rank"]).all() and (ends["rank"] <= ends["high"]).all()
    left, right = drawing.axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["FedAvg", "q-FFL", "AFL", "EAGLE"]
    assert (left.get_xlabel(), right.get_xlabel()) == ("rank by worst 10 % or worst loss", "rank by worst loss")
    assert "By worst loss instead of worst 10 %: Second." in remarks


def test_critical_difference_joins_what_is_not_told_apart(tmp_path):
    """In twenty-four settings EAGLE is last, AFL first (but for the one in which it diverged)."""
    many = [f"s{number}" for number in range(23)] + ["two"]
    drawing, frame, remarks = in_memory.drawn(
        ranked_spec(tmp_path, "critical_difference", {"metrics": ["loss"]}, settings=many)
    )
    overall = frame[frame["setting"] == "all"].set_index("algorithm")
    assert overall["rank"].to_dict() == pytest.approx(
        {"afl": 27 / 24, "fedavg": 47 / 24, "qffl": 71 / 24, "eagle": 95 / 24}
    )
    assert overall["cd"].unique() == pytest.approx([2.569032 * np.sqrt(20 / 144)], rel=1e-5)
    assert overall["p"].max() < 1e-9
    (axes,) = drawing.axes
    joined = [line.get_xdata().tolist() for line in axes.get_lines() if line.get_linewidth() == 2.5]
    assert joined == [pytest.approx([27 / 24, 47 / 24])] and 47 / 24 - 27 / 24 < 2.569 * np.sqrt(20 / 144) < 1
    assert {text.get_text() for text in axes.texts} >= {"CD = 0.96", "AFL  1.1", "4.0  EAGLE"}
    assert any(text.startswith("Friedman: p = ") and "24 settings, 4 methods" in text for text in remarks)


def test_paired_differences_are_corrected_within_a_panel(tmp_path):
    """q-FFL's difference is beyond chance; EAGLE's, p = 0.03, is not among three; AFL's not even alone."""
    apart = {"fedavg": (0, 0, 0), "qffl": (9.9, 10, 10.1), "afl": (1, 3, 5), "eagle": (2.3, 3.3, 4.3)}
    spec = ranked_spec(tmp_path, "paired_differences", {"of": ["fedavg"], "holm": True}, settings=("one",))
    lines = [
        ("one", name, "", seed, "accuracy", 0.5 + more / 100, "fraction")
        for name, given in apart.items()
        for seed, more in enumerate(given)
    ]
    demo.tidy(tmp_path / "one.csv", lines)
    spec["artifact"]["columns"] = ["accuracy"]
    drawing, frame, remarks = in_memory.drawn(spec)
    line = frame.set_index("algorithm")
    assert line["p"]["eagle"] < 0.05 < line["p_holm"]["eagle"] == pytest.approx(2 * line["p"]["eagle"])
    assert line["p_holm"]["qffl"] == pytest.approx(3 * line["p"]["qffl"])
    assert line["p_holm"]["afl"] == pytest.approx(line["p"]["afl"])
    faces = [bars[0].get_markerfacecolor() for bars in drawing.axes[0].containers]
    assert [face != "white" for face in faces] == [True, False, False]
    assert "Filled: p below 0.05 by Holm's correction over all differences of a panel." in remarks
    spec["artifact"]["options"] = {"of": ["fedavg"]}
    drawing, frame, _ = in_memory.drawn(spec)
    assert "p_holm" not in frame
    assert "white" not in [bars[0].get_markerfacecolor() for bars in drawing.axes[0].containers]


def test_factor_ranks_rank_within_each_level_and_hold_every_method_against_a_baseline(tmp_path):
    settings = ("one", "two", "three", "four")
    options = {"metrics": ["accuracy", "loss"], "baseline": "fedavg", "apart": ["eagle"]}
    spec = ranked_spec(tmp_path, "factor_ranks", options, settings)
    for setting in settings:
        spec["settings"][setting]["levels"] = {"data": "images" if setting == "one" else "words"}
    figure, frame, remarks = in_memory.drawn(spec)
    ranks = frame.set_index(["factor", "level", "algorithm"])["rank"]
    assert ranks["data", "images"].to_dict() == {"qffl": 1, "fedavg": 2, "afl": 3}
    assert ranks["data", "words"]["fedavg"] < ranks["data", "words"]["qffl"]
    assert ranks["all", "all"].sum() == pytest.approx(6)
    qffl = frame[(frame["factor"] == "all") & (frame["algorithm"] == "qffl")].iloc[0]
    assert (qffl["better"], qffl["pairs"]) == (0.25, 8)  # both seeds of the first of four settings
    assert qffl["p"] == pytest.approx(0.2890625)  # two of eight
    base = frame[frame["algorithm"] == "fedavg"]
    assert base["p"].isna().all() and (base["better"] == 0.5).all()
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["all (4)", "images (1)", "words (3)"]
    assert any("Friedman's p" in remark for remark in remarks)
