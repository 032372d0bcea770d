"""How every figure looks: sizes, fonts, colours. Changing a figure's look means changing this file.

Seaborn gives the theme and the grids of panels. Lines, marks, bars and boxes are matplotlib's: means and bands are
computed before, as the figure's CSV has them, where seaborn would compute its own from samples.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import matplotlib.style
import numpy as np
import pandas as pd
import seaborn
from fontTools import subset
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser

from fairfl.reporting.formulas import literal

if TYPE_CHECKING:
    from fairfl.reporting.inputs import Inputs, ShownRow

# Figures are only written to files; without this, seaborn's grids would look for a screen through pyplot.
matplotlib.use("agg")
# No PDF reader looks at the tables by which a font sets text: to cut them down took a seventh of a figure's time.
subset.Options._drop_tables_default += ["GDEF", "GPOS", "GSUB", "MATH", "kern"]

READS = ("figures.mplstyle",)
_RC = Path(__file__).with_name("figures.mplstyle")
COLUMN, PAGE = 3.3, 6.9  # inches: one column, the full width of a paper
GREY = "#767676"
RED, BLUE, DARK = "#D55E00", "#0072B2", "#222222"

# Clients: Okabe and Ito.
_CLIENTS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C6D31")
_DASHES = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (4, 1, 1, 1, 1, 1)),
)
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<", ">", "p", "h")
# Colour, marker and dashes of an algorithm, the same in every figure of every paper. The papers' own methods have the
# strongest colours, FedAvg and its kin are grey; what one figure compares differs in two of the three, and its colours
# do to eyes without red or green cones, too (tests/unit/reporting/test_style.py).
_ALGORITHMS = {
    "fedavg": ("#444444", "o", 0),
    "fedavg_hardcluster": ("#5e5e5e", "D", 2),
    "fedsgd": ("#787878", "s", 3),
    "fedprox": ("#969696", "^", 1),
    "local_only": ("#bababa", "v", 2),
    "eagle": ("#332288", "p", 0),
    "fedeba_plus": ("#D55E00", "P", 0),
    "prac_fedeba_plus": ("#882255", "X", 1),
    "fedeba": ("#C7996B", "p", 3),
    "focus": ("#0072B2", "D", 0),
    "fedfv": ("#E7298A", "*", 0),
    "vred": ("#66A61E", "D", 1),
    "semi_vred": ("#1B5E20", "p", 1),
    "afl": ("#A489F5", "s", 1),
    "qffl": ("#1FD9B7", "^", 2),
    "term": ("#3EA3A3", "v", 3),
    "propfair": ("#840B0B", "<", 4),
    "fedmgda_plus": ("#56B4E9", "X", 5),
    "ditto": ("#A33E89", "*", 4),
    "fedfa": ("#661100", ">", 3),
    "gifair": ("#E29378", "h", 5),
    "aaggff": ("#F781BF", "p", 2),
    "fedwavg": ("#A6761D", "h", 1),
    "feddisco": ("#826BC7", "<", 1),
    "lp_proj": ("#6B99C7", ">", 4),
    "core_fed": ("#2F7F5F", "p", 4),
    "rank_core_fed": ("#88CCAA", "h", 2),
    "cgsv": ("#AA5C0E", "v", 1),
    "fedma": ("#E31A1C", "*", 3),
    "scaffold": ("#2000E8", "D", 5),
    "power_of_choice": ("#C2B200", "h", 3),
    "pfnm": ("#6A3D9A", "X", 3),
}

Look = dict[str, Any]
Drawing = tuple[Figure, pd.DataFrame]  # what a plot gives: the picture and the numbers in it
# Marks of the paper's own numbers beside ours.
HOLLOW: Look = {"markerfacecolor": "none", "markeredgewidth": 0.9, "linewidth": 0.5, "markevery": 1}
# No loss gap, no difference.
ZERO: Look = {"color": GREY, "linewidth": 0.7, "linestyle": (0, (4, 2)), "zorder": 1}


@contextmanager
def applied() -> Iterator[None]:
    """The style, independent of the user's matplotlibrc; everything is put back afterwards."""
    looks = [seaborn.axes_style("ticks"), seaborn.plotting_context("paper"), _RC]
    with matplotlib.style.context(looks, after_reset=True):
        # Families fall back on one another, what sans-serif may be does not; a family that is not here would be logged.
        present = font_manager.get_font_names()
        matplotlib.rcParams["font.family"] = [
            name for name in matplotlib.rcParams["font.sans-serif"] if name in present
        ]
        yield


@cache
def is_formula(text: str) -> bool:
    """True if matplotlib can set what stands between two dollars."""
    try:
        MathTextParser("path").parse(f"${text}$")
    except ValueError:
        return False
    return True


def canvas(width: float, height: float) -> Figure:
    """An empty figure, sizes in inches. Not through pyplot: nothing is left behind."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def arrow(axes: Axes, vector: np.ndarray, color: str, width: float = 0.008) -> None:
    """Draw a vector [2] from the origin; `width` as a share of the panel's."""
    axes.quiver(
        0, 0, *vector, color=color, width=width, zorder=3, angles="xy", scale_units="xy", scale=1
    )


def client_colors(clients: int) -> list[str]:
    """Fixed colours of clients; beyond seven clients a gradient."""
    return seaborn.color_palette(
        _CLIENTS if clients <= len(_CLIENTS) else "viridis", clients
    ).as_hex()


def algorithm_looks(algorithms: Iterable[str] = ()) -> dict[str, tuple[str, str, int]]:
    """Colour, marker and number of the dashes of each algorithm, the same everywhere; of others by their place."""
    others = sorted(set(algorithms) - _ALGORITHMS.keys())
    hues = seaborn.husl_palette(max(12, len(others)), s=0.95, l=0.55).as_hex()
    return _ALGORITHMS | {
        name: (hues[number], marker(number), number) for number, name in enumerate(others)
    }


def looks(inputs: "Inputs") -> dict["ShownRow", Look]:
    """Colour, marker and line style of an artifact's rows.

    The first row of an algorithm has the algorithm's; the next ones darker and lighter shades, other dashes, and
    markers that no algorithm of the artifact has.
    """
    own = algorithm_looks(inputs.spec.algorithms)
    free = [
        shape for shape in _MARKERS if shape not in {own[row.algorithm][1] for row in inputs.rows}
    ]
    seen: Counter[str] = Counter()
    result = {}
    for row in inputs.rows:
        number = seen[row.algorithm]
        color, shape, dashes = own[row.algorithm]
        tints = seaborn.dark_palette if number % 2 else seaborn.light_palette  # by turns
        shade = tints(color, 5, reverse=True).as_hex()[(number + 1) // 2 % 5]
        if number and free:
            shape = free.pop(0)
        # Lines of several algorithms, and of rows of one, stay apart without colour.
        result[row] = {"color": shade, "marker": shape, "linestyle": dash(dashes + number)}
        seen[row.algorithm] += 1
    return result


def dash(number: int) -> str | tuple:
    """Line style of the n-th row: rows stay apart without colour."""
    return _DASHES[number % len(_DASHES)]


def marker(number: int) -> str:
    """Marker of the n-th class."""
    return _MARKERS[number % len(_MARKERS)]


def client_keys(names: Sequence[str]) -> dict[str, Look]:
    """Legend entries for clients; of many only first, middle and last."""
    clients = len(names)
    few = range(clients) if clients <= 10 else (0, clients // 2, clients - 1)
    return {literal(names[k]): {"color": client_colors(clients)[k]} for k in few}


def legend_above(figure: Figure, entries: Mapping[str, Look]) -> None:
    """Draw one legend for all panels, above them, in as few lines as fit: 19 letters an inch, 5 around a label."""
    handles = [Line2D([], [], label=label, **look) for label, look in entries.items()]
    fit = int(figure.get_figwidth() * 19 / (max(map(len, entries)) + 5))
    lines = -(-len(handles) // max(1, fit))
    # Columns are filled one after the other: with more of them than the lines need, the last lines are nearly empty.
    figure.legend(handles=handles, loc="outside upper center", ncols=-(-len(handles) // lines))


def write_not_run(axes: Axes, text: str = "not run") -> None:
    """Say in an empty panel why it is empty. An axis that no other panel shares has no numbers to show."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)
    for axis, shared in (
        (axes.xaxis, axes.get_shared_x_axes()),
        (axes.yaxis, axes.get_shared_y_axes()),
    ):
        if len(shared.get_siblings(axes)) == 1:
            axis.set_ticks([])


def write(axes: Axes, text: str, at: Any, away: Any, **options: Any) -> None:
    """Write beside a place [2], `away` [2] from it in points."""
    look: Look = {"fontsize": 7, "ha": "center", "va": "center", "annotation_clip": False}
    axes.annotate(text, at, away, textcoords="offset points", **look | options)
