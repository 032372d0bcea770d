"""Words below and beside tables and figures: what they were made from, units, seeds, sources, remarks."""

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from fairfl.experiments.base import Strict
from fairfl.experiments.origin import configured, origins
from fairfl.experiments.workload import Workload
from fairfl.judgement.changes import changed_by_scale, summary
from fairfl.judgement.sources import unprinted
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
    return f"Unit{'s'[len(parts) < 2 :]}: {', '.join(parts)}." if parts else ""


def plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def seeds_text(seeds: Iterable[float]) -> str:
    """'3 seeds', or '2 to 3 seeds' where they differ; numbers that are not known (NaN) do not count."""
    counts = {int(number) for number in seeds if number == number}
    return (
        plural(max(counts), "seed") if len(counts) == 1 else f"{min(counts)} to {max(counts)} seeds"
    )


CODE = "; stored with the code of "  # as fairfl.judgement.collection says it


def condensed(sources: Iterable[str]) -> list[str]:
    """Sources, as one where they differ only in the seed of drawn data, or in the code of stored runs."""
    groups: dict[str, tuple[set[int], dict[str, None]]] = {}
    for source in filter(None, sources):
        text, _, code = source.partition(CODE)
        base, *seed = re.split(r", seed (\d+)$", text)  # as data that are drawn say it
        seeds, codes = groups.setdefault(base, (set(), {}))
        seeds |= set(map(int, seed[:1]))
        codes[code] = None
    texts = []
    for base, (seeds, codes) in groups.items():
        # Three codes; of more two, as records of many days have more of them than there is table.
        stored = textwrap.shorten(" and ".join(filter(None, codes)), 46, placeholder=" others")
        how = CODE.replace("; ", "; in part ") if "" in codes else CODE
        texts.append(base + _spelled(sorted(seeds)) + (how + stored if stored else ""))
    return texts


def _spelled(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f", seeds {seeds[0]} to {seeds[-1]}"
    return f", seed{'s'[len(seeds) < 2 :]} {', '.join(map(str, seeds))}" if seeds else ""


@dataclass
class Footer:
    """Sentences of a note, and their subjects."""

    entries: dict[str, list[str]] = field(default_factory=dict, kw_only=True)

    def say(self, sentence: str) -> None:
        """Add a sentence to the remarks, once."""
        self.entries.setdefault(sentence, [])

    def remark(self, what: str, names: Iterable[str]) -> None:
        """Add 'what: a, b.' to the remarks if there are names, each once."""
        if new := [name for name in names if name not in self.entries.get(what, ())]:
            self.entries.setdefault(what, []).extend(new)

    @property
    def remarks(self) -> list[str]:
        """Sentences."""
        return [
            f"{what}: {('; ' if ',' in ''.join(names) else ', ').join(names)}." if names else what
            for what, names in self.entries.items()
        ]

    def say_bars(self, seeds: Iterable[float]) -> None:
        """Say what error bars are."""
        self.say(f"Bars: ± one standard deviation over {seeds_text(seeds)}.")


# -- what an artifact was made from --------------------------------------------------------------
# Keys of a setting that matter to numbers of these origins only.
_ALSO = {"tuned": "tuning", "timed": "timing"}

# How papers write the data sets that have stand-ins; others are called by their ids.
_DATA = {
    "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "cinic10": "CINIC-10", "dirty_mnist": "DirtyMNIST",
    "emnist": "EMNIST", "fashion_mnist": "Fashion-MNIST", "femnist": "FEMNIST", "mnist": "MNIST", "reddit": "Reddit",
    "stackoverflow": "StackOverflow", "tiny_imagenet": "Tiny-ImageNet", "yelp_imdb": "Yelp and IMDb",
}  # fmt: skip


def data_name(label: str) -> str:
    """'digits (stand-in for EMNIST)' from the label 'digits (stand-in for emnist)' of data."""
    return re.sub(
        r"\w+(?=$| \(stand-in)|(?<=stand-in for )\w+",
        lambda m: _DATA.get(m[0], m[0].replace("_", " ")),
        label,
    )


class SettingFacts(Strict):
    """Facts that an artifact states about a setting."""

    data: str  # label of the data set: 'digits (stand-in for emnist)'
    rounds: int
    seeds: int  # number of seeds
    changed: list[str]  # what the scale changed: 'rounds: 100 -> 10'
    tuned: Literal["rates", "all"] | None = None  # what runs take from the tuning here
    calibrated: str | None = None  # facts that calibration chose: 'd = 100'; None: none searched
    # What the setting says about itself, by metric id; None: without limit.
    configured: dict[str, float | None] = {}
    unprinted: str = ""  # which of its values the paper does not print
    levels: dict[str, str] = {}  # factor -> its level here

    @property
    def stand_in(self) -> str:
        """'digits for EMNIST'; '' if the data are the paper's."""
        match = re.fullmatch(r"(.*) \(stand-in for (.*)\)", data_name(self.data))
        return f"{match[1]} for {match[2]}" if match else ""

    @property
    def changes(self) -> str:
        """'rounds: 100 -> 10; seeds: 3 -> 1', '' if nothing differs from the paper's."""
        return "; ".join(summary(self.changed))


class Facts(Strict):
    """Facts that the numbers of an artifact were made from."""

    scale: str
    telling: str = ""  # mark in the title line of an artifact that is uninformative at this scale
    settings: dict[str, SettingFacts]

    @property
    def stand_in(self) -> str:
        """Each once: 'digits for EMNIST, digits for MNIST'; '' if all data are the paper's."""
        return ", ".join(
            dict.fromkeys(filter(None, (setting.stand_in for setting in self.settings.values())))
        )

    def sentences(
        self,
        names: dict[str, str],
        columns: Iterable[str],
        drawn: Callable[[str], str] | None = None,
        runs: bool = True,
    ) -> list[str]:
        """Scale, data, rounds, seeds; changes, or of a figure stand-ins. `names` of settings, metric ids `columns`.

        `drawn`: in a figure, the seeds of a setting that are shown, '' if as many as the scale has. Without `runs`
        there are no rounds, and of data and partition the first seed's are shown.
        """
        is_timed = origins(columns) == ("timed",)  # not along a whole run

        def describe(key: str, setting: SettingFacts) -> Iterator[tuple[str, str]]:
            name, data = names.get(key, key), data_name(setting.data)
            text = f"Data: {data if drawn else data.partition(' (stand-in')[0]}"
            if runs and not is_timed:
                seeds = (drawn and drawn(key)) or plural(setting.seeds, "seed")
                text += f"; {plural(setting.rounds, 'round')}; {seeds}"
            elif setting.seeds > 1 and not is_timed:
                text += "; first seed"
            yield name, text
            too = " and hyper-parameters" if setting.tuned == "all" else ""
            tuned = f"Learning rates, batch sizes{too}: what tuning chose here"
            yield name, tuned if setting.tuned else ""
            fitted = "Unstated facts were fitted to FedAvg's row, no other row was looked at"
            yield name, f"{fitted}: {setting.calibrated}" if setting.calibrated else ""
            is_shown = setting.changed and not drawn
            yield name, f"Changed by the scale: {setting.changes}" if is_shown else ""

        first = [f"Scale: {self.scale}."]
        if drawn and self.stand_in:
            first.append(f"Made from a stand-in: {self.stand_in}.")
        facts = zip(*(describe(*one) for one in self.settings.items()), strict=True)
        return first + [sentence for each in facts for sentence in grouped(each)]


def facts_of(workload: Workload, name: str) -> Facts:
    """The facts of a known artifact."""
    _, _, artifact = workload.known[name]
    also = [_ALSO[kind] for kind in artifact.origins if kind in _ALSO]
    settings = {}
    for setting in artifact.settings:
        here, tuning = workload.settings[setting], workload.settings[setting].tuning
        values = configured(here.training()) if "setting" in artifact.origins else {}
        settings[setting] = SettingFacts(
            data=here.data.label,
            rounds=here.rounds,
            seeds=len(here.seeds),
            changed=changed_by_scale(workload, setting, *also),
            tuned=tuning.applies
            if tuning and tuning.tries and (workload.config.tuned or tuning.always)
            else None,
            calibrated=here.unstated.fitted if here.unstated else None,
            configured={
                metric: value if math.isfinite(value) else None for metric, value in values.items()
            },
            unprinted=unprinted(workload.papers[workload.paper_of[setting]].settings[setting]),
            levels=here.levels,
        )
    scale = workload.scale
    reason = scale.uninformative.get(name)
    return Facts(
        scale=scale.scale,
        telling=f"[{scale.scale}: uninformative {reason}]" if reason else "",
        settings=settings,
    )
