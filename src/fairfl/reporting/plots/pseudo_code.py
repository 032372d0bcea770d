"""An algorithm as papers print it: its title between rules, what goes in and comes out, numbered lines.

Nothing is computed; the text is the artifact's own. Two blanks are a level of indentation, `**for**` is bold,
mathematics stands between dollar signs (the part of TeX that matplotlib knows; \\$ is a dollar), and what follows
` // ` is a comment, printed at the right edge. A line that is too long is broken between words, never in a formula.
The CSV holds the lines as they were written; those in front of the algorithm have no number.
"""

import re
from dataclasses import dataclass
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
_MARGIN, _INDENT, _LEADING, _FOOTER = 4.0, 12.0, 3.6, 13.0  # points; style.footer writes one line
_FORMULA: re.Pattern[str] = re.compile(r"(?<!\\)\$")
_TOKEN: re.Pattern[str] = re.compile(
    r"(?P<blank>\s+)|(?P<bold>\*\*)|(?P<word>(?:\$(?:\\.|[^$\\])*\$|\\.|(?!\*\*)[^\s$])+)"
)


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


@dataclass(frozen=True)
class Word:
    """What is never broken, with its size in points; `glued` to the word before it if no blank is between them."""

    text: str
    formula: bool
    bold: bool
    color: str
    glued: bool
    width: float
    ascent: float
    descent: float


# A line of print: words and where they begin, in points from the left edge of the figure.
Print = list[tuple[float, Word]]


def draw(inputs: Inputs, config: Config) -> tuple[Figure, pd.DataFrame]:
    frame = listing(config)
    width = 72 * (style.PAGE if config.width == "page" else style.COLUMN)
    numbers = _MARGIN + _word(f"{frame['number'].max()}:").width  # the right edge of the numbers
    title = _typeset(inputs, f"**{inputs.spec.artifact.title}** {config.title}", "", _MARGIN, width - _MARGIN)
    body: list[Print] = []
    for number, indent, text, comment in frame.itertuples(index=False):
        left = (_MARGIN if pd.isna(number) else numbers + _size()) + indent * _INDENT
        prints = _typeset(inputs, text, comment, left, width - _MARGIN)
        if not pd.isna(number):
            label = _word(f"{number}:", color=style.GREY)
            prints[0].append((numbers - label.width, label))
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


# -- words and lines of print -----------------------------------------------------------------
def words(text: str, color: str = _DARK) -> list[Word]:
    """The words of a text, the marks of bold ones taken off. Raises ValueError if matplotlib cannot read a formula."""
    result: list[Word] = []
    bold = glued = False
    for token in _TOKEN.finditer(text):
        if token["word"]:
            result.append(_word(token["word"], bold, color, glued))
        bold ^= bool(token["bold"])
        glued = bool(result) and not token["blank"] and (glued or not token["bold"])
    return result


def broken(sequence: list[Word], left: float, right: float) -> list[Print]:
    """Words set between two edges, lines after the first further in. Raises ValueError if something is too wide."""
    prints: list[Print] = [[]]
    x = left
    for unit in _unbroken(sequence):
        width = sum(word.width for word in unit)
        if prints[-1] and x + width > right:
            prints.append([])
            x = left + _INDENT
        if x + width > right:
            text = "".join(word.text for word in unit)
            raise ValueError(f"{text!r} is {x + width - right:.0f} points too wide; divide it")
        for word in unit:
            prints[-1].append((x, word))
            x += word.width
        x += _blank()
    return prints


def _unbroken(sequence: list[Word]) -> list[list[Word]]:
    """Words without a blank between them belong together."""
    units: list[list[Word]] = []
    for word in sequence:
        if word.glued:
            units[-1].append(word)
        else:
            units.append([word])
    return units


def _typeset(inputs: Inputs, text: str, comment: str, left: float, right: float) -> list[Print]:
    """A line, its comment at the right edge beside its end if there is room. Raises FairflError naming the line."""
    try:
        prints = broken(words(text), left, right)
        notes = broken(words(f"▷ {comment}", style.GREY), left, right) if comment else []
    except ValueError as error:
        raise FairflError(f"{inputs.name}: options: {text!r}: {str(error).splitlines()[-1]}") from None
    for note in notes:
        shift = right - _end(note)
        moved = [(x + shift, word) for x, word in note]
        if not prints[-1] or moved[0][0] > _end(prints[-1]) + _size():
            prints[-1] += moved
        else:
            prints.append(moved)
    return prints


def _end(line: Print) -> float:
    x, word = line[-1]
    return x + word.width


def _word(text: str, bold: bool = False, color: str = _DARK, glued: bool = False) -> Word:
    formula = bool(_FORMULA.search(text))
    shown = text if formula else text.replace("\\$", "$")
    # Ten times as large, because matplotlib rounds the sizes of formulas up to whole points.
    sizes = text_to_path.get_text_width_height_descent(shown, _font(bold, 10), formula)
    width, height, descent = (float(size) / 10 for size in sizes)
    return Word(shown, formula, bold, color, glued, width, height - descent, descent)


def _font(bold: bool, times: float = 1) -> FontProperties:
    return FontProperties(weight="bold" if bold else "normal", size=times * _size())


def _size() -> float:
    return matplotlib.rcParams["font.size"]


def _blank() -> float:
    return _word("n n").width - _word("nn").width


# -- drawing ----------------------------------------------------------------------------------
def _ascent(line: Print) -> float:
    return max([0.76 * _size(), *(word.ascent for _, word in line)]) + _LEADING / 2


def _descent(line: Print) -> float:
    return max([0.24 * _size(), *(word.descent for _, word in line)]) + _LEADING / 2


def _height(prints: list[Print]) -> float:
    """Points that lines of print take, with the space above and below them."""
    return _LEADING + sum(_ascent(line) + _descent(line) for line in prints)


def _write(figure: Figure, prints: list[Print], top: float) -> None:
    """Write lines below `top`, in points from the upper edge."""
    width, height = 72 * figure.get_size_inches()
    y = top + _LEADING / 2
    for line in prints:
        y += _ascent(line)
        for x, word in line:
            figure.text(
                x / width, 1 - y / height, word.text, parse_math=word.formula, fontproperties=_font(word.bold),
                color=word.color, va="baseline",
            )  # fmt: skip
        y += _descent(line)


def _rule(figure: Figure, y: float, thickness: float) -> None:
    width, height = 72 * figure.get_size_inches()
    ends, up = (_MARGIN / width, 1 - _MARGIN / width), 1 - y / height
    figure.add_artist(Line2D(ends, (up, up), color=_DARK, linewidth=thickness, transform=figure.transFigure))
