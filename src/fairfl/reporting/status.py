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


def shares(found: Count) -> dict[str, int]:
    """Numbers of a paper by what stands in COLOURS."""
    counts = (found.agree, found.close, found.differ, found.inconclusive, found.published - found.checked)
    return dict(zip(COLOURS, counts, strict=True))


def status_svg(counts: Mapping[str, Count]) -> str:
    """One bar a paper, from its name as it is to stand there; equal counts give equal text."""
    import matplotlib.patches  # here: the page needs only `shares`
    from matplotlib.figure import Figure

    height, below = 0.42 * len(counts) + 0.95, 0.85  # inches
    figure = Figure(figsize=(7.5, height))
    axes = figure.add_axes((0.12, below / height, 0.84, 1 - (below + 0.05) / height))
    names = list(reversed(list(counts)))  # bars are drawn from below
    for place, name in enumerate(names):
        found = counts[name]
        left, whole = 0.0, max(1, found.published)
        for word, many in shares(found).items():
            ink = "white" if word == "agree" else "black"
            axes.barh(place, 100 * many / whole, left=left, color=COLOURS[word], height=0.7)
            if many >= 0.06 * whole:
                axes.text(left + 50 * many / whole, place, f"{many:,}", ha="center", va="center", fontsize=9, color=ink)
            left += 100 * many / whole
    axes.set_yticks(range(len(counts)), names)
    axes.set(xlim=(0, 100), xlabel="published numbers, percent")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    handles = [matplotlib.patches.Patch(color=colour, label=word) for word, colour in COLOURS.items()]
    figure.legend(handles=handles, loc="lower center", ncols=len(COLOURS), frameon=False, fontsize=9)
    out = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "fairfl", "svg.fonttype": "none"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
