"""A scale: what scales/<scale>.yaml changes in the settings of papers, and what its jobs ask a cluster for."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from fairfl.experiments.base import Names, Strict
from fairfl.runtime import plain_data

# Folders of results/ that are no scale: prepared data, the record.
SHARED = ("data", "recorded")


class Patch(Strict):
    """Changes of a scale to the settings whose id matches one of the patterns."""

    match: list[str] = Field(min_length=1, description="shell patterns over setting ids")
    set: dict[str, Any] = Field(min_length=1, description="keys of a setting; 'a.b' reaches inside")
    why: str


class Limit(Strict):
    """Request to a cluster, for one job."""

    minutes: int = Field(
        60, gt=0, description="a training that is out of time goes on at the next try"
    )
    memory_mb: int = Field(
        2000,
        gt=0,
        description="of the host, at most; a submission that lacks memory asks for twice as much, up to this",
    )


class Limits(Strict):
    """Per rule. Other jobs take seconds."""

    prepare: Limit = Limit()
    local_optimum: Limit = Limit()
    surrogate: Limit = Limit()
    train: Limit = Limit()
    timing: Limit = Limit()


class OptInArtifacts(Strict):
    """Artifacts that are built only as targets, or if config.yaml names them or says `tuned: true`."""

    artifacts: Names = Field(min_length=1, description="such as vred_table4")
    why: str


class Scale(Strict):
    """scales/<scale>.yaml. Patches are applied in order; later ones win."""

    scale: Annotated[str, AfterValidator(plain_data.name)]
    description: str
    # Not part of what results are made from.
    limits: Limits = Field(
        Limits(), exclude=True, description="time and memory that jobs ask a cluster for, by rule"
    )
    patches: list[Patch] = Field(default_factory=list)
    left_out: Names = Field(
        default_factory=list,
        description="patterns of settings that run only where config.yaml names settings",
    )
    opt_in: OptInArtifacts | None = Field(
        None, description="what is too much to be built with the rest; null: nothing"
    )
    uninformative: dict[str, Annotated[str, Field(pattern=r"^(of|about) .*[^.]$")]] = Field(
        default_factory=dict,
        description="artifacts that cannot show their point at this scale -> what and why, behind 'uninformative' "
        "in their title line: 'about best 5 %, which is one client'",
    )

    @property
    def on_request(self) -> list[str]:
        """Artifacts that are built only if they are asked for."""
        return self.opt_in.artifacts if self.opt_in else []

    @field_validator("scale")
    @classmethod
    def _folder(cls, value: str) -> str:
        if value in SHARED:
            raise ValueError(
                f"{value!r}: the name is taken, by a folder of results/ that is no scale"
            )
        return value
