"""An algorithm as papers print it: its title between rules, what goes in and comes out, numbered lines.

Nothing is computed; the text is the artifact's own. Two blanks are a level of indentation, `**for**` is bold,
mathematics stands between dollar signs (the part of TeX that matplotlib knows; \\$ is a dollar), and what follows
` // ` is a comment, printed at the right edge. A line that is too long is broken between words, never in a formula or
in bold ones. The CSV holds the lines as they were written; those in front of the algorithm have no number.
"""

import re
from typing import Literal

import matplotlib
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from pydantic import Field, field_validator

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.runtime.errors import FairflError

NEEDS = ()
COLUMNS = ("number", "indent", "text", "comment")

_DARK = "#222222"
_MARGIN, _INDENT, _LEADING, _FOOTER = 4.0, 12.0, 3.6, 13.0  # points; margins.footer writes one line
_WORD: re.Pattern[str] = re.compile(r"(?:\$(?:\\.|[^$\\])*\$|\\.|[^\s$])+")
# A line of print: (x, alignment, text, colour), x in points from the left edge of the figure.
Print = list[tuple[float, str, str, str]]


class Config(Strict):
    title: str = Field(description="what the algorithm is called, printed behind the artifact's title")
    before: str = Field("", description="lines in front of the algorithm, without a number: input, output")
    lines: str = Field(pattern=r"\S", description="the algorithm, line by line")
    width: Literal["column", "page"] = Field("page", description="as wide as a column or a page of a paper")

    @field_validator("title", "before", "lines")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        for number, line in enumerate(value.splitlines(), start=1):
            if line.replace("\\$", "").count("$") % 2:
                raise ValueError(f"line {number}: a formula is not closed (\\$ is a dollar): {line.strip()!r}")
            if line.count("**") % 2:
                raise ValueError(f"line {number}: ** is not closed: {line.strip()!r}")
            if "\t" in line or (len(line) - len(line.lstrip(" "))) % 2:
                raise ValueError(f"line {number}: a level of indentation is two blanks: {line!r}")
        return value


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    frame = listing(config)
    width = 72 * (style.PAGE if config.width == "page" else style.COLUMN)
    numbers = _MARGIN + _size(f"{frame['number'].max()}:")[0]  # the right edge of the numbers
    title = _typeset(inputs, f"**{inputs.spec.artifact.title}** {config.title}", "", _MARGIN, width - _MARGIN)
    body: list[Print] = []
    for number, indent, text, comment in frame.itertuples(index=False):
        left = (_MARGIN if pd.isna(number) else numbers + _points()) + indent * _INDENT
        prints = _typeset(inputs, text, comment, left, width - _MARGIN)
        if not pd.isna(number):
            prints[0].append((numbers, "right", f"{number}:", style.GREY))
        body += prints
    between = _MARGIN + _height(title)
    bottom = between + _height(body)
    figure = style.canvas(width / 72, (bottom + _MARGIN + _FOOTER) / 72)
    for y, thickness in ((_MARGIN, 1.0), (between, 0.6), (bottom, 1.0)):
        _rule(figure, y, thickness)
    _write(figure, title, _MARGIN)
    _write(figure, body, between)
    return figure, frame


def listing(config: Config) -> pd.DataFrame:
    """COLUMNS of the lines as they were written, empty ones left out; those in front have no number."""
    records = []
    for block, numbered in ((config.before, False), (config.lines, True)):
        for count, line in enumerate(filter(str.strip, block.splitlines()), start=1):
            text, _, comment = line.partition(" // ")
            indent = (len(line) - len(line.lstrip(" "))) // 2
            records.append((count if numbered else pd.NA, indent, text.strip(), comment.strip()))
    return pd.DataFrame(records, columns=list(COLUMNS)).astype({"number": "Int64"})


# -- lines of print ---------------------------------------------------------------------------
def broken(text: str, width: float) -> list[str]:
    """A text in lines of at most so many points, in the words of matplotlib; those after the first are set in.

    Raises ValueError if matplotlib cannot read a formula, or something that is never broken is too wide.
    """
    bold = re.sub(r"\*\*(.+?)\*\*", lambda found: f"$\\mathbf{{{found[1].replace(' ', '~')}}}$", text)
    lines: list[str] = []
    for word in _WORD.findall(bold):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _size(longer)[0] <= width - _INDENT * (len(lines) > 1):
            lines[-1] = longer
            continue
        if (over := _size(word)[0] - width + _INDENT * bool(lines)) > 0:
            raise ValueError(f"{word!r} is {over:.0f} points too wide; divide it")
        lines.append(word)
    return lines


def _typeset(inputs: Inputs, text: str, comment: str, left: float, right: float) -> list[Print]:
    """A line, its comment at the right edge beside its end if there is room. Raises FairflError naming the line."""
    try:
        lines = broken(text, right - left)
        notes = broken(f"▷ {comment}", right - left) if comment else []
    except ValueError as error:
        raise FairflError(f"{inputs.where}.options: {text!r}: {str(error).splitlines()[-1]}") from None
    prints: list[Print] = [[(left + _INDENT * bool(n), "left", line, _DARK)] for n, line in enumerate(lines)]
    for note in notes:
        x, _, last, _ = prints[-1][0]
        if len(prints[-1]) > 1 or x + _size(last)[0] + _points() > right - _size(note)[0]:
            prints.append([])
        prints[-1].append((right, "right", note, style.GREY))
    return prints


def _size(text: str) -> tuple[float, float, float]:
    """Width, ascent and descent of a text, in points."""
    # Ten times as large, because matplotlib rounds the sizes of formulas up to whole points.
    font = FontProperties(size=10 * _points())
    math = bool(re.search(r"(?<!\\)\$", text))
    shown = text if math else text.replace("\\$", "$")
    width, height, descent = (
        float(size) / 10 for size in text_to_path.get_text_width_height_descent(shown, font, math)
    )
    return width, height - descent, descent


def _points() -> float:
    return matplotlib.rcParams["font.size"]


# -- drawing ----------------------------------------------------------------------------------
def _extent(line: Print) -> tuple[float, float]:
    """Points of a line above and below its base, with the space between lines."""
    sizes = [_size(text) for _, _, text, _ in line]
    above = max([0.76 * _points(), *(ascent for _, ascent, _ in sizes)])
    below = max([0.24 * _points(), *(descent for _, _, descent in sizes)])
    return above + _LEADING / 2, below + _LEADING / 2


def _height(prints: list[Print]) -> float:
    """Points that lines of print take, with the space above and below them."""
    return _LEADING + sum(sum(_extent(line)) for line in prints)


def _write(figure: Figure, prints: list[Print], top: float) -> None:
    """Write lines below `top`, in points from the upper edge."""
    width, height = 72 * figure.get_size_inches()
    y = top + _LEADING / 2
    for line in prints:
        above, below = _extent(line)
        for x, side, text, color in line:
            figure.text(x / width, 1 - (y + above) / height, text, size=_points(), color=color, ha=side, va="baseline")
        y += above + below


def _rule(figure: Figure, y: float, thickness: float) -> None:
    width, height = 72 * figure.get_size_inches()
    ends, up = (_MARGIN / width, 1 - _MARGIN / width), 1 - y / height
    figure.add_artist(Line2D(ends, (up, up), color=_DARK, linewidth=thickness, transform=figure.transFigure))
