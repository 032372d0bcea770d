"""How the values of a paper are known: printed, recovered or assumed, as rows, algorithms' files and sources say it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fairfl.experiments.artifact import Provenance, Row
from fairfl.experiments.base import Strict
from fairfl.experiments.declaration import declaration, parameters
from fairfl.experiments.setting import SOURCE_KINDS, Setting
from fairfl.experiments.variant import Value, Variant, split_modifiers
from fairfl.experiments.workload import Workload

# How a value is known, from the surest on.
SURE = ("paper", "confirmed", "inferred", "recalled", "assumed")
_KINDS = {"public code": "paper", "not stated: chosen because": "assumed"}


@dataclass(frozen=True)
class RowProvenance:
    """Provenance of the hyper-parameters of a row, and if its algorithm is a reconstruction."""

    provenance: str
    reconstructed: bool = False
    note: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """Content of the columns `provenance` of CSV files, separated by ', '."""
        return (self.provenance, "reconstructed") if self.reconstructed else (self.provenance,)


class UsedValue(Strict):
    """A value that a hyper-parameter has in the runs of a paper's artifacts."""

    algorithm: str
    title: str
    hyperparameter: str
    value: Value | None
    provenance: Provenance
    note: str
    artifacts: list[str]

    def with_another(self, other: "UsedValue", artifact: str) -> "UsedValue":
        """The value in one more artifact, with the surer provenance of two."""
        surer = min(self, other, key=lambda used: SURE.index(used.provenance))
        artifacts = list(dict.fromkeys([*self.artifacts, artifact]))
        update = {"provenance": surer.provenance, "note": surer.note, "artifacts": artifacts}
        return self.model_copy(update=update)


def provenance_of(row: Row) -> RowProvenance:
    return RowProvenance(row.provenance, reconstructed(row.algorithm), row.note)


def reconstructed(algorithm: str) -> bool:
    """True if the algorithm's file says that it was written without the formulas: is_reconstructed = True."""
    return declaration("algorithms", algorithm).is_reconstructed


# -- settings -----------------------------------------------------------------------------------
def kind(source: str) -> str:
    """Provenance of a value, from the words that its source begins with; what stands in public code is not lost."""
    first = next(word for word in SOURCE_KINDS if source.startswith(word))
    return _KINDS.get(first, first)


def unprinted(setting: Setting) -> str:
    """'3 of the setting's 17 values are not printed in the paper: rounds (recalled); split, loss (assumed)'.

    '' where nothing of a setting was lost: what a paper just leaves open is listed on the page, with reasons.
    """
    groups: dict[str, list[str]] = {word: [] for word in SURE}
    for key, source in setting.sources.items():
        groups[kind(source)].append(key)
    groups.pop("paper")
    if not any(keys for word, keys in groups.items() if word != "assumed"):
        return ""
    count = sum(map(len, groups.values()))
    parts = [f"{', '.join(keys)} ({word})" for word, keys in groups.items() if keys]
    return f"{count} of the setting's {len(setting.sources)} values are not printed in the paper: {'; '.join(parts)}"


# -- the hyper-parameters in use ----------------------------------------------------------------
def used_values(workload: Workload, paper: str) -> list[UsedValue]:
    """Every value that a hyper-parameter has in the runs of a paper's artifacts, with the surest provenance of it.

    Hyper-parameters are what a row, a setting or the paper's defaults and grids name; a variant that leaves one
    out has the setting's, the paper's or the algorithm file's. Modifiers of algorithms are no part of it.
    """
    source = workload.papers[paper]
    runs = [
        (key, setting, row)
        for key, artifact in source.artifacts.items()
        if artifact.kind in ("table", "figure") and "tidy" in artifact.origins
        for setting in artifact.settings
        for row in artifact.variants_in(setting)
    ]
    named: dict[str, dict[str, None]] = {
        name: dict.fromkeys([*used.defaults, *used.grid])
        for name, used in source.algorithms.items()
    }
    for _, setting, row in runs:
        of_setting = workload.settings[setting].hyperparameters.get(row.algorithm, {})
        named[row.algorithm] |= dict.fromkeys(
            [*split_modifiers(row.hyperparameters)[0], *of_setting]
        )
    values_by_place: dict[tuple[str, Variant], UsedValue] = {}
    for key, setting, row in runs:
        for used in _levels(workload, paper, setting, row, named[row.algorithm]):
            name, value = used.hyperparameter, used.value
            place = row.algorithm, Variant(name, {} if value is None else {name: value})
            values_by_place[place] = values_by_place.get(place, used).with_another(used, key)
    order = list(source.algorithms)
    places = {name: list(keys) for name, keys in named.items()}
    return sorted(
        values_by_place.values(),
        key=lambda used: (
            order.index(used.algorithm),
            places[used.algorithm].index(used.hyperparameter),
            *_size(used.value),
        ),
    )


def _levels(
    workload: Workload, paper: str, setting: str, row: Row, names: Iterable[str]
) -> Iterator[UsedValue]:
    """The hyper-parameters of a row in a setting."""
    usage, place = workload.papers[paper].algorithms[row.algorithm], workload.settings[setting]
    of_setting, of_row = (
        place.hyperparameters.get(row.algorithm, {}),
        split_modifiers(row.hyperparameters)[0],
    )
    values_given = {**usage.defaults, **of_setting, **of_row}
    values = parameters(
        "algorithms",
        row.algorithm,
        values_given,
        f"papers/{paper}.yaml",
        f"{setting}: {row.algorithm}",
    )
    unsourced = "paper" if workload.papers[paper].sources == "own" else "assumed"
    for name in names:
        provenance: Any = row.provenance
        note = row.note
        if name not in of_row:
            path = f"hyperparameters.{row.algorithm}"
            paths = (f"{path}.{name}", path, "hyperparameters") if name in of_setting else ()
            notes = (place.sources[key] for key in paths if key in place.sources)
            note = next(notes, usage.sources.get(name, ""))
            provenance = kind(note) if note else unsourced
        yield UsedValue(
            algorithm=row.algorithm,
            title=usage.title,
            hyperparameter=name,
            value=values[name],
            provenance=provenance,
            note=note,
            artifacts=[],
        )


def _size(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, then words."""
    number = isinstance(value, int | float)
    return not number, float(value) if number else 0.0, str(value)
