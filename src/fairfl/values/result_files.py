"""The JSON files that jobs leave for other jobs: what readers may rely on, and one clear line if a file is damaged."""

from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from fairfl.runtime import inputs
from fairfl.runtime.errors import FairflError
from fairfl.values.json_text import from_text

ClientId = Annotated[int, Field(ge=0, lt=2**31)]
Losses = list[float | None]
"""Of each client, in nats; null where it is not finite or the client has no samples."""


class ResultFile(BaseModel):
    """The keys that are read. A file may hold more, such as the seconds that the job took."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)


class LocalOptimumResult(ResultFile):
    """L*_k of one client, from fairfl.jobs.local_optimum; nats, null: not finite."""

    loss_train: float | None
    loss_validation: float | None
    loss_test: float | None


class SurrogateResult(ResultFile):
    """Losses of one true cluster's clients with the cluster's surrogate, from fairfl.jobs.surrogate."""

    class Epoch(ResultFile):
        """Losses after an epoch, by part; parts that the setting does not evaluate are missing."""

        epoch: int
        loss_train: Losses | None = None
        loss_validation: Losses | None = None
        loss_test: Losses | None = None

    clients: list[ClientId]
    best: Epoch = Field(description="of smallest pooled test loss")
    last: Epoch


class TunedChoice(ResultFile):
    """Choice of fairfl.jobs.tune for one algorithm in one setting."""

    setting: str
    algorithm: str
    learning_rate: float
    batch_size: int | None = Field(gt=0, description="null: full batch")
    hyperparameters: dict[str, bool | int | float | str]
    value: float | None = Field(description="of the metric; null: every point of the grid diverged")
    tried: bool = Field(True, description="false: the only point of its grid, without a value")


class Summary(ResultFile):
    """summary.json of a run, from fairfl.jobs.train or, with `recorded`, from the record."""

    class Recorded(ResultFile):
        """Origin of a stored run."""

        commit: str = Field(description='of the code that computed it; "": no commit has that code')
        same_code: bool = Field(description="whether today's code for this run is that one")
        date: str

        @property
        def shown(self) -> str:
            """Note next to its numbers; "" if today's code is that which computed it."""
            return f"the code of {self.commit or 'no commit'}" if not self.same_code else ""

    spec: dict[str, Any]
    fingerprint: str = Field(description="of the spec")
    data_source: str
    measures: dict[str, float] = Field(description="of the run as a whole, by metric")
    arithmetic: dict[str, str] = Field(
        {}, description="what moves the last bits: fairfl.runtime.arithmetic"
    )
    recorded: Recorded | None = None
    memberships: list[list[float]] | None = Field(
        None, description="[client][model], of the clustered only"
    )
    clusters: list[int] | None = Field(
        None, description="true cluster of each client, where it is known"
    )
    partition: list[str] = Field([], description="what the partition had to change, in words")
    owners: list[str] = Field([], description="name of each client's owner, where data say it")


class Seconds(ResultFile):
    """Measurements of fairfl.jobs.timing in one setting, and on what."""

    class Variant(ResultFile):
        algorithm: str
        hyperparameters: str = Field(description="as tables spell them")
        seconds: dict[str, list[float]] = Field(description="metric -> each repetition")

    variants: list[Variant]
    metrics: dict[str, list[float]] = Field(
        description="of the setting, not of a variant: metric -> each repetition"
    )
    device: str
    processor: str
    threads: int = Field(gt=0)
    fingerprint: str


File = TypeVar("File", bound=ResultFile)


def read(path: Path, kind: type[File]) -> File:
    """The file at `path`. Raises OSError if it cannot be read, FairflError if a key is missing or damaged."""
    try:
        return from_text(inputs.read_bytes(path), kind, "damaged")
    except FairflError as error:
        raise FairflError(f"{path}: {error}; delete it and run again") from None
