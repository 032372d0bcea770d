"""A CSV file of one's own: a header, one sample per line, in <data folder>/local_csv/.

An edit of the file prepares the data and runs what uses them again. Columns may be whole numbers or not, labels and
clients may be words: fairfl.data.formats.csv_table says how they are read.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fairfl.data import checks
from fairfl.data.formats import csv_table
from fairfl.data.interface import Prepared, RemoteFile
from fairfl.experiments.base import DISTINCT, Strict

PER_SEED = False

_NAME = "local_csv"


class Config(Strict):
    """Options of the data set."""

    file: str = Field("table.csv", pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", description="its name, without a folder")
    label: str = Field("label", description="column of what is to be predicted")
    features: Annotated[list[str], Field(min_length=1), DISTINCT] | None = Field(
        None, description="columns that predict it; null: all others"
    )
    client: str | None = Field(None, description="column of the owners, for partition by_client; null: there is none")
    missing: Literal["drop", "mean"] | None = Field(
        None,
        description="cells that are empty, NA, NaN, null or ?: drop the sample, or take the column's mean, where a "
        "sample without label or client is dropped too; null: they are refused",
    )
    standardize: bool = Field(
        False, description="features minus their mean, over their standard deviation, of all samples of the file"
    )
    task: Literal["classes", "number"] = Field("classes", description="number: a regression, for loss squared_error")


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The file, which nobody publishes."""
    return (csv_table.local_file(options.file),)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs float32 [N, features]; labels int64, or float32 in a regression."""
    path = checks.usable(raw, csv_table.local_file(options.file), _NAME)
    return csv_table.read(_NAME, path, **options.model_dump(exclude={"file"}))
