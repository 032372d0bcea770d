"""The sentence under a table or figure: what the numbers were made from."""

import re

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
    groups: dict[str, list[str]] = {}
    timed = origins(spec.artifact.columns) == ("timed",)  # not along a whole run
    for key, setting in spec.settings.items():
        length = f"; {plural(setting.rounds, 'round')}; {plural(setting.seeds, 'seed')}"
        facts = f"Data: {setting.data}" + ("" if timed else length)
        if setting.tuned:
            too = " and hyper-parameters" if setting.tuned == "all" else ""
            facts += f". Learning rates, batch sizes{too}: what tuning chose here"
        if changes and setting.changed:
            facts += f". Changed by the scale: {'; '.join(summary(setting.changed))}"
        groups.setdefault(facts, []).append(names.get(key, key))
    sentences = [f"Scale: {spec.scale}."]
    if replaced := stand_ins(spec):
        sentences.append(f"Made from a stand-in: {replaced}.")
    for facts, members in groups.items():
        sentences.append(f"{facts}." if len(groups) == 1 else f"{', '.join(members)}: {facts}.")
    return " ".join(sentences)


def plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
