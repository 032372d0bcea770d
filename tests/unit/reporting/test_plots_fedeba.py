"""Figures of FedEBA+: its toy round, the fair angle, sweeps, curves of several settings, label shares."""

import io
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
from fairfl.reporting.inputs import Inputs
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


def test_the_papers_numbers_are_not_drawn_beside_another_experiment(swept):
    _, frame, _ = drawn(sweep(swept, changed=["rounds: 2000 -> 9"]))
    assert set(frame["kind"]) == {"ours"}


def test_a_sweep_over_settings_has_a_panel_per_metric(tmp_path):
    rows = [{"algorithm": "fedavg"}, plus(alpha=0.9)]
    lines = [(s, r, 0, "accuracy_global", v) for s, v in ((A, 0.3), (B, 0.5)) for r in rows]
    files = tidy_files(tmp_path, lines)
    options = {"places": {A: 0.5, B: 0.1}, "x_label": "Dirichlet parameter"}
    drawing, frame, _ = drawn(sweep(files, columns=["accuracy_global"], rows=rows, **options))
    (axes,) = drawing.axes
    assert axes.get_xlabel() == "Dirichlet parameter" and axes.get_xticks().tolist() == [0.1, 0.5]
    own = frame[frame["algorithm"] == "fedavg"].set_index("setting")
    assert own[["x", "mean"]].to_numpy().tolist() == pytest.approx(np.array([[0.5, 30], [0.1, 50]]))
    assert entries(drawing) == ["FedAvg", "FedEBA+"] and stays_inside(drawing)


def test_a_diverged_seed_interrupts_the_line(tmp_path):
    rows = [plus(tau=0.1), plus(tau=1.0), plus(tau=10.0)]
    lines = [(A, row, seed, "accuracy_global", 0.5) for row in rows for seed in (0, 1)]
    lines[3] = (*lines[3][:-1], "nan")
    spec = sweep(tidy_files(tmp_path, lines), [A], ["accuracy_global"], rows, key="tau", log=True)
    drawing, frame, remarks = drawn(spec)
    assert frame["mean"].isna().tolist() == [False, True, False]
    assert remarks[0] == "Diverged, not drawn: FedEBA+ τ = 1.0 (fedeba_a)."
    assert drawing.axes[0].get_xscale() == "log" and drawing.axes[0].get_xticks().tolist() == [0.1, 1, 10]


def test_rows_of_one_setting_are_in_its_panel_only(swept):
    rows = [ANGLES[0], {**ANGLES[1], "setting": B}]
    _, frame, _ = drawn(sweep(swept, rows=rows))
    assert set(frame["x"][frame["setting"] == A]) == {0} and set(frame["x"][frame["setting"] == B]) == {0, 45}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x_label": "x"}, "give either key or places"),
        ({"key": "theta", "places": {A: 1.0}, "x_label": "x"}, "give either key or places"),
        ({"places": {A: 1.0, B: 2.0}}, "places need an x_label"),
        ({"places": {A: 1.0}, "x_label": "x"}, r"no place or setting 'fedeba_b'; did you mean 'fedeba_a'\?"),
        ({"places": {A: 1.0, B: 2.0, "fedeba_c": 3.0}, "x_label": "x"}, "no place or setting 'fedeba_c'"),
        ({"key": "theta"}, "'FedEBA\\+ α = 0.9' has no number for 'theta'; options.default is for rows"),
        ({"key": "thta"}, r"has no number for 'thta'; did you mean 'theta'\?"),
        ({"key": "alpha"}, "two rows of fedeba_plus stand at 0.9 in fedeba_a"),
        ({"key": "theta", "default": 0, "log": True}, "options.log: 'FedEBA\\+ α = 0.9' stands at 0"),
    ],
)
def test_sweeps_that_cannot_be_drawn_say_why(swept, options, message):
    with pytest.raises(FairflError, match=message):
        figures.build(demo.parsed(sweep(swept, **options)))


# -- curves -----------------------------------------------------------------------------------
NOISE = [plus(alpha=0.9), plus(alpha=0.9, **{"dp.sigma": 2}), plus(alpha=0.9, **{"dp.sigma": 5})]


@pytest.fixture
def curves(tmp_path):
    """Four clients at two rounds with two seeds, in two settings; without noise half a point more."""
    lines = [
        (setting, row["algorithm"], spelled(row), seed, at, k, 1.0, value, value, 5)
        for setting, shift in ((A, 0.0), (B, 0.2))
        for row in NOISE
        for seed in (0, 1)
        for at in (0, 100)
        for k in range(4)
        for value in [shift + at / 250 + k / 50 + seed / 20 - row["hyperparameters"].get("dp.sigma", 0) / 100]
    ]
    keys = ["setting", "algorithm", "hyperparameters", "seed", "round", "client"]
    columns = [*keys, *(f"{name}_test" for name in ("loss", "accuracy", "recall", "samples"))]
    pd.DataFrame(lines, columns=columns).to_parquet(tmp_path / "rounds.parquet")
    (tmp_path / "table7.csv").write_text(demo.REPORTED)
    return {"rounds": {"all": str(tmp_path / "rounds.parquet")}, "reported": {"t": str(tmp_path / "table7.csv")}}


def curve_spec(files, settings=(A, B), columns=("accuracy_var", "accuracy_global"), rows=NOISE, **options):
    return spec_of("metric_curves", files, settings, rows, columns, **options)


def test_curves_of_several_settings_are_columns_and_metrics_are_lines(curves):
    drawing, frame, _ = drawn(curve_spec(curves, labels=LABELS))
    assert len(drawing.axes) == 4 and stays_inside(drawing)
    assert [axes.get_title(loc="left") for axes in drawing.axes] == ["Data A", "Data B", "", ""]
    assert [axes.get_ylabel() for axes in drawing.axes] == ["variance (percent²)", "", "global accuracy (percent)", ""]
    assert [axes.get_xlabel() for axes in drawing.axes] == ["", "", "round", "round"]
    own = frame[(frame["metric"] == "accuracy_global") & (frame["round"] == 100)].groupby("setting")["mean"].first()
    assert own.to_dict() == pytest.approx({A: 45.5, B: 65.5})
    spread = frame[frame["metric"] == "accuracy_var"]["mean"]
    assert spread.tolist() == pytest.approx([5.0] * len(spread))  # of 0, 2, 4 and 6 percent
    # A figure of one setting shows the same numbers.
    _, alone, _ = drawn(curve_spec(curves, [B]))
    pd.testing.assert_frame_equal(frame[frame["setting"] == B].reset_index(drop=True), alone)


def test_a_hyperparameter_can_have_the_colours(curves):
    drawing, *_ = drawn(curve_spec(curves, color_by="dp.sigma"))
    lines = drawing.axes[0].get_lines()
    assert len({line.get_color() for line in lines}) == 3 and {line.get_linestyle() for line in lines} == {"-"}
    assert len({line.get_marker() for line in lines}) == 3  # in grey prints
    drawing, *_ = drawn(curve_spec(curves))
    lines = drawing.axes[0].get_lines()
    first, *others = (matplotlib.colors.rgb_to_hsv(matplotlib.colors.to_rgb(line.get_color())) for line in lines)
    assert [other[0] for other in others] == pytest.approx([first[0]] * 2, abs=0.01)  # one algorithm, one hue
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 3
    assert lines[0].get_linestyle() == "-" and {line.get_linestyle() for line in lines[1:]} == {"--"}


def test_no_accuracy_axis_goes_where_no_accuracy_is(tmp_path):
    """All clients right: matplotlib would show 95 to 105 percent; a deviation reaches beyond, an accuracy does not."""
    rows = [{"algorithm": "fedavg"}, plus(alpha=0.9)]
    lines = [
        (A, row, seed, metric, value)
        for row, low in zip(rows, (1.0, 0.96), strict=True)
        for seed, value in enumerate((low, 1.0))
        for metric in ("accuracy_global", "accuracy_var")
    ]
    files = tidy_files(tmp_path, lines)
    scatter = spec_of("metric_scatter", files, [A], rows, list(METRICS)[:2], x="accuracy_global", y="accuracy_var")
    drawing, frame, _ = drawn(scatter)
    low, high = drawing.axes[0].get_xlim()
    assert high == 100 and low < frame["x"].min() and drawing.axes[0].get_ylim()[1] > 9600
    drawing, *_ = drawn(spec_of("metric_sweep", files, [A], rows, ["accuracy_global"], key="alpha", default=0))
    low, high = drawing.axes[0].get_ylim()
    assert high == 100 and low < 98
    marks = [line for line in drawing.axes[0].get_lines() if line.get_marker() in ("o", "P")]
    assert marks and not any(mark.get_clip_on() for mark in marks)  # one at 100 percent is seen whole


def test_panels_of_settings_that_were_not_run_say_so(tmp_path):
    rows = [{"algorithm": "fedavg"}, plus(alpha=0.9)]
    names = list(METRICS)[:2]
    files = tidy_files(tmp_path, [(A, row, 0, metric, 0.5) for row in rows for metric in names])
    for plot, options in {
        "metric_scatter": {"x": names[0], "y": names[1]},
        "metric_sweep": {"key": "alpha", "default": 0},
        "gap_boxes": {"family": "gap_client"},
    }.items():
        if plot == "gap_boxes":
            line = f"{A},fedavg,,0,gap_client_0,0.1,nats,d,9,r,f\n"
            (tmp_path / "tidy.csv").write_text(demo.TIDY + line)
        drawing, *_ = drawn(spec_of(plot, files, [A, B], rows, names, labels=LABELS, **options))
        there, missing = drawing.axes[:2]
        assert not there.texts and [text.get_text() for text in missing.texts] == ["not run"], plot
        if plot == "gap_boxes":  # both panels have the names of the rows
            assert [label.get_text() for label in there.get_yticklabels()] == ["FedAvg"]
            continue
        assert len(there.get_yticks()) > 1 and len(missing.get_yticks()) == 0, plot
        if plot == "metric_sweep":  # the panels share their places
            assert missing.get_xticks().tolist() == there.get_xticks().tolist() == [0, 0.9]


def test_lines_and_marks_that_hide_one_another_are_named(tmp_path, curves):
    rows = [{"algorithm": name, "hyperparameters": {"q": 0.5}} for name in ("fedavg", "afl", "qffl")]
    lines = [(A, row, 0, "accuracy_global", value) for row, value in zip(rows, (0.5, 0.5001, 0.9), strict=True)]
    lines += [(A, row, 0, "accuracy_var", 0.1) for row in rows]
    given = ([A], rows, list(METRICS)[:2])
    files = tidy_files(tmp_path, lines)
    _, _, remarks = drawn(spec_of("metric_scatter", files, *given, x="accuracy_global", y="accuracy_var"))
    assert remarks == ["Drawn over one another: FedAvg q = 0.5 and AFL q = 0.5."]
    _, _, remarks = drawn(spec_of("metric_sweep", files, *given, key="q"))
    assert remarks == [
        "Drawn over one another: AFL and FedAvg in global accuracy (percent); "
        "AFL, FedAvg and q-FFL in variance (percent²)."
    ]
    _, _, remarks = drawn(curve_spec(curves, labels=LABELS))
    assert remarks[0].startswith("Drawn over one another: ") and "in Data A, variance (percent²); " in remarks[0]
    assert "global accuracy" not in remarks[0]


def test_rows_alike_in_that_hyperparameter_share_a_colour_and_differ_in_dashes(curves):
    rows = [*NOISE[:2], plus(alpha=0.5), plus(alpha=0.5, **{"dp.sigma": 2})]
    frame = pd.read_parquet(curves["rounds"]["all"])
    other = frame.assign(hyperparameters=frame["hyperparameters"].str.replace("alpha=0.9", "alpha=0.5"))
    pd.concat([frame, other]).to_parquet(curves["rounds"]["all"])
    drawing, *_ = drawn(curve_spec(curves, rows=rows, color_by="dp.sigma"))
    none, two, again, twice = drawing.axes[0].get_lines()
    assert none.get_color() == again.get_color() != two.get_color() == twice.get_color()
    assert none.get_linestyle() == two.get_linestyle() == "-"
    assert again.get_linestyle() == twice.get_linestyle() == "--"


def test_a_hyperparameter_that_no_row_has_gives_no_colours(curves):
    with pytest.raises(FairflError, match=r"options.color_by: no row has 'dp.sigm'; did you mean 'dp.sigma'\?"):
        figures.build(demo.parsed(curve_spec(curves, color_by="dp.sigm")))


def test_a_setting_without_runs_of_its_rows_has_an_empty_panel(curves):
    rows = [{**NOISE[0], "setting": A}, {**NOISE[1], "setting": B}]
    frame = pd.read_parquet(curves["rounds"]["all"])
    frame[frame["setting"] == A].to_parquet(curves["rounds"]["all"])
    drawing, frame, remarks = drawn(curve_spec(curves, rows=rows))
    assert set(frame["setting"]) == {A} and [len(axes.get_lines()) for axes in drawing.axes[:2]] == [1, 0]
    assert remarks[0] == "Not run: FedEBA+ α = 0.9, dp.sigma = 2."
    assert [[text.get_text() for text in axes.texts] for axes in drawing.axes[:2]] == [[], ["not run"]]


# -- scatter ----------------------------------------------------------------------------------
def test_rows_of_one_algorithm_can_have_their_own_marks(tmp_path):
    others = ("fedavg", "qffl", "fedmgda_plus", "afl", "propfair", "term", "fedfv")
    rows = [*({"algorithm": name, "hyperparameters": {"q": 0.5}} for name in others), plus(alpha=0.0), plus(alpha=0.5)]
    lines = [(A, r, 0, m, n / 10) for n, r in enumerate(rows) for m in ("accuracy_global", "accuracy_var")]
    files, columns = tidy_files(tmp_path, lines), ["accuracy_global", "accuracy_var"]
    options = {"x": "accuracy_global", "y": "accuracy_var"}
    drawing, *_ = drawn(spec_of("metric_scatter", files, [A], rows, columns, by="row", **options))
    assert len(entries(drawing)) == 9 and entries(drawing)[-1] == "FedEBA+ α = 0.5" and stays_inside(drawing)
    shapes = [line.get_marker() for line in drawing.legends[0].get_lines()]
    assert len(set(shapes)) == 9
    drawing, *_ = drawn(spec_of("metric_scatter", files, [A], rows, columns, **options))
    assert entries(drawing)[-1] == "FedEBA+" and len(entries(drawing)) == 8 and stays_inside(drawing)


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


def test_a_regression_has_no_labels_to_share(dealt):
    with pytest.raises(FairflError, match="fedeba_c: its samples have no classes to count"):
        figures.build(demo.parsed(spec_of("label_shares", {"statistics": dealt}, ["fedeba_c"])))
    with pytest.raises(FairflError, match="none.csv: not the statistics of a partition"):
        figures.build(demo.parsed(spec_of("label_shares", {"statistics": {A: "none.csv"}})))


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
    assert {"FedAvg: x = 0.50, gap 5.62", "FedEBA τ = 5.31: x = −0.10, gap 1.22"} < set(entries(drawing))
    assert "smallest gap 0.00 at τ = 6.49" in entries(drawing) and stays_inside(drawing)
    left, right = drawing.axes
    assert right.get_xscale() == "log"
    assert all(left.get_xlim()[0] < x < left.get_xlim()[1] for x in (-1, 2))


@pytest.mark.slow
def test_the_papers_toy_is_not_drawn_beside_another(toy):
    _, frame, _ = drawn(toy_spec(toy, changed=["learning_rate: 0.25 -> 0.1"]))
    assert "paper" not in set(frame["kind"])


def test_options_that_are_not_the_settings_are_refused(toy):
    with pytest.raises(FairflError, match=r"FedEBA τ = 5.31 went to -0.1001; by start 0 and step 0.1, "):
        figures.build(demo.parsed(toy_spec(toy, start=0.0, step=0.1)))


def test_runs_without_the_model_and_data_of_another_kind_are_refused(toy, tmp_path):
    text = (tmp_path / "tidy.csv").read_text()
    (tmp_path / "tidy.csv").write_text(text.replace("parameter_0", "loss_gap"))
    with pytest.raises(FairflError, match="the results of FedAvg in fedeba_a have no metric parameter_0"):
        figures.build(demo.parsed(toy_spec(toy)))
    (tmp_path / "tidy.csv").write_text(text)
    pd.DataFrame({"row": [0, 1], "client": [0, 0], "part": [0, 0]}).to_parquet(tmp_path / "deal.parquet")
    with pytest.raises(FairflError, match="needs two clients with one number per sample, has 1 with 1"):
        figures.build(demo.parsed(toy_spec(toy)))


def test_local_losses_that_no_temperature_tells_apart_are_refused(toy):
    # (x-2)^2 and (x+2)^2 from 0: both clients come half as near to their minima.
    save_file({"inputs": np.ones((2, 1), np.float32), "labels": np.array([2, -2], np.float32)}, toy["data"][A])
    with pytest.raises(FairflError, match="no tau tells the clients apart"):
        figures.build(demo.parsed(toy_spec(toy, TOY_ROWS[:1])))


def test_a_diverged_toy_run_is_remarked_upon(toy, tmp_path):
    text = (tmp_path / "tidy.csv").read_text()
    (tmp_path / "tidy.csv").write_text(text.replace("parameter_0,0.5,", "parameter_0,inf,"))
    _, frame, remarks = drawn(toy_spec(toy))
    assert "Diverged, not drawn: FedAvg." in remarks
    assert frame["algorithm"][frame["kind"] == "ours"].tolist() == ["qffl", "fedeba"]


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


def test_both_alignments_are_named_on_their_side_of_the_cone():
    drawing, *_ = drawn(cone_spec())
    (axes,) = drawing.axes
    sides = {}
    for text in axes.texts:
        if "alignment" in text.get_text():
            x, y = text.get_position()
            sides.setdefault(text.get_text(), []).append(abs(math.degrees(math.atan2(y, x)) - 45))
    assert max(sides["model alignment"]) < 20 < min(sides["gradient alignment"]) and stays_inside(drawing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unfair": [1.0, 1.2]}, r"unfair: 5.2 degrees from the vector of ones, not more than theta"),
        ({"fair": [0.2, 1.0]}, r"fair: 33.7 degrees from the vector of ones, more than theta"),
        ({"theta": 45}, "options.theta"),
        ({"fair": [1.0]}, "options.fair"),
        ({"fair": [1.0, -1.0]}, "options.fair"),
    ],
)
def test_vectors_on_the_wrong_side_of_the_cone_are_refused(options, message):
    with pytest.raises(FairflError, match=message):
        figures.build(demo.parsed(cone_spec(**options)))


@pytest.mark.slow
# -- all of them ------------------------------------------------------------------------------
def test_figures_are_equal_on_a_second_draw(swept, dealt):
    for spec in (sweep(swept, [A], ["accuracy_global"]), spec_of("label_shares", {"statistics": dealt}, [A])):
        first = figures.build(demo.parsed(spec))
        assert first == figures.build(demo.parsed(spec))
        assert set(pd.read_csv(io.StringIO(first[2]))["artifact"]) == {"fedeba_figure5"}


def test_the_footer_says_which_hyperparameters_the_paper_does_not_print(swept):
    def footer(*provenances):
        rows = [row | {"provenance": word} for row, word in zip(ANGLES, provenances, strict=True)]
        spec = sweep(swept, rows=rows) | {"reconstructed": ["fedeba_plus"]}
        return figures.footer_text(Inputs(demo.parsed(spec)), {})

    assert "not in the paper" not in footer("paper", "paper", "paper")
    assert "Hyper-parameters not in the paper, assumed. Reconstructed without its formulas: FedEBA+." in footer(
        "assumed", "assumed", "assumed"
    )
    mixed = footer("paper", "recalled", "assumed")
    assert "not in the paper, recalled: FedEBA+ α = 0.9, θ = 45. Hyper-parameters not in the paper, assumed: " in mixed
