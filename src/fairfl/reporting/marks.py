"""Marks of what does not stand in a paper: hyper-parameters recovered or assumed, reconstructed algorithms."""

from collections.abc import Iterable

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


def marks(words: Iterable[str]) -> str:
    """'ᵃ*' for assumed hyper-parameters of a reconstructed algorithm, '' for what stands in the paper."""
    known = set(words)
    return "".join(mark for word, mark in MARKS.items() if word in known)


def legend(words: Iterable[str], what: str = "hyper-parameters") -> list[str]:
    """A sentence for each mark in use; `what` was lost or assumed."""
    known = set(words)
    return [
        f"{mark} {_MEANINGS[word].format(what=what)}."
        for word, mark in MARKS.items()
        if word in known
    ]


USED_HEADER = ("Algorithm", "Hyper-parameters")


def printed_values(values: Iterable[UsedValue], printed: list[str]) -> list[UsedValue]:
    """Hyper-parameters that the paper's table has, 'qffl.q' and so on, in its order; []: all."""
    places = {name: number for number, name in enumerate(printed)}
    named = [(f"{used.algorithm}.{used.hyperparameter}", used) for used in values]
    kept = [(name, used) for name, used in named if name in places or not places]
    return [used for name, used in sorted(kept, key=lambda pair: places.get(pair[0], 0))]


def used_lines(values: Iterable[UsedValue]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(title of the algorithm, [(hyper-parameter, its values with marks)]), one for each algorithm."""
    lines: dict[str, tuple[str, dict[str, list[str]]]] = {}
    for used in values:
        value = used.value
        shown = str(value).lower() if value is None or isinstance(value, bool) else str(value)
        line = lines.setdefault(used.algorithm, (used.title, {}))
        line[1].setdefault(used.hyperparameter, []).append(shown + marks([used.provenance]))
    return [
        (title, [(key, ", ".join(shown)) for key, shown in keys.items()])
        for title, keys in lines.values()
    ]
