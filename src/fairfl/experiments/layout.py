"""The layout of a table: what runs down and what across."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from fairfl.experiments.base import DISTINCT, Strict

Axis = Literal["setting", "row", "metric"]


class Layout(Strict):
    """Axes that run down a table and across it, the outermost first: {down: [row], across: [setting, metric]}.

    An axis on neither side follows from the other two: one metric for each row, say. Settings and metrics of which
    there is one only have no place in the headers.
    """

    down: Annotated[list[Axis], DISTINCT, Field(min_length=1)] = ["setting", "row"]
    across: Annotated[list[Axis], DISTINCT, Field(min_length=1)] = ["metric"]
    blocks: list[list[str]] = Field(
        default_factory=list,
        description="settings of each part, if parts with headers of their own stand in a column",
    )
    brackets: dict[str, str] = Field(
        default_factory=dict,
        description="metric -> the metric that stands in brackets behind it, in the same cell",
    )

    @model_validator(mode="after")
    def _check_sides(self) -> "Layout":
        if both := set(self.down) & set(self.across):
            raise ValueError(f"{both.pop()!r} cannot run both down and across")
        return self

    def check_cells(self, places: Iterable[dict[Axis, str]]) -> None:
        """Raises ValueError if an axis on neither side is needed to tell numbers apart."""
        cells = set()
        for place in places:
            if place["metric"] in self.brackets.values():
                continue
            cell = tuple(place[axis] for axis in (*self.down, *self.across))
            if cell in cells and (lost := set(place) - {*self.down, *self.across}):
                where = ", ".join(place.values())
                raise ValueError(
                    f"layout: two numbers in the cell of {where}; {min(lost)!r} must run down or across"
                )
            cells.add(cell)
