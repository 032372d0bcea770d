"""Metrics and algorithms as a paper describes them: names, units, defaults and where each value comes from."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from fairfl.experiments.base import Strict
from fairfl.experiments.setting import check_kinds
from fairfl.experiments.variant import Value


class Metric(Strict):
    """Name, unit and print of a metric."""

    name: str = Field(description="column title, LaTeX allowed")
    meaning: str = Field(description="formula or definition in one line")
    unit: str
    other_units: list[str] = Field(
        default_factory=list,
        description="units that it has in other settings, such as the loss of a regression",
    )
    direction: Literal["up", "down"] | None = None
    digits: int = Field(
        3,
        ge=0,
        le=9,
        description="digits after the point in the paper's tables; significant, if seconds or no unit",
    )

    def shown_in(self, unit: str) -> str:
        """The unit in which a number that was measured in `unit` is printed."""
        return unit if unit in self.other_units else self.unit


class DescribedAlgorithm(Strict):
    """Use of an algorithm in a paper: title, fixed parameters, and where each value comes from."""

    title: str
    defaults: dict[str, Value] = Field(default_factory=dict)
    grid: dict[str, list[Value]] = Field(
        default_factory=dict, description="the paper's search grid"
    )
    sources: Annotated[dict[str, str], AfterValidator(check_kinds)] = Field(default_factory=dict)
