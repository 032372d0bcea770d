"""What an artifact was made from, once for all that print it: table notes, footers of figures, the page, tables beside
the paper's.
"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Literal

from pydantic import Field

from fairfl.experiments.base import Strict
from fairfl.experiments.workload import Workload
from fairfl.judgement.changes import changed_by_scale, summary
from fairfl.judgement.sources import unprinted
from fairfl.metrics.configuration import configured
from fairfl.metrics.origin import origins
from fairfl.reporting.notes import grouped, plural

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
    """What an artifact says about a setting."""

    data: str = Field(description="label of the data set: 'digits (stand-in for emnist)'")
    rounds: int = Field(gt=0)
    seeds: int = Field(gt=0, description="number of seeds")
    changed: list[str] = Field(description="what the scale changed: 'rounds: 100 -> 10'")
    tuned: Literal["rates", "all"] | None = Field(
        None, description="what runs take from the tuning here"
    )
    calibrated: str | None = Field(
        None, description="the facts that calibration chose: 'd = 100'; null: none searched"
    )
    configured: dict[str, float | None] = Field(
        default_factory=dict,
        description="what the setting says about itself, by metric id; null: without limit",
    )
    unprinted: str = Field("", description="which of its values the paper does not print")
    levels: dict[str, str] = Field(default_factory=dict, description="factor -> its level here")

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
    """What the numbers of an artifact were made from."""

    scale: str
    telling: str = Field(
        "", description="mark in the title line of an artifact that is uninformative at this scale"
    )
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

        `drawn`: in a figure, the seeds of a setting that are shown, '' if those that the scale has. Without `runs`
        there are no rounds, and of data and partition the first seed's are shown.
        """
        kinds = ("data", "tuned", "calibrated", "changed")
        facts: dict[str, list[tuple[str, str]]] = {kind: [] for kind in kinds}
        timed = origins(columns) == ("timed",)  # not along a whole run
        for key, setting in self.settings.items():
            length = f"; {plural(setting.rounds, 'round')}; {(drawn and drawn(key)) or plural(setting.seeds, 'seed')}"
            length = length if runs else "; first seed" * (setting.seeds > 1)
            data = data_name(setting.data)
            too = " and hyper-parameters" if setting.tuned == "all" else ""
            fitted = f"Unstated facts were fitted to FedAvg's row, no other row was looked at: {setting.calibrated}"
            texts = {
                "data": f"Data: {data if drawn else data.partition(' (stand-in')[0]}"
                + ("" if timed else length),
                "tuned": f"Learning rates, batch sizes{too}: what tuning chose here"
                * bool(setting.tuned),
                "calibrated": fitted * bool(setting.calibrated),
                "changed": f"Changed by the scale: {setting.changes}"
                * bool(setting.changed and not drawn),
            }
            for kind, text in texts.items():
                facts[kind].append((names.get(key, key), text))
        first = [f"Scale: {self.scale}."]
        first += [f"Made from a stand-in: {self.stand_in}."] * bool(drawn and self.stand_in)
        return first + [sentence for each in facts.values() for sentence in grouped(each)]


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
