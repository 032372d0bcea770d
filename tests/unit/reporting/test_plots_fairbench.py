"""Figures that compare many methods: Pareto front, need of tuning, clients pair by pair, rank correlation."""

import json
import math

import numpy as np
import pytest

from fairfl.reporting.plots.tuning_need import expected_best
from tests.unit.reporting import demo
from tests.unit.reporting.drawing import drawn

A, B = "one", "two"
LABELS = {A: "Data A", B: "Data B"}
METHODS = ["fedavg", "qffl", "afl", "term", "fedfv"]
DESCRIBED = {
    "accuracy_mean": {"name": "mean", "meaning": "", "unit": "percent", "direction": "up"},
    "accuracy_worst10": {"name": "worst", "meaning": "", "unit": "percent", "direction": "up"},
    "accuracy_std": {"name": "std", "meaning": "", "unit": "percent", "direction": "down"},
    "loss_mean": {"name": "loss", "meaning": "", "unit": "mse", "direction": "down"},
}


def spec_of(plot, files, settings=(A,), methods=METHODS, columns=(), given=None, **options):
    described = {
        "settings": list(settings), "rows": [{"algorithm": name} for name in methods], "columns": list(columns),
        "plot": plot, "options": options,
    }  # fmt: skip
    metrics = {name: DESCRIBED[name] for name in columns}
    return demo.spec("fairbench_figure4", files, None, metrics, kind="figure", **described | (given or {}))


def tidy(folder, numbers):
    """Files of numbers as measured: (setting, algorithm, metric) -> those of the seeds."""
    lines = [
        (setting, name, "", seed, metric, value, "nats" if metric.startswith("loss") else "fraction")
        for (setting, name, metric), values in numbers.items()
        for seed, value in enumerate(values)
    ]
    return {"tidy": {"all": demo.tidy(folder / "tidy.csv", lines)}, "reported": {}}


# -- front ------------------------------------------------------------------------------------
# fedavg is dominated by qffl; afl and term are alike; fedfv is as good as qffl by y and worse by x.
PLACES = {"fedavg": (0.5, 0.3), "qffl": (0.7, 0.6), "afl": (0.8, 0.2), "term": (0.8, 0.2), "fedfv": (0.6, 0.6)}


def scatter(folder, y="accuracy_worst10", x="accuracy_mean", flip=(1, 1), **options):
    numbers = {
        (A, name, metric): [0.5 + sign * (value - 0.5)] * 2
        for name, place in PLACES.items()
        for metric, value, sign in zip((x, y), place, flip, strict=True)
    }
    return drawn(spec_of("metric_scatter", tidy(folder, numbers), columns=(x, y), x=x, y=y, **options))


@pytest.mark.parametrize(
    ("x", "y", "flip", "line"),
    [
        ("accuracy_mean", "accuracy_worst10", (1, 1), [("low", 60), (70, 60), (80, 20), (80, "low")]),
        ("accuracy_mean", "accuracy_std", (1, -1), [("low", 40), (70, 40), (80, 80), (80, "high")]),
        ("accuracy_std", "accuracy_mean", (-1, 1), [("high", 60), (30, 60), (20, 20), (20, "low")]),
    ],
)
def test_the_front_is_what_no_mark_dominates_by_the_directions(tmp_path, x, y, flip, line):
    """The line goes on to the worst ends of the axes, the better y first; two marks of the front are alike."""
    drawing, frame, remarks = scatter(tmp_path, y, x, flip, front=True)
    assert frame[frame["front"]]["algorithm"].tolist() == ["qffl", "afl", "term"] and frame["front"].notna().all()
    axes = drawing.axes[0]
    (front,) = [one for one in axes.get_lines() if one.get_drawstyle().startswith("steps")]
    ends = [dict(zip(("low", "high"), limits, strict=True)) for limits in (axes.get_xlim(), axes.get_ylim())]
    expected = [[end.get(at, at) for end, at in zip(ends, point, strict=True)] for point in line]
    points = list(dict.fromkeys(map(tuple, np.round(front.get_xydata(), 6))))
    assert points == [pytest.approx(end) for end in expected] and front.get_drawstyle() == "steps-pre"
    assert not any("Bars" in text for text in remarks)


# -- tuning -----------------------------------------------------------------------------------
def test_the_expected_best_of_three_trials_by_hand():
    # Pairs of 1, 2, 6 have the maxima 2, 6 and 6.
    assert expected_best([6, 1, 2]) == pytest.approx([3, 14 / 3, 6])
    assert expected_best([4.0]) == [4.0]


def tried(folder, trials):
    """Files of tuning: (setting, algorithm) -> scores."""
    files = {}
    for (setting, name), (metric, direction, *scores) in trials.items():
        path = folder / f"{setting}-{name}.json"
        points = [{"learning_rate": 0.1, "value": score} for score in scores]
        path.write_text(json.dumps({"metric": metric, "direction": direction, "points": points}))
        files[f"{setting}/{name}"] = str(path)
    return {"tuned": files}


@pytest.fixture
def trials(tmp_path):
    up, down = ("accuracy_mean", "up"), ("loss_mean", "down")
    return tried(tmp_path, {
        (A, "fedavg"): (*up, 0.1, 0.2, 0.6), (A, "qffl"): (*up, None, 0.5, None), (A, "afl"): (*up, 0.4),
        (B, "fedavg"): (*down, 1.0, 2.0, 6.0), (B, "qffl"): (*down, None, 3.0),
    })  # fmt: skip


def need(trials, settings=(A, B), **options):
    columns = ("accuracy_mean", "loss_mean")
    return drawn(spec_of("tuning_need", trials, settings, METHODS[:4], columns, labels=LABELS, **options))


def test_the_best_is_the_highest_or_lowest_and_diverged_trials_are_the_worst_of_the_setting(trials):
    drawing, frame, remarks = need(trials, y_labels={"loss_mean": "squared error"})
    lines = {key: line["expected"].tolist() for key, line in frame.groupby(["setting", "algorithm"])}
    assert lines[A, "fedavg"] == pytest.approx([30, 140 / 3, 60])  # percent
    assert lines[A, "qffl"] == pytest.approx([70 / 3, 110 / 3, 50])  # 10, 10, 50
    assert lines[A, "afl"] == [40] and (A, "term") not in lines
    # Pairs of 1, 2, 6 have the minima 1, 1 and 2; q-FFL has 3 and the 6 of FedAvg.
    assert lines[B, "fedavg"] == pytest.approx([3, 4 / 3, 1]) and lines[B, "qffl"] == pytest.approx([4.5, 3])
    assert frame.loc[frame["algorithm"] == "afl", "trials"].tolist() == [1]
    assert remarks[:1] == ["Trials that diverged: 2 of q-FFL (Data A), 1 of q-FFL (Data B)."]
    assert [axes.get_ylabel() for axes in drawing.axes] == ["mean (percent)", "squared error"]


# -- clients ----------------------------------------------------------------------------------
@pytest.fixture
def clients(tmp_path):
    """Four clients with two seeds. FedAvg has mean 0.5: two suffer, two do well; a seed of AFL has diverged."""
    accuracies = {
        "fedavg": ([0.2, 0.4, 0.6, 0.8], [0.2, 0.4, 0.6, 0.8]),
        "qffl": ([0.3, 0.4, 0.5, 0.7], [0.3, 0.5, 0.6, 0.7]),
        "afl": ([0.1, 0.4, 0.7, 0.8], [math.nan] * 4),
    }
    numbers = {
        (A, name, f"accuracy_client_{k}"): [seed[k] for seed in seeds]
        for name, seeds in accuracies.items()
        for k in range(4)
    }
    return tidy(tmp_path, numbers)


BASELINE = {"baseline": {"algorithm": "fedavg"}}


def test_clients_stand_beside_themselves_with_the_baseline(clients):
    drawing, frame, remarks = drawn(spec_of("client_pairs", clients, methods=METHODS[:4], given=BASELINE))
    assert len(frame) == 2 * 4 + 4 and set(frame["algorithm"]) == {"qffl", "afl"}  # the baseline has no panel
    line = frame[(frame["algorithm"] == "qffl") & (frame["seed"] == 1) & (frame["client"] == 1)].iloc[0]
    assert (line["baseline"], line["accuracy"]) == pytest.approx((40, 50))
    words = [axes.texts[0].get_text() for axes in drawing.axes]
    # q-FFL: of the suffering 1 of 2 and 2 of 2 rise; of the others 2 of 2 and 1 of 2 fall.
    assert words == [f"{share}% rise, {share}% fall" for share in (75, 0)]
    assert remarks[:2] == ["Not run: TERM.", "Diverged, not drawn: AFL (4 of 8 points)."]
    assert drawing.axes[0].get_xlabel() == "with FedAvg (percent)"
    low, high = drawing.axes[0].get_xlim()
    assert (low, high) == drawing.axes[0].get_ylim() == pytest.approx((5, 100))


# -- ranks ------------------------------------------------------------------------------------
@pytest.fixture
def ranked(tmp_path):
    """Setting A: four methods in the order 1 2 3 4 by mean, 1 2 4 3 by worst, 4 3 2 1 by std; B: losses and a tie."""
    mean, worst, std = [0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.4, 0.3], [0.4, 0.3, 0.2, 0.1]
    numbers = {}
    for name, *values in zip(METHODS, mean, worst, std, strict=False):
        for metric, value in zip(DESCRIBED, values, strict=False):
            numbers[A, name, metric] = [value - 0.05, value + 0.05]
    for name, one, two in zip(METHODS, [0.1, 0.1, 0.2, 0.3], [0.4, 0.3, 0.2, 0.1], strict=False):
        numbers[B, name, "accuracy_mean"], numbers[B, name, "accuracy_worst10"] = [one], [two]
    numbers[B, "fedfv", "accuracy_mean"], numbers[B, "fedfv", "accuracy_worst10"] = [math.nan], [0.9]
    return tidy(tmp_path, numbers)


def test_tau_is_by_the_directions_and_of_ties_tau_b(ranked):
    columns = ("accuracy_mean", "accuracy_worst10", "accuracy_std")
    spec = spec_of("rank_correlation", ranked, (A, B), METHODS, columns, labels=LABELS)
    drawing, frame, remarks = drawn(spec)
    tau = frame.set_index(["setting", "metric", "other"])["tau"]
    # Of six pairs one is turned round; std falls as the mean rises, which is better in both.
    assert tau[A, "accuracy_mean", "accuracy_worst10"] == pytest.approx(4 / 6)
    assert tau[A, "accuracy_mean", "accuracy_std"] == pytest.approx(1)
    # Five of six pairs are turned round, one is tied in one metric: -5 / sqrt(5 * 6).
    assert tau[B, "accuracy_mean", "accuracy_worst10"] == pytest.approx(-5 / math.sqrt(30))
    assert math.isnan(tau[B, "accuracy_mean", "accuracy_std"])
    assert frame["methods"].tolist() == [4, 4, 4, 4, 0, 0]
    assert remarks[-2:] == [
        "Diverged, left out: FedFV (Data B).", "Below the diagonal: mean over settings; above it: the smallest.",
    ]  # fmt: skip
    shown = np.ma.filled(drawing.axes[0].collections[0].get_array().reshape(3, 3), np.nan)
    low = -5 / math.sqrt(30)
    assert shown[1, 0] == pytest.approx((4 / 6 + low) / 2) and shown[0, 1] == pytest.approx(low)
    assert shown[2, 0] == shown[0, 2] == pytest.approx(1) and np.isnan(np.diag(shown)).all()
    texts = [text.get_text() for text in drawing.axes[0].texts]
    assert texts == ["-0.91", "1.00", "-0.12", "0.67", "1.00", "0.67"]
