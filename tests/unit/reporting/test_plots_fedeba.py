"""Figures of FedEBA+: its toy round, the fair angle, sweeps, curves of several settings, label shares."""

import math

import matplotlib.colors
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from fairfl.algorithms.shared import entropy
from fairfl.judgement.results import drawn_values
from fairfl.partition.deal import statistics
from fairfl.reporting import figures
from fairfl.reporting.plots.one_step import Toy
from tests.unit.reporting import demo
from tests.unit.reporting.drawing import drawn

A, B = "fedeba_a", "fedeba_b"
LABELS = {A: "Data A", B: "Data B"}
# Column -> name and unit in papers, unit in which runs measure.
METRICS = {
    "accuracy_global": ("global accuracy", "percent", "fraction"),
    "accuracy_var": ("variance", "percent2", "fraction^2"),
    "parameter_0": ("next model", "", ""),
    "loss_gap": ("gap", "mse", "mse"),
}


def plus(setting=None, **hyperparameters):
    return {"algorithm": "fedeba_plus", "hyperparameters": hyperparameters, "setting": setting}


def spec_of(plot, files, settings=(A,), rows=(), columns=(), changed=(), kind="figure", **options):
    metrics = {
        name: {"name": METRICS[name][0], "meaning": "", "unit": METRICS[name][1], "digits": 2} for name in columns
    }
    given = {"settings": list(settings), "rows": list(rows), "columns": list(columns), "options": options}
    return demo.spec("fedeba_figure5", files, {"changed": list(changed)}, metrics, kind=kind, plot=plot, **given)


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
    text = demo.TIDY + "".join(
        f'{setting},{row["algorithm"]},"{spelled(row)}",{seed},{metric},{value},{METRICS[metric][2]},d,9,r,f\n'
        for setting, row, seed, metric, value in lines
    )
    (folder / "tidy.csv").write_text(text)
    text = demo.REPORTED + "".join(
        f'table7,{setting},{row["algorithm"]},"{spelled(row)}",{metric},{value},,,{METRICS[metric][1]},\n'
        for setting, row, metric, value in reported
    )
    (folder / "table7.csv").write_text(text)
    return {"tidy": {"all": str(folder / "tidy.csv")}, "reported": {"table7": str(folder / "table7.csv")}}


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


def sweep(files, settings=(A, B), columns=("accuracy_global", "accuracy_var"), rows=ANGLES, changed=(), **options):
    options = options or {"key": "theta", "default": 0, "labels": LABELS}
    return spec_of("metric_sweep", files, settings, rows, columns, changed, **options)


def test_a_sweep_is_mean_and_deviation_over_seeds_at_the_values_of_the_hyperparameter(swept):
    _, frame, remarks = drawn(sweep(swept))
    own = frame[(frame["setting"] == B) & (frame["metric"] == "accuracy_global") & (frame["kind"] == "ours")]
    assert own.set_index("x")["mean"].to_dict() == pytest.approx({0: 91, 45: 71, 15: 81})
    assert own["std"].tolist() == pytest.approx([1] * 3) and set(own["seeds"]) == {2}
    variance = frame[(frame["setting"] == A) & (frame["metric"] == "accuracy_var")]
    assert variance["mean"].tolist() == pytest.approx([81, 61, 71])  # 1e4 percent2 in a fraction^2
    paper = frame[frame["kind"] == "paper"]
    assert paper[["setting", "x", "mean"]].to_numpy().tolist() == [[A, 15, 71.5]]
    assert remarks == ["Bars: ± one standard deviation over 2 seeds."]


def test_a_sweep_has_a_line_of_panels_per_metric_and_a_column_per_setting(swept):
    drawing, *_ = drawn(sweep(swept))
    assert len(drawing.axes) == 4 and stays_inside(drawing)
    upper, lower = drawing.axes[0], drawing.axes[2]
    assert [axes.get_title(loc="left") for axes in drawing.axes] == ["Data A", "Data B", "", ""]
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("global accuracy (percent)", "variance (percent²)")
    assert lower.get_xlabel() == "θ" and lower.get_xticks().tolist() == [0, 15, 45]
    assert entries(drawing) == ["FedEBA+", "the paper's"]
    ours = upper.get_lines()[0]
    assert ours.get_xdata().tolist() == [0, 15, 45]  # in the order of the axis, not of the rows


def test_a_diverged_seed_interrupts_the_line(tmp_path):
    rows = [plus(tau=0.1), plus(tau=1.0), plus(tau=10.0)]
    lines = [(A, row, seed, "accuracy_global", 0.5) for row in rows for seed in (0, 1)]
    lines[3] = (*lines[3][:-1], "nan")
    spec = sweep(tidy_files(tmp_path, lines), [A], ["accuracy_global"], rows, key="tau", log=True)
    drawing, frame, remarks = drawn(spec)
    assert frame["mean"].isna().tolist() == [False, True, False]
    assert remarks[0] == "Diverged, not drawn: FedEBA+ τ = 1.0 (fedeba_a)."
    assert drawing.axes[0].get_xscale() == "log" and drawing.axes[0].get_xticks().tolist() == [0.1, 1, 10]


# -- label shares -----------------------------------------------------------------------------
@pytest.fixture
def dealt(tmp_path):
    """Statistics of two partitions: three clients with two of four classes each, and two with all of twelve."""
    client = np.repeat([0, 1, 2], 4)
    columns = {"row": np.arange(12), "client": client, "part": np.tile([0, 0, 1, 2], 3)}
    labels = np.array([0, 0, 0, 3, 1, 1, 2, 2, 3, 3, 3, 3])
    (tmp_path / "a.csv").write_text(statistics(columns, labels, [], "d"))
    columns = {"row": np.arange(24), "client": np.repeat([0, 1], 12), "part": np.zeros(24, int)}
    (tmp_path / "b.csv").write_text(statistics(columns, np.tile(np.arange(12), 2), [], "d"))
    (tmp_path / "c.csv").write_text(statistics(columns, np.zeros(24), [], "d"))  # a regression
    return {name: str(tmp_path / f"{letter}.csv") for name, letter in ((A, "a"), (B, "b"), ("fedeba_c", "c"))}


def test_label_shares_are_those_of_all_parts_of_a_client(dealt):
    drawing, frame, _ = drawn(spec_of("label_shares", {"statistics": dealt}, [A, B], labels=LABELS))
    own = frame[frame["setting"] == A].pivot(index="client", columns="class", values="share")
    assert own.to_numpy().tolist() == [[0.75, 0, 0, 0.25], [0, 0.5, 0.5, 0], [0, 0, 0, 1]]
    assert frame["samples"][frame["setting"] == A].sum() == 12
    assert stays_inside(drawing) and drawing.axes[1].get_title(loc="left") == "Data B"
    areas = drawing.axes[0].collections[:4]
    colors = [matplotlib.colors.to_hex(area.get_facecolor()[0]) for area in areas]
    assert len(set(colors)) == 4
    first = areas[0].get_paths()[0].get_extents()
    assert (first.x0, first.y0, first.y1) == (-0.5, 0, 0.75)


# -- one step ---------------------------------------------------------------------------------
STEP = {"start": 0.0, "step": 0.25}
FEDEBA = {"algorithm": "fedeba", "hyperparameters": {"tau": 5.31}}
TOY_ROWS = [{"algorithm": "fedavg"}, {"algorithm": "qffl", "hyperparameters": {"q": 2.0}}, FEDEBA]


def quadratics(coefficients=(2.0, 0.5), minima=(2.0, -4.0), **step):
    """c_k (x - m_k)^2 as the squared error of one sample (sqrt(c_k), sqrt(c_k) m_k)."""
    pairs = [(np.sqrt([c]), np.sqrt([c]) * m) for c, m in zip(coefficients, minima, strict=True)]
    return Toy(tuple(pairs), **{**STEP, **step})


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


def toy_spec(files, rows=TOY_ROWS, changed=(), **options):
    return spec_of("one_step", files, [A], rows, ["parameter_0"], changed, **(options or STEP))


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
    drawing, frame, _ = drawn(toy_spec(toy))
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


@pytest.mark.slow
@given(
    st.lists(st.floats(0.2, 5), min_size=2, max_size=2), st.lists(st.floats(-5, 5), min_size=2, max_size=2),
    st.floats(-3, 3), st.floats(0.01, 0.3), st.floats(0.01, 100),
)  # fmt: skip
def test_entropy_steps_lie_between_the_local_models_and_have_fedavgs_limit(coefficients, minima, start, step, tau):
    toy = quadratics(coefficients, minima, start=start, step=step)
    low, high = sorted(toy.local)
    assert low - 1e-9 <= toy.entropy(tau) <= high + 1e-9
    assert toy.entropy(1e9) == pytest.approx(toy.local.mean(), abs=1e-4)
    slope = (toy.losses(start + 1e-6) - toy.losses(start - 1e-6)) / 2e-6
    assert (start - step * slope).tolist() == pytest.approx(toy.local.tolist(), abs=1e-4)


# -- the fair angle ---------------------------------------------------------------------------
CONE = {"theta": 20, "unfair": [0.3, 1.25], "fair": [1.15, 0.85]}


def cone_spec(**options):
    return spec_of("fair_angle", {}, [], kind="illustration", **(CONE | options))


def test_the_fair_angle_is_the_algorithms_and_stands_in_the_csv(tmp_path):
    *_, text = figures.build(demo.parsed(cone_spec()))
    (tmp_path / "figure2.csv").write_text(text)
    angles = drawn_values(tmp_path / "figure2.csv")
    assert angles["theta", "angle_deg"] == 20
    for name in ("unfair", "fair"):
        losses = torch.tensor(CONE[name], dtype=torch.float64)
        assert angles[name, "angle_deg"] == pytest.approx(entropy.angle(losses))
    cosine = 1.55 / math.sqrt(2) / math.hypot(0.3, 1.25)
    assert angles["unfair", "angle_deg"] == pytest.approx(math.degrees(math.acos(cosine)))
