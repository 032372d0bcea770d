"""The sentence under a table or figure: what the numbers were made from."""

import re
from collections.abc import Iterable

from fairfl.metrics.origin import origins
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.reporting.changes import summary


def stand_ins(spec: ArtifactSpec) -> str:
    """'digits for emnist' for every replaced data set of the artifact, '' if there is none."""
    pairs = []
    for setting in spec.settings.values():
        match = re.fullmatch(r"(.*) \(stand-in for (.*)\)", setting.data)
        if match and (pair := f"{match[1]} for {match[2]}") not in pairs:
            pairs.append(pair)
    return ", ".join(pairs)


def note(spec: ArtifactSpec, names: dict[str, str], changes: bool = True) -> str:
    """What an artifact was made from, in sentences: scale, data, rounds, seeds, stand-ins, changes."""
    facts: list[tuple[str, str]] = []
    timed = origins(spec.artifact.columns) == ("timed",)  # not along a whole run
    for key, setting in spec.settings.items():
        length = f"; {plural(setting.rounds, 'round')}; {plural(setting.seeds, 'seed')}"
        text = f"Data: {setting.data}" + ("" if timed else length)
        if setting.tuned:
            too = " and hyper-parameters" if setting.tuned == "all" else ""
            text += f". Learning rates, batch sizes{too}: what tuning chose here"
        if changes and setting.changed:
            text += f". Changed by the scale: {'; '.join(summary(setting.changed))}"
        facts.append((names.get(key, key), text))
    sentences = [f"Scale: {spec.scale}."]
    if replaced := stand_ins(spec):
        sentences.append(f"Made from a stand-in: {replaced}.")
    return " ".join(sentences + grouped(facts))


def grouped(facts: Iterable[tuple[str, str]]) -> list[str]:
    """'toy, mnist: Data: digits.' from (whose, text) pairs: each text once, with whose it is unless all share one."""
    groups: dict[str, list[str]] = {}
    for name, text in facts:
        groups.setdefault(text, []).append(name)
    alone = len(groups) == 1
    return [f"{text}." if alone else f"{', '.join(members)}: {text}." for text, members in groups.items() if text]


def plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
