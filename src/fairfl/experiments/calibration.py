"""Facts that a paper leaves open: the points of their grid."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairfl.experiments.origin import reference
from fairfl.experiments.reading import with_key
from fairfl.experiments.searches import Unstated, product
from fairfl.experiments.setting import Setting
from fairfl.experiments.variant import Value
from fairfl.runtime.validation import check


@dataclass(frozen=True)
class Point:
    """A point of the grid."""

    options: dict[
        str, Value | None
    ]  # fact -> value, or name of the reading; {}: the choices that the YAML names
    changes: dict[str, Any]  # key of the setting -> value
    departures: list[str]  # facts that differ from the named choice
    setting: Setting


def with_changes(setting: Setting, changes: Mapping[str, Any], *where: str) -> Setting:
    """The setting with keys changed. Raises SpecError, which begins with `where`, if the setting does not exist."""
    data = setting.model_dump(mode="json")
    for change in changes.items():
        data = with_key(data, *change)
    return check(data, Setting, *where)


def points(setting: Setting, unstated: Unstated, *where: str) -> list[Point]:
    """The named choices, then every other point of the grid. Raises SpecError if a point is not a setting.

    Points have local optima and surrogates only if a target is measured against them. Each of their seeds draws its own
    clients: how far seeds lie apart shows how sure a choice is.
    """
    without = {"local_optimum", "surrogate"} - {reference(metric) for metric in unstated.targets}
    plain = dict.fromkeys(["tuning", "unstated", "timing", "client_seed", *sorted(without)]) | {
        "keep": "nothing"
    }
    named = with_changes(setting, plain | {"seeds": unstated.seeds or setting.seeds}, *where)

    def differs(changes: Mapping[str, Any]) -> bool:
        return with_changes(named, changes, *where).training() != named.training()

    grid = {fact: described.options(fact) for fact, described in unstated.facts.items()}
    departs = {
        (fact, option) for fact in grid for option, changes in grid[fact] if differs(changes)
    }
    grid_points = [Point({}, {}, [], named)]
    for point in product(grid):
        options = {fact: option for fact, (option, _) in point.items()}
        if departures := [fact for fact in options if (fact, options[fact]) in departs]:
            changes = {key: value for _, keys in point.values() for key, value in keys.items()}
            grid_points.append(
                Point(options, changes, departures, with_changes(named, changes, *where))
            )
    return grid_points
