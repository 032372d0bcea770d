"""Words of the sentences under a table or figure: plurals, units, sources, facts that several settings share."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fairfl.judgement.units import unit_words


def grouped(facts: Iterable[tuple[str, str]], everyone: int = 0) -> list[str]:
    """'toy, mnist: Data: digits.' from (whose, text) pairs: each text once, with whose it is unless all share one.

    All are `everyone`, or as many as there are in `facts`.
    """
    groups: dict[str, list[str]] = {}
    for name, text in facts:
        groups.setdefault(text, []).append(name)
    alone = len(groups) == 1 and len(next(iter(groups.values()))) >= everyone
    return [
        f"{text}." if alone else f"{', '.join(members)}: {text}."
        for text, members in groups.items()
        if text
    ]


def units(measured: Iterable[tuple[str, str]]) -> str:
    """'Unit: percent.', or 'Units: percent (Ave., Worst 5%), percent² (Var.).' from (name, unit); none of counts."""
    named: dict[str, list[str]] = {}
    for name, unit in dict.fromkeys(measured):
        named.setdefault(unit_words(unit), []).append(name)
    if len(named) == 1:
        return f"Unit: {unit}." if (unit := next(iter(named))) else ""
    parts = [f"{unit} ({', '.join(whose)})" for unit, whose in named.items() if unit]
    return f"{'Units' if len(parts) > 1 else 'Unit'}: {', '.join(parts)}." if parts else ""


def plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def seeds_text(seeds: Iterable[float]) -> str:
    """'3 seeds', or '2 to 3 seeds' where they differ; numbers that are not known (NaN) do not count."""
    counts = {int(number) for number in seeds if number == number}
    return (
        plural(max(counts), "seed") if len(counts) == 1 else f"{min(counts)} to {max(counts)} seeds"
    )


CODE = "; stored with the code of "  # as fairfl.judgement.collection says it
_SEED = ", seed "  # as data that are drawn say it


def condensed(sources: Iterable[str]) -> list[str]:
    """Sources, as one where they differ only in the seed that data are drawn with, or in the code of recorded runs."""
    groups: dict[str, tuple[set[int], dict[str, None]]] = {}
    for source in filter(None, sources):
        text, _, code = source.partition(CODE)
        base, _, seed = text.rpartition(_SEED)
        drawn = bool(base) and seed.isdecimal()
        seeds, codes = groups.setdefault(base if drawn else text, (set(), {}))
        seeds |= {int(seed)} if drawn else set()
        codes[code] = None
    return [
        base + _spelled(sorted(seeds)) + (CODE.replace("; ", "; in part ") if "" in codes else CODE) * any(codes)
        + " and ".join(filter(None, codes))
        for base, (seeds, codes) in groups.items()
    ]  # fmt: skip


def _spelled(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f", seeds {seeds[0]} to {seeds[-1]}"
    word = "seeds" if len(seeds) > 1 else "seed"
    return f", {word} {', '.join(map(str, seeds))}" if seeds else ""


@dataclass
class Remarks:
    """Sentences of a note: what is said, and of whom."""

    said: dict[str, list[str]] = field(default_factory=dict, kw_only=True)

    def say(self, sentence: str) -> None:
        """Add a sentence to the remarks, once."""
        self.said.setdefault(sentence, [])

    def remark(self, what: str, names: Iterable[str]) -> None:
        """Add 'what: a, b.' to the remarks if there are names, each once."""
        if new := [name for name in names if name not in self.said.get(what, ())]:
            self.said.setdefault(what, []).extend(new)

    @property
    def remarks(self) -> list[str]:
        """Sentences."""
        return [
            f"{what}: {('; ' if ',' in ''.join(names) else ', ').join(names)}." if names else what
            for what, names in self.said.items()
        ]

    def say_bars(self, seeds: Iterable[float]) -> None:
        """Say what error bars are."""
        self.say(f"Bars: ± one standard deviation over {seeds_text(seeds)}.")
