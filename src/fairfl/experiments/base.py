"""Base class of every typed configuration."""

from pydantic import BaseModel, ConfigDict


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
