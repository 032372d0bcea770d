"""Marks of what does not stand in a paper: hyper-parameters recovered or assumed, reconstructed algorithms."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairfl.experiments.artifact import SelectedArtifact
from fairfl.judgement.sources import UsedValue

# Word -> superscript beside the name of a row, or beside a value. What stands in the paper has none.
MARKS = {"confirmed": "ᶜ", "inferred": "ⁱ", "recalled": "ʳ", "assumed": "ᵃ", "reconstructed": "*"}
_MEANINGS = {
    "confirmed": "{what} lost in the paper, confirmed by equal numbers elsewhere",
    "inferred": "{what} lost in the paper, inferred from printed numbers",
    "recalled": "{what} lost in the paper, recalled from an earlier version, not checked",
    "assumed": "{what} not known, assumed",
    "reconstructed": "algorithm reconstructed: its formulas could not be read",
}


Words = str | list[tuple[str, str]]  # text, or hyper-parameters with their values


class WordTable(NamedTuple):
    """A table without numbers."""

    header: list[str]
    rows: Sequence[Sequence[Words]]
    legend: list[str]


def marks(words: Iterable[str]) -> str:
    """'ᵃ*' for assumed hyper-parameters of a reconstructed algorithm, '' for what stands in the paper."""
    present = set(words)
    return "".join(mark for word, mark in MARKS.items() if word in present)


def legend(words: Iterable[str], what: str = "hyper-parameters") -> list[str]:
    """A sentence for each mark in use; `what` was lost or assumed."""
    present = set(words)
    return [
        f"{mark} {_MEANINGS[word].format(what=what)}."
        for word, mark in MARKS.items()
        if word in present
    ]


def words_of(artifact: SelectedArtifact, used: Iterable[UsedValue]) -> WordTable:
    """Words of a static table: of the paper's file, or values in use of the hyper-parameters that it prints."""
    if artifact.content != "used":
        return WordTable(artifact.header, artifact.content, [])
    places = {name: place for place, name in enumerate(artifact.options.get("printed", []))}
    named = [(f"{one.algorithm}.{one.hyperparameter}", one) for one in used]
    printed = [(name, one) for name, one in named if name in places or not places]
    values = [one for _, one in sorted(printed, key=lambda pair: places.get(pair[0], 0))]
    texts: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in values:
        text = str(one.value)
        text = text.lower() if one.value is None or isinstance(one.value, bool) else text
        of_algorithm = texts.setdefault((one.algorithm, one.title), {})
        of_algorithm.setdefault(one.hyperparameter, []).append(text + marks([one.provenance]))
    rows: list[list[Words]] = [
        [title, [(key, ", ".join(values_of)) for key, values_of in keys.items()]]
        for (_, title), keys in texts.items()
    ]
    return WordTable(
        ["Algorithm", "Hyper-parameters"], rows, legend((one.provenance for one in values), "value")
    )
