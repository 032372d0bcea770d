"""An algorithm as papers print it: its title between rules, what goes in and comes out, numbered lines.

Nothing is computed; the text is the artifact's own. Two blanks are a level of indentation, `**for**` is bold,
mathematics stands between dollar signs (the part of TeX that matplotlib knows; \\$ is a dollar), and what follows
` // ` is a comment, printed at the right edge. A line that is too long is broken between words, never in a formula or
in bold ones. The CSV holds the lines as they were written; those in front of the algorithm have no number.
"""

import re

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from pydantic import Field, field_validator

from fairfl.experiments.base import Strict
from fairfl.reporting import style
from fairfl.reporting.inputs import Inputs
from fairfl.runtime.errors import FairflError

NEEDS = ()
COLUMNS = ["number", "indent", "text", "comment"]

# In points.
_MARGIN, _NUMBERS, _INDENT, _LEADING = 4.0, 20.0, 12.0, 2.2


class Config(Strict):
    title: str = Field(
        description="what the algorithm is called, printed behind the artifact's title"
    )
    before: str = Field(
        "", description="lines in front of the algorithm, without a number: input, output"
    )
    lines: str = Field(pattern=r"\S", description="the algorithm, line by line")

    @field_validator("title", "before", "lines")
    @classmethod
    def _well_formed(cls, value: str) -> str:
        for number, line in enumerate(value.splitlines(), start=1):
            if line.replace("\\$", "").count("$") % 2:
                raise ValueError(
                    f"line {number}: a formula is not closed (\\$ is a dollar): {line.strip()!r}"
                )
            if line.count("**") % 2:
                raise ValueError(f"line {number}: ** is not closed: {line.strip()!r}")
            if "\t" in line or (len(line) - len(line.lstrip(" "))) % 2:
                raise ValueError(f"line {number}: a level of indentation is two blanks: {line!r}")
        return value


def draw(inputs: Inputs, config: Config) -> style.Drawing:
    frame = listing(config)
    figure = style.canvas(style.PAGE, 1)
    right = 72 * style.PAGE - _MARGIN
    lines = [[_write(inputs, figure, _MARGIN, f"**{inputs.spec.artifact.title}** {config.title}")]]
    for number, indent, text, comment in frame.itertuples(index=False):
        left = _MARGIN + indent * _INDENT + (0 if pd.isna(number) else _NUMBERS)
        line = [_write(inputs, figure, left, text)]
        lines.append(line)
        if not pd.isna(number):
            line.append(_write(inputs, figure, _NUMBERS - 4, f"{number}:", style.GREY, "right"))
        if comment:
            note = _write(inputs, figure, right, f"▷ {comment}", style.GREY, "right")
            if note.get_window_extent().x0 > line[0].get_window_extent().x1:
                line.append(note)
            else:
                lines.append([note])
    _stack(figure, lines)
    return figure, frame


def listing(config: Config) -> pd.DataFrame:
    """COLUMNS of the lines as they were written, empty ones left out; those in front have no number."""
    records = []
    for block, numbered in ((config.before, False), (config.lines, True)):
        for count, line in enumerate(filter(str.strip, block.splitlines()), start=1):
            text, _, comment = line.partition(" // ")
            indent = (len(line) - len(line.lstrip(" "))) // 2
            records.append((count if numbered else pd.NA, indent, text.strip(), comment.strip()))
    return pd.DataFrame(records, columns=COLUMNS).astype({"number": "Int64"})


def _write(
    inputs: Inputs, figure: Figure, x: float, text: str, color: str = style.DARK, side: str = "left"
) -> Text:
    """A text at the figure's lower edge, x in points, wrapped at its right edge.

    Raises FairflError if matplotlib cannot read a formula.
    """
    bold = re.sub(
        r"\*\*(.+?)\*\*", lambda match: f"$\\mathbf{{{match[1].replace(' ', '~')}}}$", text
    )
    # Formulas are not broken.
    whole = re.sub(r"\$(?:\\.|[^$\\])*\$", lambda match: match[0].replace(" ", "{}"), bold)
    written = figure.text(x / (72 * style.PAGE), 0, whole, color=color, ha=side, va="baseline")
    try:
        # Only a text that is too wide, as each beginning of it is measured, formulas and all.
        box = written.get_window_extent()
        written.set_wrap(box.x0 < 0 or box.x1 > figure.bbox.x1)
        written.get_window_extent()
    except ValueError as error:
        reason = str(error).splitlines()[-1]
        raise FairflError(f"{inputs.where}.options: {text!r}: {reason}") from None
    return written


def _stack(figure: Figure, lines: list[list[Text]]) -> None:
    """Put lines below each other, the first between rules, and make the figure as high as they are."""
    depth, bases, rules = _MARGIN, [], [_MARGIN]  # points below the upper edge
    for line in lines:
        boxes = [text.get_window_extent() for text in line]
        bases.append(depth + _LEADING + max(box.y1 for box in boxes) * 72 / figure.dpi)
        depth = bases[-1] - min(box.y0 for box in boxes) * 72 / figure.dpi + _LEADING
        rules += [depth] if len(bases) in (1, len(lines)) else []
    height = rules[-1] + _MARGIN
    figure.set_figheight(height / 72)
    for line, base in zip(lines, bases, strict=True):
        for text in line:
            text.set_y(1 - base / height)
    for y, thickness in zip(rules, (1.0, 0.6, 1.0), strict=True):
        at = 1 - y / height
        figure.add_artist(Line2D((0.01, 0.99), (at, at), color=style.DARK, linewidth=thickness))
