"""A paper: its settings, algorithms, artifacts and claims, as papers/<paper>.yaml says them."""

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from fairfl.experiments.artifact import Artifact, Row
from fairfl.experiments.base import Strict
from fairfl.experiments.consistency import Consistency
from fairfl.experiments.described import DescribedAlgorithm, Metric
from fairfl.experiments.setting import SOURCED, Setting
from fairfl.experiments.variant import Value
from fairfl.runtime import kept, plain_data
from fairfl.runtime.fingerprint import fingerprint
from fairfl.runtime.validation import nearest


def _plain(name: str) -> str:
    """A dot begins the ending of a file, rules have no hyphen in their names."""
    if "." in name or "-" in name:
        raise ValueError(f"{name!r}: expected letters, digits and _ only")
    return name


Name = Annotated[str, AfterValidator(plain_data.name)]
ArtifactName = Annotated[Name, AfterValidator(_plain)]

# Folders of results/<scale> that hold no paper's artifacts.
FOLDERS: tuple[str, ...] = (
    "calibrated",
    "logs",
    "optima",
    "partitions",
    "records",
    "runs",
    "selections",
)
FOLDERS += ("surrogates", "tidy", "timed", "trials", "tuned", kept.FOLDER)


class Headline(Strict):
    """Claim of the abstract on the paper's method: fairer than a baseline, and as useful."""

    setting: str
    method: Row
    baseline: Row
    fairness: str = Field(description="metric id")
    utility: str = Field(description="metric id")
    source: str = Field(description="the words of the abstract, and why this setting and variant")


class Paper(Strict):
    """papers/<paper>.yaml."""

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all that it says."""
        return fingerprint(self.model_dump(mode="json"))

    paper: str
    name: str | None = Field(
        None, description="as people call it, such as FedEBA+; null: as the file"
    )
    title: str
    topic: str = Field("", description="in a few words, for the table of all papers")
    sources: Literal["quoted", "own"] = Field(
        "quoted",
        description="quoted: each value has a source, each claim a reference; own: your experiment, which needs "
        "neither of them, nor a citation",
    )
    citation: str = ""
    arxiv: str = ""
    metrics: dict[Name, Metric]
    algorithms: dict[Name, DescribedAlgorithm]
    modifiers: dict[str, dict[str, Value | None]] = Field(
        default_factory=dict,
        description="modifier -> parameters in this paper, unless a row has others",
    )
    settings: dict[Name, Setting] = Field(
        default_factory=dict,
        description="by id, which begins with the name of the paper; artifacts may name settings of other papers too",
    )
    artifacts: dict[ArtifactName, Artifact]
    headline: Headline | None = Field(None, description="null: the page has none")
    consistency: list[Consistency] = Field(
        default_factory=list,
        description="what should hold between the paper's own numbers; where not, artifacts say so",
    )

    @property
    def called(self) -> str:
        """'FedEBA+'."""
        return self.name or self.paper

    @field_validator("paper")
    @classmethod
    def _folder(cls, value: str) -> str:
        if not re.fullmatch("[a-z0-9]+", value) or value in FOLDERS:
            raise ValueError(
                f"{plain_data.shown(value)}: expected small letters and digits, but not {', '.join(FOLDERS)}"
            )
        return value

    @model_validator(mode="after")
    def _check_whole(self) -> "Paper":
        _check_names(self)
        _check_sources(self)
        return self


def _check_sources(paper: Paper) -> None:
    """Raises ValueError unless each value of a quoted paper has a source, and each claim a reference."""
    if paper.sources == "own":
        return
    missing = [(f"no {key}", [""]) for key in ("citation", "arxiv") if not getattr(paper, key)]
    for name, algorithm in paper.algorithms.items():
        bare = sorted({*algorithm.defaults, *algorithm.grid} - algorithm.sources.keys())
        missing.append((f"algorithms.{name}: no source for ", bare))
    for name, setting in paper.settings.items():
        bare = [key for key in SOURCED if key not in setting.sources]
        missing.append((f"settings.{name}: no source for ", bare))
    for name, artifact in paper.artifacts.items():
        bare = [claim.id for claim in artifact.claims if "reference" not in claim.model_fields_set]
        missing.append((f"artifacts.{name}: no reference for claim ", bare))
    if faults := [what + ", ".join(keys) for what, keys in missing if keys]:
        raise ValueError(
            f"{'; '.join(faults)}. `sources: own` is for an experiment of your own, which needs none"
        )


def _check_names(paper: Paper) -> None:
    """Raises ValueError if a part of the paper names what there is not, or two parts have one name."""
    for where, name, valid in _names(paper):
        if name not in valid:
            described = f"{name}: {{name: ..., meaning: ..., unit: ..., digits: 2}}, in a unit of docs/reference.md"
            hint = f". Describe it under `metrics`: {described}" if valid is paper.metrics else ""
            raise ValueError(f"{where}: unknown {name!r}{nearest(name, valid)}{hint}")
    for name, artifact in paper.artifacts.items():
        if len({claim.id for claim in artifact.claims}) < len(artifact.claims):
            raise ValueError(f"artifacts.{name}: two claims share an id")
    if len({relation.id for relation in paper.consistency}) < len(paper.consistency):
        raise ValueError("consistency: two relations share an id")


def _names(paper: Paper) -> Iterator[tuple[str, str, Collection[str]]]:
    """(where, name, valid names) of each name that a part of the paper gives of another."""
    for key, artifact in paper.artifacts.items():
        for row in filter(None, [*artifact.rows, artifact.baseline]):
            yield f"artifacts.{key}: rows: algorithm", row.algorithm, paper.algorithms
        for metric in artifact.columns:
            yield f"artifacts.{key}.columns: metric", metric, paper.metrics
    if paper.headline:
        yield "headline.setting", paper.headline.setting, paper.settings
        yield "headline.method", paper.headline.method.algorithm, paper.algorithms
        yield "headline.baseline", paper.headline.baseline.algorithm, paper.algorithms
        yield "headline.fairness", paper.headline.fairness, paper.metrics
        yield "headline.utility", paper.headline.utility, paper.metrics
    for relation in paper.consistency:
        if relation.setting is not None:
            yield f"consistency.{relation.id}: setting", relation.setting, paper.settings
    for name, setting in paper.settings.items():
        for metric in setting.unstated.targets if setting.unstated else ():
            yield f"settings.{name}.unstated.targets: metric", metric, paper.metrics
        for source in setting.sources:
            yield f"settings.{name}.sources", source.partition(".")[0], Setting.model_fields
        there = (artifact for artifact in paper.artifacts.values() if name in artifact.settings)
        rows = {row.variant.selector for artifact in there for row in artifact.variants_in(name)}
        for fitted in setting.fitted or ():
            yield f"settings.{name}.fitted", fitted, rows | paper.algorithms.keys()
