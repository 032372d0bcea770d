"""Figures of FedEBA+: its toy round, the fair angle, sweeps, curves of several settings, label shares."""

import math

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from fairfl.judgement.results import drawn_values
from fairfl.partition.deal import statistics
from fairfl.reporting import figures
from fairfl.reporting.plots.one_step import Toy
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo
from tests.unit.reporting.drawing import drawn

A, B = "fedeba_a", "fedeba_b"
LABELS = {A: "Data A", B: "Data B"}
# Column -> name and unit in papers, unit in which runs measure.
METRICS = {
    "accuracy_global": ("global accuracy", "percent", "fraction"),
    "accuracy_var": ("variance", "percent2", "fraction^2"),
    "parameter_0": ("next model", "", ""),
}


def plus(setting=None, **hyperparameters):
    return {"algorithm": "fedeba_plus", "hyperparameters": hyperparameters, "setting": setting}


def spec_of(plot, files, settings=(A,), rows=(), columns=(), kind="figure", **options):
    metrics = {
        name: {"name": METRICS[name][0], "meaning": "", "unit": METRICS[name][1], "digits": 2} for name in columns
    }
    given = {"settings": list(settings), "rows": list(rows), "columns": list(columns), "options": options}
    return demo.spec("fedeba_figure5", files, None, metrics, kind=kind, plot=plot, **given)


def stays_inside(drawing):
    """True if no legend, title or tick label is cut off at the edge of the figure."""
    (width, height), renderer = drawing.canvas.get_width_height(), drawing.canvas.get_renderer()
    parts = [*drawing.legends, *(axes for axes in drawing.axes if axes.get_visible())]
    boxes = [part.get_tightbbox(renderer) for part in parts]
    return all(box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1 for box in boxes)


def entries(drawing):
    (legend,) = drawing.legends
    return [text.get_text() for text in legend.get_texts()]


def spelled(row):
    return ",".join(f"{key}={value}" for key, value in sorted(row.get("hyperparameters", {}).items()))


def tidy_files(folder, lines, reported=()):
    """Files of (setting, row, seed, metric, value as measured), and the paper's (setting, row, metric, value)."""
    spelt = [(s, row["algorithm"], spelled(row), seed, m, v, METRICS[m][2]) for s, row, seed, m, v in lines]
    tidy = demo.tidy(folder / "tidy.csv", spelt)
    text = demo.REPORTED + "".join(
        f'table7,{setting},{row["algorithm"]},"{spelled(row)}",{metric},{value},,,{METRICS[metric][1]},\n'
        for setting, row, metric, value in reported
    )
    (folder / "table7.csv").write_text(text)
    return {"tidy": {"all": tidy}, "reported": {"table7": str(folder / "table7.csv")}}


# -- sweeps -----------------------------------------------------------------------------------
ANGLES = [plus(alpha=0.9), plus(alpha=0.9, theta=45), plus(alpha=0.9, theta=15)]


@pytest.fixture
def swept(tmp_path):
    """Accuracies of three fair angles, theta = 0 left out, in two settings; seeds 0.02 apart; the paper has one."""
    accuracies = {0: 0.80, 45: 0.60, 15: 0.70}
    lines = [
        (setting, row, seed, metric, value)
        for setting, shift in ((A, 0.0), (B, 0.1))
        for row in ANGLES
        for seed in (0, 1)
        for accuracy in [accuracies[row["hyperparameters"].get("theta", 0)] + shift + seed / 50]
        for metric, value in (("accuracy_global", accuracy), ("accuracy_var", accuracy / 100))
    ]
    return tidy_files(tmp_path, lines, [(A, ANGLES[2], "accuracy_global", 71.5)])


def sweep(files, settings=(A, B), columns=("accuracy_global", "accuracy_var"), rows=ANGLES, **options):
    options = options or {"key": "theta", "default": 0, "labels": LABELS}
    return spec_of("metric_sweep", files, settings, rows, columns, **options)


def test_a_sweep_is_mean_and_deviation_over_seeds_at_the_values_of_the_hyperparameter(swept):
    """A line of panels per metric, a column per setting; marks in the order of the axis, not of the rows."""
    drawing, frame, remarks = drawn(sweep(swept))
    own = frame[(frame["setting"] == B) & (frame["metric"] == "accuracy_global") & (frame["kind"] == "ours")]
    assert own.set_index("x")["mean"].to_dict() == pytest.approx({0: 91, 45: 71, 15: 81})
    assert own["std"].tolist() == pytest.approx([1] * 3) and set(own["seeds"]) == {2}
    variance = frame[(frame["setting"] == A) & (frame["metric"] == "accuracy_var")]
    assert variance["mean"].tolist() == pytest.approx([81, 61, 71])  # 1e4 percent2 in a fraction^2
    paper = frame[frame["kind"] == "paper"]
    assert paper[["setting", "x", "mean"]].to_numpy().tolist() == [[A, 15, 71.5]]
    assert remarks == ["Bars: ± one standard deviation over 2 seeds."]
    assert [axes.get_title(loc="left") for axes in drawing.axes] == ["Data A", "Data B", "", ""]
    titles = ["global accuracy (percent)", "", "variance (percent²)", ""]
    assert [axes.get_ylabel() for axes in drawing.axes] == titles and drawing.axes[2].get_xlabel() == "θ"
    assert stays_inside(drawing) and entries(drawing) == ["FedEBA+", "the paper's"]
    assert drawing.axes[0].get_lines()[0].get_xdata().tolist() == [0, 15, 45]


# -- label shares -----------------------------------------------------------------------------
def test_label_shares_are_those_of_all_parts_of_a_client(tmp_path):
    """Three clients with one or two of four classes each."""
    columns = {"row": np.arange(12), "client": np.repeat([0, 1, 2], 4), "part": np.tile([0, 0, 1, 2], 3)}
    labels = np.array([0, 0, 0, 3, 1, 1, 2, 2, 3, 3, 3, 3])
    (tmp_path / "a.csv").write_text(statistics(columns, labels, [], "d"))
    drawing, frame, _ = drawn(spec_of("label_shares", {"statistics": {A: str(tmp_path / "a.csv")}}))
    own = frame.pivot(index="client", columns="class", values="share")
    assert own.to_numpy().tolist() == [[0.75, 0, 0, 0.25], [0, 0.5, 0.5, 0], [0, 0, 0, 1]]
    assert frame["samples"].sum() == 12 and stays_inside(drawing)
    first = drawing.axes[0].collections[0].get_paths()[0].get_extents()
    assert (first.x0, first.y0, first.y1) == (-0.5, 0, 0.75)


# -- one step ---------------------------------------------------------------------------------
STEP = {"start": 0.0, "step": 0.25}
FEDEBA = {"algorithm": "fedeba", "hyperparameters": {"tau": 5.31}}
TOY_ROWS = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 2.0}}, FEDEBA]


def quadratics():
    """c_k (x - m_k)^2 as the squared error of one sample (sqrt(c_k), sqrt(c_k) m_k)."""
    pairs = [(np.sqrt([c]), np.sqrt([c]) * m) for c, m in ((2.0, 2.0), (0.5, -4.0))]
    return Toy(tuple(pairs), **STEP)


@pytest.fixture
def toy(tmp_path):
    a = np.sqrt([2.0, 0.5])
    tensors = {"inputs": a[:, None], "labels": a * [2.0, -4.0]}
    save_file({name: values.astype(np.float32) for name, values in tensors.items()}, tmp_path / "toy.safetensors")
    pd.DataFrame({"row": [0, 1], "client": [0, 1], "part": [0, 0]}).to_parquet(tmp_path / "deal.parquet")
    models = [0.5, 1 / 7, quadratics().entropy(5.31)]
    lines = [(A, row, 0, "parameter_0", x) for row, x in zip(TOY_ROWS, models, strict=True)]
    files = tidy_files(tmp_path, lines, [(A, TOY_ROWS[1], "parameter_0", -0.4)])
    files |= {"data": {A: str(tmp_path / "toy.safetensors")}, "partition": {A: str(tmp_path / "deal.parquet")}}
    return files


def test_the_toy_of_figure_1_by_hand():
    """F_1 = 2 (x-2)^2 and F_2 = (x+4)^2 / 2 have slopes -8 and 4 at 0: steps of 1/4 lead to 2 and -1."""
    toy = quadratics()
    assert toy.losses(0.0).tolist() == pytest.approx([8, 8]) and toy.gap(0.0) == pytest.approx(0, abs=1e-12)
    assert toy.local.tolist() == pytest.approx([2, -1])
    assert toy.local_losses.tolist() == pytest.approx([0, 4.5], abs=1e-12)
    assert toy.gap(np.array([0.5, -0.1])).tolist() == pytest.approx([5.625, 1.215])
    # Weights 0.3 and 0.7 make 2 * 0.3 - 0.7 = -0.1: exp(4.5 / tau) = 7/3.
    assert toy.entropy(4.5 / math.log(7 / 3)) == pytest.approx(-0.1)


def test_the_toy_figure_has_the_runs_the_papers_and_the_smallest_gap_over_tau(toy):
    drawing, frame, _ = drawn(spec_of("one_step", toy, [A], TOY_ROWS, ["parameter_0"], **STEP))
    best = frame[frame["kind"] == "minimum"].iloc[0]
    assert best["tau"] == pytest.approx(4.5 / math.log(2), rel=1e-5) and best["gap"] == pytest.approx(0, abs=1e-5)
    ours = frame[frame["kind"] == "ours"].set_index("algorithm")
    assert ours["x"].to_dict() == pytest.approx({"fedavg": 0.5, "qffl": 1 / 7, "fedeba": -0.1001}, abs=1e-4)
    assert ours["gap"].to_dict() == pytest.approx({"fedavg": 5.625, "qffl": 1.6837, "fedeba": 1.2162}, abs=1e-3)
    paper = frame[frame["kind"] == "paper"]
    assert paper[["algorithm", "x"]].to_numpy().tolist() == [["qffl", -0.4]]
    assert {"FedAvg: gap 5.62", "FedEBA τ = 5.31: gap 1.22"} < set(entries(drawing))
    assert "smallest gap 0.00 at τ = 6.49" in entries(drawing) and stays_inside(drawing)
    left, right = drawing.axes
    assert right.get_xscale() == "log"
    assert all(left.get_xlim()[0] < x < left.get_xlim()[1] for x in (-1, 2))


# -- the fair angle ---------------------------------------------------------------------------
CONE = {"theta": 20, "unfair": [0.3, 1.25], "fair": [1.15, 0.85]}


def test_the_fair_angle_is_the_algorithms_and_stands_in_the_csv(tmp_path):
    *_, text = figures.build(demo.parsed(spec_of("fair_angle", {}, [], kind="illustration", **CONE)))
    (tmp_path / "figure2.csv").write_text(text)
    angles = drawn_values(tmp_path / "figure2.csv")
    for name, (first, second) in {"unfair": CONE["unfair"], "fair": CONE["fair"]}.items():
        cosine = (first + second) / math.sqrt(2) / math.hypot(first, second)
        assert angles[name, "angle_deg"] == pytest.approx(math.degrees(math.acos(cosine)))
    assert angles["theta", "angle_deg"] == 20
    with pytest.raises(FairflError, match="figure5.options: degrees from the vector of ones: unfair 31.5, fair 8.5"):
        drawn(spec_of("fair_angle", {}, [], kind="illustration", **CONE | {"theta": 40}))
