"""The picture of the papers' status: of each paper's published numbers, how many agree, differ or have not been run."""

import io
from collections.abc import Mapping

from fairfl.judgement.measurements import Count

COLOURS = {
    "agree": "#117733",
    "are close": "#88CCAA",
    "differ": "#CC6677",
    "are inconclusive": "#DDCC77",
    "not run": "#DDDDDD",
}


def shares(count: Count) -> dict[str, int]:
    """Numbers of a paper by what stands in COLOURS."""
    counts = (
        count.agree,
        count.close,
        count.differ,
        count.inconclusive,
        count.published - count.checked,
    )
    return dict(zip(COLOURS, counts, strict=True))


def status_svg(counts: Mapping[str, Count]) -> str:
    """One bar a paper, from its name as it is to stand there; equal counts give equal text."""
    import matplotlib  # here: the page needs only `shares`
    import pandas as pd
    from matplotlib.figure import Figure

    height, below = 0.42 * len(counts) + 0.95, 0.85  # inches
    figure = Figure(figsize=(7.5, height))
    axes = figure.add_axes((0.18, below / height, 0.78, 1 - (below + 0.05) / height))
    labels = [f"{name} ({count.published:,})" for name, count in counts.items()]
    numbers = pd.DataFrame([shares(count) for count in counts.values()], labels)
    widths = 100 * numbers.div(numbers.sum(axis=1).clip(lower=1), axis=0)
    left = widths.cumsum(axis=1) - widths
    for word, colour in COLOURS.items():
        bars = axes.barh(
            labels, widths[word], left=left[word], color=colour, height=0.7, label=word
        )
        texts = numbers[word].map("{:,}".format).where(widths[word] >= 2.5, "")
        color = "white" if word == "agree" else "black"
        axes.bar_label(bars, texts, label_type="center", fontsize=8, color=color)
    axes.invert_yaxis()
    axes.set(xlim=(0, 100), xlabel="published numbers, percent")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    figure.legend(loc="lower center", ncols=len(COLOURS), frameon=False, fontsize=9)
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "fairfl", "svg.fonttype": "none"}):
        figure.savefig(
            out, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white"
        )
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
