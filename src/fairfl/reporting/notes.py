"""The sentence under a table or figure: what the numbers were made from."""

import re
from collections.abc import Callable, Iterable

from fairfl.judgement.changes import summary
from fairfl.judgement.units import in_words
from fairfl.metrics.origin import origins
from fairfl.reporting.artifact import ArtifactSpec

# How papers write the data sets that have stand-ins; others are called by their ids.
_DATA = {
    "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "cinic10": "CINIC-10", "dirty_mnist": "DirtyMNIST",
    "emnist": "EMNIST", "fashion_mnist": "Fashion-MNIST", "femnist": "FEMNIST", "mnist": "MNIST", "reddit": "Reddit",
    "stackoverflow": "StackOverflow", "tiny_imagenet": "Tiny-ImageNet", "yelp_imdb": "Yelp and IMDb",
}  # fmt: skip


def data_name(label: str) -> str:
    """'digits (stand-in for EMNIST)' from the label 'digits (stand-in for emnist)' of data."""
    return re.sub(
        r"\w+(?=$| \(stand-in)|(?<=stand-in for )\w+", lambda m: _DATA.get(m[0], m[0].replace("_", " ")), label
    )


def stand_in(label: str) -> str:
    """'digits for EMNIST' from the label 'digits (stand-in for emnist)'; '' if the data are the paper's."""
    match = re.fullmatch(r"(.*) \(stand-in for (.*)\)", data_name(label))
    return f"{match[1]} for {match[2]}" if match else ""


def stand_ins(data: Iterable[str]) -> str:
    """Those of the labels of several settings, each once: 'digits for EMNIST, digits for MNIST'."""
    return ", ".join(dict.fromkeys(filter(None, map(stand_in, data))))


def note(
    spec: ArtifactSpec,
    names: dict[str, str],
    changes: bool = True,
    replaced: bool = True,
    drawn: Callable[[str], str] = lambda setting: "",
    runs: bool = True,
) -> list[str]:
    """What an artifact was made from, in sentences: scale, data, rounds, seeds, changes; stand-ins if `replaced`.

    `drawn`: the seeds of a setting that are shown, '' if those that the scale has. Without `runs` there are no rounds,
    and of data and partition the first seed's are shown.
    """
    facts: dict[str, list[tuple[str, str]]] = {"data": [], "tuned": [], "calibrated": [], "changed": []}
    timed = origins(spec.artifact.columns) == ("timed",)  # not along a whole run
    for key, setting in spec.settings.items():
        length = f"; {plural(setting.rounds, 'round')}; {drawn(key) or plural(setting.seeds, 'seed')}"
        length = length if runs else "; first seed" * (setting.seeds > 1)
        data = data_name(setting.data)
        too = " and hyper-parameters" if setting.tuned == "all" else ""
        fitted = f"Unstated facts were fitted to FedAvg's row, no other row was looked at: {setting.calibrated}"
        changed = f"Changed by the scale: {'; '.join(summary(setting.changed))}"
        texts = {
            "data": f"Data: {data if replaced else data.partition(' (stand-in')[0]}" + ("" if timed else length),
            "tuned": f"Learning rates, batch sizes{too}: what tuning chose here" * bool(setting.tuned),
            "calibrated": fitted * bool(setting.calibrated),
            "changed": changed * bool(changes and setting.changed),
        }
        for kind, text in texts.items():
            facts[kind].append((names.get(key, key), text))
    sentences = [f"Scale: {spec.scale}."]
    if replaced and (instead := stand_ins(setting.data for setting in spec.settings.values())):
        sentences.append(f"Made from a stand-in: {instead}.")
    return sentences + [sentence for each in facts.values() for sentence in grouped(each)]


def grouped(facts: Iterable[tuple[str, str]], everyone: int = 0) -> list[str]:
    """'toy, mnist: Data: digits.' from (whose, text) pairs: each text once, with whose it is unless all share one.

    All are `everyone`, or as many as there are in `facts`.
    """
    groups: dict[str, list[str]] = {}
    for name, text in facts:
        groups.setdefault(text, []).append(name)
    alone = len(groups) == 1 and len(next(iter(groups.values()))) >= everyone
    return [f"{text}." if alone else f"{', '.join(members)}: {text}." for text, members in groups.items() if text]


def units(measured: Iterable[tuple[str, str]]) -> str:
    """'Unit: percent.', or 'Units: percent (Ave., Worst 5%), percent² (Var.).' from (name, unit); none of counts."""
    named: dict[str, list[str]] = {}
    for name, unit in dict.fromkeys(measured):
        named.setdefault(in_words(unit), []).append(name)
    if len(named) == 1:
        return f"Unit: {unit}." if (unit := next(iter(named))) else ""
    parts = [f"{unit} ({', '.join(whose)})" for unit, whose in named.items() if unit]
    return f"Unit{'s' * (len(parts) > 1)}: {', '.join(parts)}." if parts else ""


def plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def seeds_text(seeds: Iterable[float]) -> str:
    """'3 seeds', or '2 to 3 seeds' where they differ; numbers that are not known (NaN) do not count."""
    counts = {int(number) for number in seeds if number == number}
    return plural(max(counts), "seed") if len(counts) == 1 else f"{min(counts)} to {max(counts)} seeds"


CODE = "; recorded with the code of "  # as fairfl.judgement.collection says it
_SEED = ", seed "  # as data that are drawn say it


def condensed(sources: Iterable[str]) -> list[str]:
    """Those as one that differ only in the seed that data are drawn with, or in the code of recorded runs."""
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
    return f", seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}" if seeds else ""
