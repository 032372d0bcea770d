"""What a scale changed in a setting, in sentences such as 'rounds: 100 -> 10'."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairfl.values.differences import differences

if TYPE_CHECKING:  # jobs read what changed from their spec
    from fairfl.experiments.setting import Setting
    from fairfl.experiments.workload import Workload

# Changes that leave the experiment what it is: other seeds are other draws of it, `keep` stores more files.
_HARMLESS = {"seeds", "keep"}


def changed_by_scale(workload: "Workload", setting: str, *also: str) -> list[str]:
    """Values that the scale replaced in a setting, in words; empty at full scale.

    `also` names keys that no training depends on: tuning, timing.
    """
    paper = workload.papers[workload.paper_of[setting]].settings.get(setting)
    if paper is None:  # a calibration point
        return []
    old = paper.training() | {"seeds": paper.seeds}
    new = workload.settings[setting].training() | {"seeds": workload.settings[setting].seeds}
    old["data"].pop("stands_in_for"), new["data"].pop("stands_in_for")
    for spec, values in ((paper, old), (workload.settings[setting], new)):
        values |= spec.model_dump(mode="json", include=set(also))
    return list(differences(old, new))


def original(workload: "Workload", name: str) -> "Setting":
    """The setting as its paper file states it; a calibration point has no other one."""
    return workload.papers[workload.paper_of[name]].settings.get(name, workload.settings[name])


def changed_keys(changes: Iterable[str]) -> set[str]:
    """Keys of a setting whose change makes it another experiment: {'rounds'}."""
    return {change.partition(":")[0].partition(".")[0] for change in changes} - _HARMLESS


def summary(changes: Iterable[str]) -> list[str]:
    """Plain keys with old and new value, and only the names of keys that have keys themselves (data, model)."""
    return list(
        dict.fromkeys(
            change if "." not in change.partition(":")[0] else change.partition(".")[0]
            for change in changes
        )
    )
