"""Figures of FOCUS: excess risks of agents by cluster, from made-up results, and listings."""

import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from fairfl.experiments.paper import Artifact
from fairfl.experiments.workload import load_workload
from fairfl.reporting import figures
from fairfl.runtime.errors import FairflError
from tests.unit.reporting import demo
from tests.unit.reporting.drawing import drawn
from tests.workflow.graphs import graph_of

SETTING = "rotated"
ROWS = [{"algorithm": "fedavg"}, {"algorithm": "focus", "hyperparameters": {"M": 3}}]
# Five agents; the agents of a cluster are not neighbours.
CLUSTERS = [1, 0, 0, 2, 0]
BAYES = [0.2, 0.1, 0.1, 0.3, 0.1]
EXCESS = {"fedavg": [0.2, 0.05, 0.06, 0.5, 0.07], "focus": [0.05, 0.02, -0.04, 0.1, 0.0]}
MODELS = {0: 2, 1: 0, 2: 1}  # true cluster -> model


def lines_of(algorithm, seed, clusters, bayes, excess):
    """Tidy lines of a run; seed 1 has losses 0.02 higher than seed 0, all of it excess."""
    hyper = "M=3" if algorithm == "focus" else ""
    values = {}
    for k, (b, e) in enumerate(zip(bayes, excess, strict=True)):
        values |= {f"excess_client_{k}": e + seed / 50, f"loss_client_{k}": b + e + seed / 50}
        values |= {f"cluster_client_{k}": MODELS[clusters[k]]} if algorithm == "focus" else {}
    values |= {"assignment_rand": 1.0 - 0.5 * seed} if algorithm == "focus" else {}
    return [f"{SETTING},{algorithm},{hyper},{seed},{m},{v},nats,mnist,9,r,f\n" for m, v in values.items()]


@pytest.fixture
def risks(tmp_path):
    return risk_files(tmp_path)


def risk_files(folder, clusters=CLUSTERS, bayes=BAYES, excess=EXCESS, seeds=(0, 1)):
    lines = [line for a in excess for s in seeds for line in lines_of(a, s, clusters, bayes, excess[a])]
    (folder / "tidy.csv").write_text(demo.TIDY + "".join(lines))
    (folder / "figure3.csv").write_text(demo.REPORTED)
    table = pa.table({"row": [0], "client": [0], "part": [0]})
    known = {} if clusters is None else {"clusters": json.dumps(clusters)}
    parquet.write_table(table.replace_schema_metadata(known), folder / "deal.parquet")
    return folder


def risk_spec(folder, rows=ROWS, changed=(), **options):
    files = {
        "tidy": {SETTING: str(folder / "tidy.csv")},
        "partition": {SETTING: str(folder / "deal.parquet")},
        "reported": {"figure3": str(folder / "figure3.csv")},
    }
    given = {"settings": [SETTING], "rows": rows, "plot": "excess_risk", "options": options}
    return demo.spec("focus_figure3", files, {"data": "mnist", "changed": list(changed)}, kind="figure", **given)


def texts(axes):
    """What stands below a panel, from left to right and from top to bottom."""
    found = [(text.get_position(), text.get_text()) for text in axes.texts if text.get_position()[1] < 0]
    lines = {}
    for place, text in sorted(found, key=lambda item: (-item[0][1], item[0][0])):
        lines.setdefault(place[1], []).append(text)
    return list(lines.values())


# -- excess risk ------------------------------------------------------------------------------
def test_agents_stand_by_true_cluster_with_mean_loss_split_at_the_surrogates(risks):
    _, frame, remarks = drawn(risk_spec(risks))
    assert frame["algorithm"].tolist() == ["fedavg"] * 5 + ["focus"] * 5
    own = frame[frame["algorithm"] == "fedavg"]
    assert own["agent"].tolist() == [2, 3, 5, 1, 4] and own["cluster"].tolist() == [1, 1, 1, 2, 3]
    assert own["model"].isna().all()
    # Seeds are 0.02 apart in their losses, and the surrogates are the same.
    assert own["excess"].tolist() == pytest.approx([0.06, 0.07, 0.08, 0.21, 0.51])
    assert own["bayes"].tolist() == pytest.approx([0.1, 0.1, 0.1, 0.2, 0.3])
    assert own["loss"].tolist() == pytest.approx((own["bayes"] + own["excess"]).tolist())
    assert own["loss_std"].tolist() == pytest.approx([0.01] * 5) and set(own["seeds"]) == {2}
    assert remarks[-1] == "Bars: mean over 2 seeds; error bars: loss ± one standard deviation."


def test_bars_are_as_high_as_the_numbers_and_a_negative_excess_hangs_from_the_surrogates(risks):
    drawing, frame, _ = drawn(risk_spec(risks))
    for axes, (_, own) in zip(drawing.axes, frame.groupby("algorithm", sort=False), strict=True):
        bars = axes.patches
        assert len(bars) == 2 * len(own)
        for below, above, agent in zip(bars[::2], bars[1::2], own.itertuples(), strict=True):
            assert below.get_y() == 0 and below.get_height() == pytest.approx(min(agent.loss, agent.bayes))
            assert above.get_y() == pytest.approx(below.get_height())
            assert above.get_y() + above.get_height() == pytest.approx(max(agent.loss, agent.bayes))
            filled = above.get_facecolor()[3] > 0
            assert (filled, above.get_hatch() is None) == (agent.excess >= 0, agent.excess >= 0)
    assert (frame["excess"] < 0).sum() == 1
    (legend,) = drawing.legends
    assert legend.get_texts()[-1].get_text() == "negative excess risk"
    left, right = drawing.axes
    assert left.get_ylim() == right.get_ylim() and left.get_ylim()[0] == 0


def test_clusters_and_followed_models_stand_below_the_bars(risks):
    drawing, frame, remarks = drawn(risk_spec(risks))
    left, right = drawing.axes
    assert texts(left) == [["agent", "2", "3", "5", "1", "4"], ["$C_{1}$", "$C_{2}$", "$C_{3}$"]]
    assert texts(right)[1] == ["model", "$w_{3}$", "$w_{3}$", "$w_{3}$", "$w_{1}$", "$w_{2}$"]
    assert frame["model"].dropna().tolist() == [3, 3, 3, 1, 2]
    brackets = [[min(line.get_xdata()), max(line.get_xdata())] for line in left.lines if not line.get_clip_on()]
    assert brackets[0] == pytest.approx([-0.36, 2.36]) and brackets[2] == pytest.approx([3.64, 4.36])
    assert remarks[0] == (
        "FOCUS M = 3: true clusters recovered in 1 of 2 seeds (adjusted Rand index 1, 0.5); models shown: seed 0."
    )
    drawing, *_ = drawn(risk_spec(risks, clusters=["0°", "90°", "180°"]))
    assert texts(drawing.axes[0])[-1] == ["0°", "90°", "180°"]
    with pytest.raises(FairflError, match=r"options.clusters: 2 names \['0°', '90°'\] for 3 clusters"):
        figures.build(demo.parsed(risk_spec(risks, clusters=["0°", "90°"])))


def test_a_single_seed_has_no_error_bars_and_one_row_one_panel(tmp_path):
    drawing, frame, remarks = drawn(risk_spec(risk_files(tmp_path, seeds=(0,)), rows=ROWS[1:]))
    (axes,) = drawing.axes
    assert not axes.containers[0].errorbar and not axes.collections
    assert set(frame["seeds"]) == {1} and set(frame["loss_std"]) == {0}
    assert remarks == [
        "FOCUS M = 3: true clusters recovered in 1 of 1 seed (adjusted Rand index 1); models shown: seed 0."
    ]


def test_an_algorithm_that_was_not_run_and_an_agent_that_diverged_are_remarked_upon(risks):
    tidy = pd.read_csv(risks / "tidy.csv")
    lost = (tidy["algorithm"] == "fedavg") & (tidy["seed"] == 1) & (tidy["metric"] == "loss_client_3")
    tidy["value"] = tidy["value"].mask(lost, np.inf)
    tidy.to_csv(risks / "tidy.csv", index=False)
    drawing, frame, remarks = drawn(risk_spec(risks, rows=[*ROWS, {"algorithm": "afl"}]))
    assert remarks[:2] == ["Not run: AFL.", "No finite loss and excess risk, not drawn (×): FedAvg agent 4."]
    lost = frame[frame["agent"] == 4].set_index("algorithm")
    assert np.isnan(lost.loc["fedavg", "loss"]) and np.isfinite(lost.loc["focus", "loss"])
    left, right, *others = drawing.axes
    assert (len(left.patches), len(right.patches), others) == (8, 10, [])
    assert [mark.get_text() for mark in left.texts if mark.get_text() == "×"] == ["×"]


def test_the_papers_excess_risks_are_drawn_beside_the_same_experiment_only(risks):
    line = f"figure3,{SETTING},focus,M=3,excess_client_3,0.25,,,nats,stated in prose\n"
    (risks / "figure3.csv").write_text(demo.REPORTED + line)
    drawing, frame, _ = drawn(risk_spec(risks, changed=["seeds: [0] -> [0, 1]"]))
    known = frame.dropna(subset="excess_reported")
    assert known[["algorithm", "agent", "excess_reported"]].to_numpy().tolist() == [["focus", 4, 0.25]]
    (mark,) = [line for line in drawing.axes[1].lines if line.get_marker() == "o"]
    assert (mark.get_xdata().item(), mark.get_ydata().item()) == (4, pytest.approx(0.55))
    assert drawing.legends[0].get_texts()[-1].get_text() == "the paper's excess risk"
    _, frame, _ = drawn(risk_spec(risks, changed=["rounds: 300 -> 9"]))
    assert frame["excess_reported"].isna().all()


def test_data_without_clusters_leave_the_agents_in_order(tmp_path):
    spec = risk_spec(risk_files(tmp_path, None, excess={"fedavg": EXCESS["fedavg"]}))
    drawing, frame, _ = drawn(spec)
    assert frame["agent"].tolist() == [1, 2, 3, 4, 5] and frame["cluster"].isna().all()
    assert texts(drawing.axes[0]) == [["agent", "1", "2", "3", "4", "5"]]


def test_many_agents_have_as_many_bars_but_not_as_many_numbers(tmp_path):
    many = [k % 2 for k in range(50)]
    files = risk_files(tmp_path, many, [0.1] * 50, {"fedavg": [0.1] * 50})
    drawing, frame, _ = drawn(risk_spec(files, rows=ROWS[:1]))
    agents, clusters = texts(drawing.axes[0])
    assert agents == ["agent", *frame["agent"].astype(str)[::3]]
    assert len(clusters) == 2 and len(drawing.axes[0].patches) == 100 and len(frame) == 50


def test_results_that_cannot_be_split_are_refused(tmp_path, risks):
    text = (risks / "tidy.csv").read_text()
    (risks / "tidy.csv").write_text(text.replace("excess_client_", "gap_client_"))
    with pytest.raises(FairflError, match="the results of rotated have no finite excess_client_0"):
        figures.build(demo.parsed(risk_spec(risks)))
    (risks / "tidy.csv").write_text(text.replace("loss_client_", "gap_client_"))
    with pytest.raises(FairflError, match="the results of rotated have no metric loss_client_0"):
        figures.build(demo.parsed(risk_spec(risks)))
    (risks / "tidy.csv").write_text(text.replace("loss_client_4", "loss_client_5"))
    with pytest.raises(FairflError, match="rotated: client 5 is none of the partition's 5"):
        figures.build(demo.parsed(risk_spec(risks)))
    (risks / "deal.parquet").write_text("no parquet")
    with pytest.raises(FairflError, match="deal.parquet: damaged"):
        figures.build(demo.parsed(risk_spec(risks)))


def test_excess_risk_is_equal_on_a_second_draw_and_its_csv_has_what_is_drawn(risks):
    pdf, png, text = figures.build(demo.parsed(risk_spec(risks)))
    assert (pdf, png, text) == figures.build(demo.parsed(risk_spec(risks)))
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=["nan"])
    assert frame["data"].unique().tolist() == ["mnist"] and frame["artifact"].unique().tolist() == ["focus_figure3"]
    assert frame["model"].dropna().tolist() == [3, 3, 3, 1, 2]


@pytest.mark.parametrize(
    ("plot", "kinds"), [("excess_risk", {"tidy", "partition", "reported"}), ("pseudo_code", set())]
)
def test_only_what_a_plot_needs_is_made_first(root, plot, kinds):
    workload = load_workload(root, {"scale": "quick", "papers": ["eagle"], "artifacts": ["eagle_table1"]})
    paper, _, table = workload.artifacts["eagle_table1"]
    settings = table.settings[:1] if kinds else []
    workload.known["eagle_x"] = (
        paper,
        "x",
        Artifact(kind="figure", title="", caption="", plot=plot, settings=settings),
    )
    files = graph_of(workload).job("figure/eagle/x").parsed["files"]
    assert set(files) == kinds and all(settings == list(files[kind]) for kind in kinds - {"reported"})


# -- pseudo-code ------------------------------------------------------------------------------
LISTING = {
    "title": "doubling",
    "before": "**Input:** numbers $x_i$ at 50% of \\$3 & a_b\n",
    "lines": "**for** each $i \\in [n]$ **do** // all of them\n  $x_i \\leftarrow 2 x_i$\n\n**end for**\n",
}


def code_spec(**options):
    return demo.spec("focus_algorithm7", kind="illustration", plot="pseudo_code", options=LISTING | options)


def printed(drawing):
    """The words of a listing, line by line: y -> [(x, word)], in inches from the upper left corner."""
    width, height = drawing.get_size_inches()
    lines = {}
    for text in drawing.texts:
        x, y = text.get_position()
        lines.setdefault(round((1 - y) * height, 6), []).append((x * width, text))
    return {y: sorted(lines[y], key=lambda item: item[0]) for y in sorted(lines)}


def test_a_listing_is_printed_with_numbers_indentation_bold_words_and_comments():
    drawing, frame, remarks = drawn(code_spec())
    lines = [[(word.get_text(), word.get_fontweight()) for _, word in line] for line in printed(drawing).values()]
    assert lines[0] == [("Algorithm", "bold"), ("7", "bold"), ("doubling", "normal")]
    assert [word for word, _ in lines[1]] == ["Input:", "numbers", "$x_i$", "at", "50%", "of", "$3", "&", "a_b"]
    assert [word for word, _ in lines[2]] == ["1:", "for", "each", "$i \\in [n]$", "do", "▷", "all", "of", "them"]
    assert [word for word, weight in lines[2] if weight == "bold"] == ["for", "do"]
    assert [line[0][0] for line in lines[3:]] == ["2:", "3:"] and len(lines) == 5
    assert frame["number"].isna().tolist() == [True, False, False, False] and remarks == []
    left = [line[1][0] for line in list(printed(drawing).values())[2:]]
    assert left == pytest.approx([left[0], left[0] + 12 / 72, left[0]])


@pytest.mark.slow
def test_the_csv_of_a_listing_has_the_lines_as_they_were_written():
    frame = pd.read_csv(io.StringIO(figures.build(demo.parsed(code_spec()))[2]), keep_default_na=False)
    assert frame["number"].tolist() == ["nan", "1", "2", "3"] and frame["indent"].tolist() == [0, 0, 1, 0]
    assert frame["text"].tolist()[1:3] == ["**for** each $i \\in [n]$ **do**", "$x_i \\leftarrow 2 x_i$"]
    assert frame["comment"].tolist() == ["", "all of them", "", ""]
    assert figures.build(demo.parsed(code_spec())) == figures.build(demo.parsed(code_spec()))


@pytest.mark.parametrize("width", ["column", "page"])
def test_nothing_overlaps_and_nothing_leaves_the_page(width):
    words = "agents send $\\sum_{i=1}^{n} \\frac{1}{n} x_i$ (**twice**), then wait; "
    drawing, *_ = drawn(code_spec(width=width, lines=f"{words * 5}// {words * 4}\n  {words * 4}"))
    renderer = drawing.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in drawing.texts]
    room = drawing.bbox
    assert all(box.x0 >= 0 and box.x1 <= room.x1 and box.y0 >= 0 and box.y1 <= room.y1 for box in boxes)
    # Measured and drawn widths differ by hinting: a pixel.
    overlaps = [
        (a, b) for n, a in enumerate(boxes) for b in boxes[:n] if a.shrunk(0.9, 0.9).overlaps(b.shrunk(0.9, 0.9))
    ]
    assert not overlaps
    assert len(printed(drawing)) > 5


def test_a_long_line_goes_on_further_in_and_glued_words_stay_together():
    drawing, *_ = drawn(code_spec(before="", lines="word " * 60 + "(**bold**)"))
    first, second = (line for line in list(printed(drawing).values())[1:3])
    assert second[0][0] == pytest.approx(first[1][0] + 12 / 72)
    *_, opening, bold, closing = list(printed(drawing).values())[-1]
    assert [item[1].get_text() for item in (opening, bold, closing)] == ["(", "bold", ")"]
    assert bold[0] - opening[0] < 0.06


def test_a_line_may_be_a_comment_alone():
    drawing, frame, _ = drawn(code_spec(lines="  // nothing is trained\n****"))
    line = [word.get_text() for _, word in list(printed(drawing).values())[2]]
    assert line == ["1:", "▷", "nothing", "is", "trained"]
    assert frame["text"].tolist()[1:] == ["", "****"] and frame["comment"][1] == "nothing is trained"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lines": "a\ncosts $3"}, "options.lines: line 2: a formula is not closed .*: 'costs \\$3'"),
        ({"lines": "**for all"}, "options.lines: line 1: \\*\\* is not closed"),
        ({"lines": "a\n   b"}, "options.lines: line 2: a level of indentation is two blanks"),
        ({"lines": "$\\nothing$"}, r"focus_algorithm7: options: '\$\\\\nothing\$': .*Unknown symbol"),
        ({"lines": "x" * 300, "width": "column"}, "is [0-9]+ points too wide; divide it"),
        ({"line": "a"}, "options.line: unknown key .*did you mean 'lines'"),
        ({"lines": " \n"}, "options.lines"),
    ],
)
def test_a_listing_that_cannot_be_printed_is_refused(options, message):
    with pytest.raises(FairflError, match=message):
        figures.build(demo.parsed(code_spec(**options)))
