"""What may be searched for in a setting: hyper-parameters by tuning, facts that the paper leaves open by calibration.

`Tuning` chooses an algorithm's hyper-parameters on held-out data. `Unstated` asks what a fact that the paper does not
state must have been for FedAvg to come out as it is reported. No other row is looked at, so that the agreement of the
others under the chosen facts is evidence.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from fairfl.experiments.base import DISTINCT, Strict
from fairfl.experiments.declaration import declaration
from fairfl.experiments.parts import Count, Seed
from fairfl.experiments.variant import Value, check_folder, format_value
from fairfl.runtime import plain_data
from fairfl.runtime.validation import nearest

MOST_POINTS = 10_000
"""Points of a grid."""


Seeds = Annotated[list[Seed], Field(min_length=1), DISTINCT]


def known_hyperparameters(
    value: dict[str, dict[str, Any]], kind: str = "algorithms"
) -> dict[str, dict[str, Any]]:
    """algorithm -> hyper-parameter -> anything. Raises ValueError with the nearest name for one that does not exist."""
    for plugin, keys in value.items():
        fields = declaration(kind, plugin).Config.model_fields
        names = [field.alias or name for name, field in fields.items()]
        for key in keys:
            if key not in names:
                raise ValueError(f"{plugin}: unknown hyper-parameter {key!r}{nearest(key, names)}")
    return value


Levels = Annotated[list[Value], Field(min_length=1)]
Rates = Annotated[list[float | int | None], Field(min_length=1)]


def _check_grid(*axes: Mapping[Any, list]) -> None:
    """Raises ValueError if there are too many points, or two whose results would lie in the same folder."""
    _check_points(len(values) for axis in axes for values in axis.values())
    for axis in axes:
        for key, values in axis.items():
            try:
                plain_data.different(format_value(value) for value in values)
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None


def _check_points(levels: Iterable[int]) -> None:
    if (points := math.prod(levels)) > MOST_POINTS:
        raise ValueError(f"a grid of {points} points, expected {MOST_POINTS} at most")


def product(axes: Mapping[Any, list]) -> list[dict[str, Any]]:
    """Every point of a grid: {a: [1, 2], b: [3]} -> {a: 1, b: 3}, {a: 2, b: 3}."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


class Tuning(Strict):
    """Grid search of learning rate, batch size and hyper-parameters, per algorithm, on validation data only."""

    grid: dict[Literal["learning_rate", "batch_size"], Rates] = Field(
        min_length=1, description="setting key -> values"
    )
    algorithms: Annotated[dict[str, dict[str, Levels]], AfterValidator(known_hyperparameters)] = (
        Field(
            min_length=1,
            description="algorithm -> hyper-parameter -> values; {} tunes only what `grid` names",
        )
    )
    metric: str = Field(
        "accuracy_mean", description="what is selected by, over the clients' validation parts"
    )
    direction: Literal["up", "down"] = "up"
    seeds: Seeds = Field([0], description="selected by the mean over these")
    hold_out: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="share of the training part to validate on, where the split has no validation part",
    )
    rounds: Count | None = Field(None, description="null: as many as the setting's runs")
    applies: Literal["rates", "all"] = Field(
        "all",
        description="tuned runs take learning_rate and batch_size only, or hyper-parameters too",
    )
    always: bool = Field(
        False, description="the setting's runs are tuned even without `tuned: true` in config.yaml"
    )
    trials_of: str | None = Field(
        None,
        description="setting whose trials are scored, where only `metric` and `direction` differ; null: its own",
    )

    @model_validator(mode="after")
    def _check_counts(self) -> "Tuning":
        for axes in self.algorithms.values():
            _check_grid(self.grid, axes)
        return self

    @property
    def tries(self) -> bool:
        """False if each algorithm has one point, which it takes untried."""
        levels = [values for axes in self.algorithms.values() for values in axes.values()]
        return max(map(len, self.grid.values())) > 1 or max(map(len, levels), default=1) > 1


class Reading(Strict):
    """One way to read what the paper does not say."""

    set: dict[str, Any] = Field(
        min_length=1, description="keys of the setting -> values; 'a.b' reaches inside"
    )
    why: str = Field(min_length=1, description="what speaks for it, in the text or elsewhere")


class Fact(Strict):
    """A fact that the paper leaves open: values of one key of the setting, or named readings of several."""

    why: str = Field(
        min_length=1, description="that the paper does not state it, and why these values"
    )
    key: str | None = Field(None, description="of the setting; null: as the fact is called")
    values: list[Value | None] = Field(default_factory=list)
    readings: dict[str, Reading] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_one_of(self) -> "Fact":
        if bool(self.values) == bool(self.readings):
            raise ValueError("expected `values` of one key, or `readings`, and not both")
        if self.readings and self.key:
            raise ValueError(f"key: {self.key!r}: readings name their keys themselves")
        plain_data.different(format_value(value) for value in self.values)
        return self

    def options(self, name: str) -> list[tuple[Value | None, dict[str, Any]]]:
        """(value or name of the reading, keys of the setting -> values) of each option."""
        if self.readings:
            return [(reading, option.set) for reading, option in self.readings.items()]
        return [(value, {self.key or name: value}) for value in self.values]


class Unstated(Strict):
    """Facts that are searched, and FedAvg's numbers that they are searched by."""

    facts: dict[str, Fact] = Field(min_length=1, description="the grid is their product")
    algorithm: Literal["fedavg"] = Field(
        "fedavg", description="never another row, never the paper's own method"
    )
    targets: dict[str, Annotated[float, Field(gt=0)]] = Field(
        min_length=1,
        description="metrics of FedAvg's row in papers/reported -> the miss that counts 1, in the unit printed there",
    )
    fitted: str | None = Field(
        None,
        description="what the setting has from such a search: the targets are then not checked; null: nothing",
    )
    seeds: Seeds | None = Field(None, description="of each point; null: the setting's")

    @field_validator("facts")
    @classmethod
    def _check_folder(cls, facts: dict[str, Fact]) -> dict[str, Fact]:
        _check_points(len(fact.options(name)) for name, fact in facts.items())
        longest: dict[str, Value] = {
            name: max((format_value(value) for value, _ in fact.options(name)), key=len)
            for name, fact in facts.items()
        }
        check_folder(longest)
        return facts
