"""Who meets in a figure can be told apart: by colour, to all eyes, and without colour."""

import os
import subprocess
import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from matplotlib.backends import _backend_pdf_ps
from matplotlib.colors import to_rgb
from matplotlib.font_manager import findfont
from matplotlib.ft2font import FT2Font

from fairfl.experiments.workload import load_workload
from fairfl.reporting import style
from tests.defaults import CONFIG

# What eyes see of linear RGB: all of it, or without the cones for red or for green (Machado and others, 2009).
EYES = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
# Distances in CIELAB; two and a half are said to be just noticeable, lines and marks are thin.
APART, ALSO_WITHOUT, NEVER_EQUAL = 25, 13, 10


def cielab(color: str, eyes: str) -> np.ndarray:
    """L*, a*, b* of a colour as these eyes see it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(EYES[eyes] @ linear, 0, 1) / WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, eyes: str = "normal") -> float:
    return float(np.linalg.norm(cielab(one, eyes) - cielab(other, eyes)))


@pytest.fixture(scope="module")
def meeting(root) -> set[tuple[str, str]]:
    """Pairs of algorithms that a figure shows both of; of more than a dozen no colours can be so far apart."""
    workload = load_workload(root, CONFIG)
    figures = [artifact for _, _, artifact in workload.artifacts.values() if artifact.plot]
    shown = [{row.algorithm for row in figure.rows} for figure in figures]
    return {pair for algorithms in shown if len(algorithms) <= 12 for pair in combinations(sorted(algorithms), 2)}


def test_what_meets_in_a_figure_differs_in_colour_to_all_eyes(meeting) -> None:
    looks = style.algorithm_looks()
    assert len(meeting) > 50
    for eyes, limit in (("normal", APART), ("protan", ALSO_WITHOUT), ("deutan", ALSO_WITHOUT)):
        near = {pair: distance(*(looks[name][0] for name in pair), eyes) for pair in meeting}
        assert {pair: far for pair, far in near.items() if far < limit} == {}, eyes


def test_what_meets_in_a_figure_differs_without_colour(meeting) -> None:
    for one, other in meeting:
        assert style.algorithm_looks()[one][1] != style.algorithm_looks()[other][1], (one, other)


def test_no_two_algorithms_look_alike() -> None:
    for (one, look), (other, beside) in combinations(style.algorithm_looks().items(), 2):
        assert distance(look[0], beside[0]) >= NEVER_EQUAL, (one, other)
        assert look[1:] != beside[1:], (one, other)


def test_algorithms_stay_apart_from_the_clients_beside_them() -> None:
    """FedEBA+'s figure 1 draws FedEBA's point on the losses of two clients, EAGLE's figure 1 AFL's line among them."""
    for name in ("fedeba", "qffl", "afl", "eagle"):
        for client in range(2):
            assert distance(style.algorithm_looks()[name][0], style.client_colors(2)[client]) >= APART, (name, client)


@pytest.mark.parametrize(("entries", "columns"), [(8, 8), (9, 5), (11, 6), (17, 6)])
def test_lines_of_a_legend_are_of_like_length(entries: int, columns: int) -> None:
    """Eight of these labels fit side by side: nine are five and four, not eight and one."""
    figure = style.canvas(style.PAGE, 2)
    style.legend_above(figure, {f"{number:011}": {} for number in range(entries)})
    figure.draw_without_rendering()
    tops = Counter(round(text.get_window_extent().y0) for text in figure.legends[0].get_texts())
    assert max(tops.values()) == columns and min(tops.values()) > columns - len(tops)


def test_fonts_in_a_pdf_have_their_letters_and_no_tables_to_set_text_by() -> None:
    path = findfont("DejaVu Sans")
    with _backend_pdf_ps.get_glyphs_subset(path, {FT2Font(path).get_char_index(ord("a"))}) as found:
        assert {"glyf", "hmtx"} <= {*found.font.keys()} and not {"GDEF", "GPOS", "GSUB"} & {*found.font.keys()}


DRAWS = """
from pathlib import Path
from fairfl.reporting import style
from fairfl.runtime import opened
opened.begin(None)
with style.applied():
    figure = style.canvas(1, 1)
    figure.text(0.5, 0.5, "a")
    figure.savefig("a.png")
    figure.savefig("a.pdf")
assert any(path.endswith("/own.ttf") for path in opened._heard)
opened.check(["a.png", "a.pdf"], None)
"""


@pytest.mark.slow
def test_letters_may_come_from_any_installed_font(tmp_path):
    """Where one of those that the style names is installed, every figure reads it."""
    font = TTFont(findfont("DejaVu Sans"))
    for name in font["name"].names:
        name.string = "Noto Sans" if name.nameID in (1, 16) else name.toUnicode()
    (tmp_path / "fonts").mkdir()
    font.save(tmp_path / "fonts/own.ttf")
    folders = dict.fromkeys(("XDG_DATA_HOME", "MPLCONFIGDIR"), str(tmp_path))
    command = [sys.executable, "-P", "-c", DRAWS]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | folders, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


IMPORTS = """
from pathlib import Path
from fairfl.runtime import opened

opened.begin(None)
import matplotlib.pyplot
assert any("/fontlist" in path for path in opened._heard | opened._made)
opened.check([], None)
Path("own.json").write_text("in the folder of the list")
opened._made.clear()
Path("own.json").read_text()
try:
    opened.check([], None)
except opened.PluginError as error:
    assert "own.json: this job reads it" in str(error)
else:
    raise AssertionError("not noticed")
"""


@pytest.mark.slow
def test_a_job_that_does_not_draw_may_import_the_library_that_draws(tmp_path):
    """As a user's algorithm may: first there is no list of fonts, then there is."""
    command = [sys.executable, "-P", "-c", IMPORTS]
    for _ in range(2):
        environment = os.environ | {"MPLCONFIGDIR": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=environment, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
