"""Base classes of every typed configuration and of every spec of a job."""

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """Frozen, no unknown key, no NaN, no infinity, no silent conversion of text to numbers."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        populate_by_name=True,
        protected_namespaces=(),
    )


class JobSpec(Strict):
    """All that the result of a job depends on, as its --spec says it. Plain JSON: lists, no tuples."""

    code: dict[str, str] = Field(default_factory=dict, description="module -> hash of what it says; recorded, not read")
