"""Base classes of every typed configuration and of every spec of a job."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from fairfl.runtime import plain_data


def _different(values: list[Any]) -> list[Any]:
    plain_data.different(values)
    return values


DISTINCT = AfterValidator(_different)
"""In the annotation of a list: no value is given twice."""
Names = Annotated[list[str], DISTINCT]
# Below what NumPy's generators and sizes of arrays take.
Whole = Annotated[int, Field(ge=0, lt=2**32)]
Natural = Annotated[int, Field(ge=1, lt=2**32)]


class Strict(BaseModel):
    """Frozen, no unknown key, no NaN, no infinity, no silent conversion of text to numbers; defaults obey, too."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        validate_default=True,
        populate_by_name=True,
        protected_namespaces=(),
    )


class Labelled(Strict):
    """Options of a plot that names settings: above panels, in a legend, on an axis, in the note."""

    labels: dict[str, str] = Field(
        default_factory=dict, description="setting id -> what it is called in the figure"
    )


class JobSpec(Strict):
    """Everything that the result of a job depends on, as its --spec says it. Plain JSON: lists, no tuples."""

    code: dict[str, str] = Field(
        default_factory=dict, description="module -> hash of what it says; recorded, not read"
    )
