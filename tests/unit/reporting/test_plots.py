"""Plots: files are valid and stable; what is drawn of the numbers, and sums by hand. tests/golden holds the CSVs."""

import importlib
import io
import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from matplotlib.legend import Legend

from fairfl.experiments.plugins import names
from fairfl.experiments.workload import load_workload
from fairfl.judgement.results import drawn_values
from fairfl.reporting import figures, style
from fairfl.reporting.inputs import Inputs
from fairfl.reporting.plots import metric_curves
from fairfl.reporting.plots.one_step import Toy
from fairfl.reporting.plots.weight_paths import mean_loss
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo

A, B = "one", "two"
VECTORS = {"a": [3.0, 0.0], "b": [-1.06, 1.06], "c": [-0.57, -0.82]}


def drawn(spec):
    """The figure, laid out, its numbers and remarks."""
    inputs = Inputs(demo.parsed(spec))
    plot = importlib.import_module(f"fairfl.reporting.plots.{spec['artifact']['plot']}")
    with style.applied():
        drawing, frame = plot.draw(inputs, plot.Config(**spec["artifact"]["options"]))
        drawing.draw_without_rendering()
    return drawing, frame, inputs.remarks


def described(name, unit, direction="up"):
    return {"name": name, "meaning": "", "unit": unit, "direction": direction, "digits": 2}


def plain(algorithms):
    return dict.fromkeys(algorithms, {}).items()


def metric_spec(plot, files, measured, rows, settings=(A,), **options):
    """A figure of metrics; `rows`: (algorithm, hyper-parameters)."""
    rows = [{"algorithm": name, "hyperparameters": given} for name, given in rows]
    given = {"settings": list(settings), "rows": rows, "columns": list(measured), "plot": plot, "options": options}
    facts = {"data": "blobs (stand-in for emnist)"}
    return demo.spec("fedeba_figure5", files, facts, measured, kind="figure", **given)


def test_every_plot_draws_a_figure_whose_numbers_are_golden(root):
    """tests/golden holds their CSVs; here is what these do not show."""
    digests = json.loads((root / "tests/golden/quick.json").read_text())["digests"]
    drawn = load_workload(root, {"scale": "quick", "papers": ["*"]}).artifacts.values()
    assert {artifact.plot for paper, key, artifact in drawn if f"{paper}/{key}.csv" in digests} > set(
        names("reporting/plots")
    )


def test_curves_of_clients_are_called_by_their_owners(tmp_path):
    names = ["setting", "algorithm", "hyperparameters", "seed", "round", "client", "loss_train", "gap_validation"]
    lines = [(A, "afl", "", *at, 0.5, 0.1) for at in product((0, 42), (0, 1), range(3))]
    rounds, owners = pd.DataFrame(lines, columns=names), np.array(["north", "west", "$ south"])
    path = str(tmp_path / "rounds.parquet")
    spec = metric_spec("client_curves", {"rounds": {A: path}}, {}, [("afl", {})])
    rounds.assign(owner=owners[rounds["client"]]).to_parquet(path)
    figure, *_ = drawn(spec)
    assert [text.get_text() for text in figure.legends[0].texts] == ["north", "west", r"\$ south"]
    rounds.assign(owner=owners[(rounds["client"] + (rounds["seed"] > 0)) % 3]).to_parquet(path)
    with pytest.raises(FairflError, match="each seed draws other owners"):
        drawn(spec)


def test_mean_loss_counts_every_client_alike():
    data = pd.DataFrame({"x": [1.0, 1.0, 1.0, -1.0], "y": 0.0, "client": [0, 0, 0, 1], "class": 1})
    with pytest.raises(FairflError, match="two classes"):
        mean_loss(data, np.zeros(1), np.zeros(1), 0.0)
    losses = mean_loss(data.assign(**{"class": [1, 1, 1, 0]}), np.array([0.0, 1.0]), np.array([0.0]), 1.0)
    expected = [(np.log1p(np.exp(-1)) + np.log1p(np.exp(1))) / 2, (np.log1p(np.exp(-2)) + np.log(2)) / 2]
    assert losses[:, 0] == pytest.approx(expected)


# -- an illustration --------------------------------------------------------------------------
def test_projected_gradients_are_those_of_algorithm_2():
    options = {"vectors": VECTORS, "losses": [0.5, 1.0, 1.5]}
    spec = demo.spec("fedfv_figure1", kind="illustration", plot="projected_gradients", options=options)
    _, frame, _ = drawn(spec)
    vectors = frame[frame["vector"].notna()].set_index(["algorithm", "vector"])[["x", "y"]]
    h = vectors.xs("h_b", level="vector").iloc[0].to_numpy()
    g = {name: np.array(value) for name, value in VECTORS.items()}
    expected = g["b"] - (g["b"] @ g["a"]) / (g["a"] @ g["a"]) * g["a"]
    expected -= min(expected @ g["c"], 0) / (g["c"] @ g["c"]) * g["c"]
    assert h == pytest.approx(expected)
    plain, projected = (vectors.loc[(way, "average")].to_numpy() for way in ("plain", "projected"))
    assert plain == pytest.approx(np.mean(list(g.values()), axis=0))
    assert np.linalg.norm(projected) == pytest.approx(np.linalg.norm(plain))


# -- sweeps -----------------------------------------------------------------------------------
@pytest.fixture
def sweep(tmp_path):
    """Three angles of FedEBA+ in two settings, seeds 0.02 apart; theta = 0 is left out, the paper has one number. Each
    run of theta = 45 in the second setting has diverged; the third setting was not run."""
    angles = {"alpha=0.9": 0.80, "alpha=0.9,theta=45": 0.60, "alpha=0.9,theta=15": 0.70, "alpha=0.9,theta=90": 0.50}
    lines = []
    for (setting, shift), (angle, accuracy), seed in product(((A, 0.0), (B, 0.1)), angles.items(), (0, 1)):
        value = math.nan if shift and angle.endswith("45") else accuracy + shift + seed / 50
        run = (setting, "fedeba_plus", angle, seed)
        lines += [(*run, "accuracy_global", value, "fraction"), (*run, "accuracy_var", value / 100, "fraction^2")]
    printed = f'table7,{A},fedeba_plus,"alpha=0.9,theta=15",accuracy_global,71.5,,,percent,\n'
    (tmp_path / "table7.csv").write_text(demo.REPORTED + printed)
    files = {"tidy": {"all": demo.tidy(tmp_path / "tidy.csv", lines)}}
    files["reported"] = {"table7": str(tmp_path / "table7.csv")}
    metrics = {"accuracy_global": described("accuracy", "percent"), "accuracy_var": described("variance", "percent2")}
    rows = [("fedeba_plus", {"alpha": 0.9} | more) for more in ({}, {"theta": 45}, {"theta": 15}, {"theta": 90})]
    options = {"key": "theta", "default": 0, "labels": {A: "Data A", B: "Data B", "three": "Data C"}}
    return metric_spec("metric_sweep", files, metrics, rows, (A, B, "three"), **options)


def test_a_sweep_is_mean_and_deviation_over_seeds_at_the_values_of_the_hyperparameter(sweep):
    """A line of panels per metric, a column per setting; marks in the order of the axis, not of the rows."""
    drawing, frame, remarks = drawn(sweep)
    own = frame[(frame["setting"] == B) & (frame["metric"] == "accuracy_global") & (frame["kind"] == "ours")]
    means = own.set_index("x")["mean"].to_dict()
    assert means == pytest.approx({0: 91, 45: math.nan, 15: 81, 90: 61}, nan_ok=True)
    assert own["std"].dropna().tolist() == pytest.approx([1] * 3) and set(own["seeds"]) == {2}
    variance = frame[(frame["setting"] == A) & (frame["metric"] == "accuracy_var")]
    assert variance["mean"].tolist() == pytest.approx([81, 61, 71, 51])  # 1e4 percent2 in a fraction^2
    paper = frame[frame["kind"] == "paper"]
    assert paper[["setting", "x", "mean"]].to_numpy().tolist() == [[A, 15, 71.5]]
    assert remarks == [
        "Diverged, not drawn: FedEBA+ α = 0.9, θ = 45 (Data B).", "Bars: ± one standard deviation over 2 seeds."
    ]  # fmt: skip
    titles = [f"Data {name} (blobs for EMNIST)" for name in "ABC"]
    assert [axes.get_title(loc="left") for axes in drawing.axes] == [*titles, "", "", ""]
    empty = drawing.axes[2]  # no numbers of its own at its left, those of the panel below it at its foot
    assert empty.texts[0].get_text() == "not run"
    assert [*empty.get_yticks()] == [] and [*empty.get_xticks()] == [0, 15, 45, 90]
    titles = ["accuracy (percent)", "", "", "variance (percent²)", "", ""]
    assert [axes.get_ylabel() for axes in drawing.axes] == titles and drawing.axes[3].get_xlabel() == "θ"
    (legend,) = drawing.legends
    assert [text.get_text() for text in legend.get_texts()] == ["FedEBA+", "the paper's"]
    left, right, *_ = drawing.axes
    assert left.get_lines()[0].get_xdata().tolist() == [0, 15, 45, 90]
    assert right.get_lines()[0].get_ydata().tolist() == pytest.approx([91, 81, math.nan, 61], nan_ok=True)  # no bridge
    faces = {(*line.get_xdata(),): line.get_markerfacecolor() for line in reversed(left.get_lines())}
    assert faces[15,] == "none" != faces[0, 15, 45, 90]


def test_a_sweep_has_room_around_all_its_places_and_says_what_was_run_in_one_setting_only(sweep):
    """Of one angle alone, half the mark once lay behind the axis."""
    path = Path(sweep["files"]["tidy"]["all"])
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line for line in lines if "theta" not in line) + "\n")
    drawing, _, remarks = drawn(sweep)
    low, high = drawing.axes[0].get_xlim()
    assert low < -2 and high > 92 and [*drawing.axes[0].get_xticks()] == [0, 15, 45, 90]
    path.write_text("\n".join(line for line in lines if f"{B}," not in line or "theta" not in line) + "\n")
    _, _, remarks = drawn(sweep)
    angles = "; ".join(f"FedEBA+ α = 0.9, θ = {angle}" for angle in (45, 15, 90))
    assert f"Not run: {angles.replace('; ', ', ')} (Data B)." in remarks


def test_bold_lines_stand_above_the_legend_in_the_saved_picture(sweep, monkeypatch):
    """The picture is cut to what is written in it, and its layout is the same for equal inputs."""
    gaps, points = [], []

    def draw(legend, renderer):
        gaps.append(legend.figure.texts[0].get_window_extent(renderer).y0 - legend.get_window_extent(renderer).y1)
        points.extend(axes.get_position().get_points() for axes in legend.figure.axes)

    monkeypatch.setattr(Legend, "draw", draw)
    figures.build(demo.parsed(sweep))
    assert min(gaps) > 0
    assert np.array_equal(points, np.round(points, 6))  # of other bits by the order of addresses in memory


@pytest.mark.slow
def test_files_are_valid_name_the_stand_in_and_are_equal_on_a_second_draw(sweep):
    pdf, png, text = figures.build(demo.parsed(sweep))
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and b"IEND" in png[-12:]
    assert b"CreationDate" not in pdf and b"/Type3" not in pdf
    assert (pdf, png, text) == figures.build(demo.parsed(sweep))
    frame = pd.read_csv(io.StringIO(text), comment="#")
    assert set(frame["data"]) == {"blobs (stand-in for emnist)"} and set(frame["artifact"]) == {"fedeba_figure5"}


# -- FedEBA+'s illustrations ------------------------------------------------------------------
def test_the_toy_of_figure_1_by_hand():
    """F_1 = 2 (x-2)^2 and F_2 = (x+4)^2 / 2 have slopes -8 and 4 at 0: steps of 1/4 lead to 2 and -1."""
    pairs = [(np.sqrt([c]), np.sqrt([c]) * m) for c, m in ((2.0, 2.0), (0.5, -4.0))]
    toy = Toy(tuple(pairs), start=0.0, step=0.25)
    assert toy.losses(0.0).tolist() == pytest.approx([8, 8]) and toy.gap(0.0) == pytest.approx(0, abs=1e-12)
    assert toy.local.tolist() == pytest.approx([2, -1])
    assert toy.local_losses.tolist() == pytest.approx([0, 4.5], abs=1e-12)
    assert toy.gap(np.array([0.5, -0.1])).tolist() == pytest.approx([5.625, 1.215])
    # Weights 0.3 and 0.7 make 2 * 0.3 - 0.7 = -0.1: exp(4.5 / tau) = 7/3.
    assert toy.entropy(4.5 / math.log(7 / 3)) == pytest.approx(-0.1)


CONE = {"theta": 20, "unfair": [0.3, 1.25], "fair": [1.15, 0.85]}


def cone(**options):
    return demo.spec("fedeba_figure5", kind="illustration", plot="fair_angle", options=options)


def test_the_fair_angle_is_the_algorithms_and_stands_in_the_csv(tmp_path):
    *_, text = figures.build(demo.parsed(cone(**CONE)))
    (tmp_path / "figure2.csv").write_text(text)
    angles = drawn_values(tmp_path / "figure2.csv")
    for name, (first, second) in {"unfair": CONE["unfair"], "fair": CONE["fair"]}.items():
        cosine = (first + second) / math.sqrt(2) / math.hypot(first, second)
        assert angles[name, "angle_deg"] == pytest.approx(math.degrees(math.acos(cosine)))
    assert angles["theta", "angle_deg"] == 20
    with pytest.raises(FairflError, match="figure5.options: degrees from the vector of ones: unfair 31.5, fair 8.5"):
        drawn(cone(**CONE | {"theta": 40}))


# -- ranks ------------------------------------------------------------------------------------
def test_critical_difference_joins_what_is_not_told_apart(tmp_path):
    """In twenty-four settings EAGLE is last, AFL first, but for the one in which a seed of it diverged."""
    settings, losses = [f"s{number}" for number in range(24)], {"fedavg": 2, "qffl": 3, "afl": 1, "eagle": 9}
    lines = [(*run, "", seed, "loss", losses[run[1]], "nats") for run in product(settings, losses) for seed in (0, 1)]
    lines[lines.index(("s0", "afl", "", 1, "loss", 1, "nats"))] = ("s0", "afl", "", 1, "loss", math.nan, "nats")
    files = {"tidy": {"all": demo.tidy(tmp_path / "all.csv", lines)}}
    metrics = {"loss": described("worst loss", "nats", "down")}
    spec = metric_spec("critical_difference", files, metrics, plain(losses), settings, metrics=["loss"])
    drawing, frame, remarks = drawn(spec)
    overall = frame[frame["setting"] == "all"].set_index("algorithm")
    places = {"afl": 27 / 24, "fedavg": 47 / 24, "qffl": 71 / 24, "eagle": 95 / 24}
    assert overall["rank"].to_dict() == pytest.approx(places)
    assert overall["cd"].unique() == pytest.approx([2.569032 * np.sqrt(20 / 144)], rel=1e-5)
    assert overall["p"].max() < 1e-9
    (axes,) = drawing.axes
    joined = [line.get_xdata().tolist() for line in axes.get_lines() if line.get_linewidth() == 2.5]
    assert joined == [pytest.approx([27 / 24, 47 / 24])] and 47 / 24 - 27 / 24 < 2.569 * np.sqrt(20 / 144) < 1
    assert {text.get_text() for text in axes.texts} >= {"CD = 0.96", "AFL  1.1", "4.0  EAGLE"}
    assert len({text.xy for text in axes.texts}) == 5  # no label on another
    assert any(text.startswith("Friedman: p = ") and "24 settings, 4 methods" in text for text in remarks)


def test_paired_differences_are_corrected_within_a_panel(tmp_path):
    """q-FFL's difference is beyond chance; EAGLE's, p = 0.03, is not among three; AFL's not even alone."""
    apart = {"fedavg": (0, 0, 0), "qffl": (9.9, 10, 10.1), "afl": (1, 3, 5), "eagle": (2.3, 3.3, 4.3)}
    lines = [
        (A, name, "", seed, "accuracy", 0.5 + more / 100, "fraction")
        for name, given in apart.items()
        for seed, more in enumerate(given)
    ]
    files, metrics = {"tidy": {"all": demo.tidy(tmp_path / "one.csv", lines)}}, {"accuracy": described("a", "percent")}
    spec = metric_spec("paired_differences", files, metrics, plain(apart), of=["fedavg"], holm=True)
    drawing, frame, remarks = drawn(spec)
    line = frame.set_index("algorithm")
    assert line["p"]["eagle"] < 0.05 < line["p_holm"]["eagle"] == pytest.approx(2 * line["p"]["eagle"])
    assert line["p_holm"]["qffl"] == pytest.approx(3 * line["p"]["qffl"])
    assert line["p_holm"]["afl"] == pytest.approx(line["p"]["afl"])
    marks = drawing.axes[0].get_lines()
    assert [[*mark.get_ydata()] for mark in marks if mark.get_markerfacecolor() == "white"] == [[1, 2]]
    assert "Filled: p below 0.05 by Holm's correction over all differences of a panel." in remarks
    spec["artifact"]["options"] = {"of": ["fedavg"]}
    drawing, frame, _ = drawn(spec)
    assert "p_holm" not in frame
    (legend,) = drawing.legends
    assert [text.get_text() for text in legend.get_texts()] == ["FedAvg minus …"]
    assert [text.get_text() for text in drawing.axes[0].get_yticklabels()] == ["q-FFL", "AFL", "EAGLE"]
    assert "white" not in [mark.get_markerfacecolor() for mark in drawing.axes[0].get_lines()]


def test_a_mark_at_the_end_of_the_share_of_pairs_is_whole(tmp_path):
    """AFL wins each pair, q-FFL none: their marks lie within the panel."""
    losses = {"fedavg": 2, "qffl": 3, "afl": 1}
    lines = [(*run, "", 0, "loss", losses[run[1]], "nats") for run in product((A, B), losses)]
    files = {"tidy": {"all": demo.tidy(tmp_path / "all.csv", lines)}}
    metrics = {"loss": described("worst loss", "nats", "down")}
    spec = metric_spec("factor_ranks", files, metrics, plain(losses), (A, B), metrics=["loss"], baseline="fedavg")
    drawing, frame, _ = drawn(spec)
    assert [label.get_text() for label in drawing.axes[0].get_xticklabels()] == ["overall (2)"]
    assert {0.0, 0.5, 1.0} == set(frame["better"])
    low, high = drawing.axes[1].get_xlim()
    assert low < -0.02 and high > 1.02


# -- curves and points ------------------------------------------------------------------------
def test_rows_of_one_colour_have_other_marks_and_dashes(sweep):
    rows = [{"algorithm": "fedeba_plus", "hyperparameters": {"alpha": a, "tau": t}} for a, t in product((1, 2), (3, 4))]
    sweep["artifact"]["rows"] = rows
    inputs = Inputs(demo.parsed(sweep))
    looks = list(metric_curves.looks(inputs, inputs.rows, "alpha").values())
    assert [look["color"] for look in looks] == sorted([look["color"] for look in looks], key=looks[0]["color"].__ne__)
    assert len({look["marker"] for look in looks}) == 4 and len({str(look["linestyle"]) for look in looks}) == 2


def test_points_of_the_paper_have_no_line_in_the_legend(sweep):
    sweep["artifact"] |= {"plot": "metric_scatter", "options": {"x": "accuracy_global", "y": "accuracy_var"}}
    path = Path(sweep["files"]["reported"]["table7"])
    path.write_text(path.read_text() + f'table7,{A},fedeba_plus,"alpha=0.9,theta=15",accuracy_var,71.5,,,percent2,\n')
    drawing, frame, _ = drawn(sweep)
    assert "paper" in set(frame["kind"])
    (legend,) = drawing.legends
    assert {line.get_linestyle() for line in legend.get_lines()} == {"None"}


# -- FOCUS ------------------------------------------------------------------------------------
@pytest.mark.parametrize("seeds", [(0, 1), (0,)])
def test_bars_are_as_high_as_the_numbers_and_a_negative_excess_hangs_from_the_surrogates(tmp_path, seeds):
    """Five agents; those of a cluster are not neighbours. One seed has no error bars."""
    bayes = [0.2, 0.1, 0.1, 0.3, 0.1]
    excess = {"fedavg": [0.2, 0.05, 0.06, 0.5, 0.07], "focus": [0.05, 0.02, -0.04, 0.1, 0.0]}
    lines = []
    for name, seed, k in product(excess, seeds, range(5)):
        run, value = (A, name, "M=3" if name == "focus" else "", seed), excess[name][k] + seed / 50
        numbers = {"excess": value, "loss": bayes[k] + value} | ({"cluster": k % 3} if name == "focus" else {})
        lines += [(*run, f"{metric}_client_{k}", number, "nats") for metric, number in numbers.items()]
    table = pa.table({"row": [0], "client": [0], "part": [0]}).replace_schema_metadata({"clusters": "[1, 0, 0, 2, 0]"})
    parquet.write_table(table, tmp_path / "deal.parquet")
    (tmp_path / "figure3.csv").write_text(demo.REPORTED)
    files = {"tidy": {A: demo.tidy(tmp_path / "tidy.csv", lines)}, "partition": {A: str(tmp_path / "deal.parquet")}}
    files["reported"] = {"figure3": str(tmp_path / "figure3.csv")}
    drawing, frame, _ = drawn(metric_spec("excess_risk", files, {}, [("fedavg", {}), ("focus", {"M": 3})]))
    assert frame[frame["algorithm"] == "fedavg"]["agent"].tolist() == [2, 3, 5, 1, 4]
    for axes, (_, own) in zip(drawing.axes, frame.groupby("algorithm", sort=False), strict=True):
        bars = axes.patches
        stacked = sorted(bars[len(own) :], key=lambda bar: bar.get_x())
        for below, above, agent in zip(bars[: len(own)], stacked, own.itertuples(), strict=True):
            assert below.get_y() == 0 and below.get_height() == pytest.approx(min(agent.loss, agent.bayes))
            assert above.get_y() == pytest.approx(below.get_height())
            assert above.get_y() + above.get_height() == pytest.approx(max(agent.loss, agent.bayes))
            filled = above.get_facecolor()[3] > 0
            assert (filled, above.get_hatch() is None) == (agent.excess >= 0, agent.excess >= 0)
        (whiskers,) = axes.collections
        assert np.isfinite(whiskers.get_segments()).any() == (len(seeds) > 1)
    assert (frame["excess"] < 0).sum() == 1
    (legend,) = drawing.legends
    assert legend.get_texts()[-1].get_text() == "negative excess risk"
    left, right = drawing.axes
    assert left.get_ylim() == right.get_ylim() and left.get_ylim()[0] == 0


LISTING = {
    "title": "doubling",
    "before": "**Input:** numbers $x_i$ at 50% of \\$3 & a_b\n",
    "lines": "**for** each $i \\in [n]$ **do** // all of them\n  $x_i \\leftarrow 2 x_i$\n\n**end for**\n",
}


def test_a_line_of_a_listing_that_is_too_wide_is_broken():
    lines = {"lines": "add $x_i$ to the sum " * 20}
    spec = demo.spec("focus_algorithm7", kind="illustration", plot="pseudo_code", options=LISTING | lines)
    drawing, *_ = drawn(spec)
    boxes = [text.get_window_extent() for text in drawing.texts]
    assert max(box.x1 for box in boxes) <= drawing.bbox.x1 and max(box.height for box in boxes) > 50


@pytest.mark.slow
def test_the_csv_of_a_listing_has_the_lines_as_they_were_written():
    spec = demo.parsed(demo.spec("focus_algorithm7", kind="illustration", plot="pseudo_code", options=LISTING))
    made = figures.build(spec)
    frame = pd.read_csv(io.StringIO(made[2]), comment="#", keep_default_na=False)
    assert frame["number"].tolist() == ["nan", "1", "2", "3"] and frame["indent"].tolist() == [0, 0, 1, 0]
    assert frame["text"].tolist()[1:3] == ["**for** each $i \\in [n]$ **do**", "$x_i \\leftarrow 2 x_i$"]
    assert frame["comment"].tolist() == ["", "all of them", "", ""]
    assert made == figures.build(spec)
