"""The spec of an artifact: all that a table or figure is made from, and the files that hold its numbers."""

import math
from typing import Literal

from pydantic import Field

from fairfl.experiments.base import JobSpec, Strict
from fairfl.experiments.described import Metric
from fairfl.experiments.paper import SelectedArtifact
from fairfl.experiments.workload import Workload
from fairfl.judgement.changes import changed_by_scale
from fairfl.judgement.sources import UsedValue, reconstructed, unprinted, used_values
from fairfl.metrics.configuration import configured
from fairfl.reporting.marks import telling

# Keys of a setting that matter to numbers of these origins only.
_ALSO = {"tuned": "tuning", "timed": "timing"}


class SettingFacts(Strict):
    """What an artifact says about a setting."""

    data: str = Field(description="label of the data set: 'digits (stand-in for emnist)'")
    rounds: int = Field(gt=0)
    seeds: int = Field(gt=0, description="number of seeds")
    changed: list[str] = Field(description="what the scale changed: 'rounds: 100 -> 10'")
    tuned: Literal["rates", "all"] | None = Field(None, description="what runs take from the tuning here")
    calibrated: str | None = Field(None, description="the facts that calibration chose: 'd = 100'; null: none searched")
    configured: dict[str, float | None] = Field(
        default_factory=dict, description="what the setting says about itself, by metric id; null: without limit"
    )
    unprinted: str = Field("", description="which of its values the paper does not print")
    levels: dict[str, str] = Field(default_factory=dict, description="factor -> its level here")


class ArtifactSpec(JobSpec):
    """Spec of a table or figure: its YAML without claims, titles of algorithms and metrics.

    Claims and the captions of figures stand on the page, so that another wording draws nothing again.
    """

    paper: str
    id: str
    artifact: SelectedArtifact
    metrics: dict[str, Metric]
    algorithms: dict[str, str] = Field(description="algorithm -> title")
    reconstructed: list[str] = Field(default_factory=list, description="algorithms without formulas in the paper")
    used: list[UsedValue] = Field(default_factory=list, description="hyper-parameters, for a table of them")
    scale: str
    telling: str = Field("", description="mark in the title line of what tells nothing at this scale")
    footnote: bool = Field(True, description="a figure says below its panels what it was made from")
    settings: dict[str, SettingFacts]
    files: dict[str, dict[str, str]] = Field(
        description="kind -> setting, run, artifact or <setting>/<algorithm> -> path; every kind that is needed"
    )
    reported: dict[str, str] = Field(default_factory=dict, description="content of the papers' numbers, by path")

    @property
    def name(self) -> str:
        """'eagle_table8'."""
        return f"{self.paper}_{self.id}"


def artifact_spec(workload: Workload, name: str, files: dict[str, dict[str, str]]) -> ArtifactSpec:
    """The spec of a known artifact."""
    paper, key, artifact = workload.known[name]
    source = workload.papers[paper]
    algorithms = sorted({row.algorithm for row in artifact.rows})
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
            tuned=tuning.applies if tuning and (workload.config.tuned or tuning.always) else None,
            calibrated=here.unstated.fitted if here.unstated else None,
            configured={metric: value if math.isfinite(value) else None for metric, value in values.items()},
            unprinted=unprinted(workload.papers[workload.paper_of[setting]].settings[setting]),
            levels=here.levels,
        )
    return ArtifactSpec(
        paper=paper,
        id=key,
        artifact=artifact.model_copy(
            update={"claims": [], "assumed": {}, "notes": []} | ({"caption": ""} if artifact.plot else {})
        ),
        metrics={metric: source.metrics[metric] for metric in artifact.columns},
        algorithms={algorithm: source.algorithms[algorithm].title for algorithm in algorithms},
        reconstructed=list(filter(reconstructed, algorithms)),
        used=used_values(workload, paper) if artifact.content == "used" else [],
        scale=workload.scale.scale,
        telling=telling(workload.scale, name),
        footnote=workload.config.footnotes or not artifact.plot,
        settings=settings,
        files=files,
    )
