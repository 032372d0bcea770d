"""Figures of FOCUS: excess risks of agents by cluster, from made-up results, and listings."""

import io
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from fairfl.reporting import figures
from tests.unit.reporting import demo
from tests.unit.reporting.drawing import drawn

SETTING = "rotated"
ROWS = [{"algorithm": "fedavg"}, {"algorithm": "focus", "hyperparameters": {"M": 3}}]
# Five agents; the agents of a cluster are not neighbours.
CLUSTERS = [1, 0, 0, 2, 0]
BAYES = [0.2, 0.1, 0.1, 0.3, 0.1]
EXCESS = {"fedavg": [0.2, 0.05, 0.06, 0.5, 0.07], "focus": [0.05, 0.02, -0.04, 0.1, 0.0]}
MODELS = {0: 2, 1: 0, 2: 1}  # true cluster -> model


def lines_of(algorithm, seed):
    """Tidy lines of a run; seed 1 has losses 0.02 higher than seed 0, all of it excess."""
    values = {}
    for k, (b, e) in enumerate(zip(BAYES, EXCESS[algorithm], strict=True)):
        values |= {f"excess_client_{k}": e + seed / 50, f"loss_client_{k}": b + e + seed / 50}
        values |= {f"cluster_client_{k}": MODELS[CLUSTERS[k]]} if algorithm == "focus" else {}
    values |= {"assignment_rand": 1.0 - 0.5 * seed} if algorithm == "focus" else {}
    hyper = "M=3" if algorithm == "focus" else ""
    return [(SETTING, algorithm, hyper, seed, metric, value, "nats") for metric, value in values.items()]


@pytest.fixture
def risks(tmp_path):
    tidy = demo.tidy(
        tmp_path / "tidy.csv", [line for name in EXCESS for seed in (0, 1) for line in lines_of(name, seed)]
    )
    (tmp_path / "figure3.csv").write_text(demo.REPORTED)
    table = pa.table({"row": [0], "client": [0], "part": [0]})
    parquet.write_table(table.replace_schema_metadata({"clusters": json.dumps(CLUSTERS)}), tmp_path / "deal.parquet")
    files = {"tidy": tidy, "partition": str(tmp_path / "deal.parquet")}
    kinds = {kind: {SETTING: path} for kind, path in files.items()}
    kinds["reported"] = {"figure3": str(tmp_path / "figure3.csv")}
    return demo.spec(
        "focus_figure3", kinds, {"data": "mnist"}, kind="figure", settings=[SETTING], rows=ROWS, plot="excess_risk"
    )


# -- excess risk ------------------------------------------------------------------------------
def test_agents_stand_by_true_cluster_with_mean_loss_split_at_the_surrogates(risks):
    _, frame, remarks = drawn(risks)
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
    drawing, frame, _ = drawn(risks)
    for axes, (_, own) in zip(drawing.axes, frame.groupby("algorithm", sort=False), strict=True):
        bars = axes.patches
        stacked = sorted(bars[len(own) :], key=lambda bar: bar.get_x())
        for below, above, agent in zip(bars[: len(own)], stacked, own.itertuples(), strict=True):
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


# -- pseudo-code ------------------------------------------------------------------------------
LISTING = {
    "title": "doubling",
    "before": "**Input:** numbers $x_i$ at 50% of \\$3 & a_b\n",
    "lines": "**for** each $i \\in [n]$ **do** // all of them\n  $x_i \\leftarrow 2 x_i$\n\n**end for**\n",
}


def code_spec(**options):
    return demo.spec("focus_algorithm7", kind="illustration", plot="pseudo_code", options=LISTING | options)


@pytest.mark.slow
def test_the_csv_of_a_listing_has_the_lines_as_they_were_written():
    frame = pd.read_csv(io.StringIO(figures.build(demo.parsed(code_spec()))[2]), comment="#", keep_default_na=False)
    assert frame["number"].tolist() == ["nan", "1", "2", "3"] and frame["indent"].tolist() == [0, 0, 1, 0]
    assert frame["text"].tolist()[1:3] == ["**for** each $i \\in [n]$ **do**", "$x_i \\leftarrow 2 x_i$"]
    assert frame["comment"].tolist() == ["", "all of them", "", ""]
    assert figures.build(demo.parsed(code_spec())) == figures.build(demo.parsed(code_spec()))
