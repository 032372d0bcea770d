"""Your CSV file: a header, one sample per line, in <data folder>/local_csv/.

An edit of the file prepares the data and runs what uses them again. Labels, owners and categories may be words or
numbers: fairfl.data.formats.csv_table says how they are read.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from fairfl.data import checks
from fairfl.data.formats import csv_table
from fairfl.data.interface import Prepared, RemoteFile
from fairfl.experiments.base import DISTINCT, Names, Strict

_NAME = "local_csv"


class Config(Strict):
    """Options of the data set."""

    file: str = Field("table.csv", description="its name, without a folder")
    label: str = Field("label", description="column of what is to be predicted")
    features: Annotated[list[str], Field(min_length=1), DISTINCT] | None = Field(
        None, description="columns that predict it; null: all others, which must have names"
    )
    categories: Names = Field(
        [], description="features that are words: a column of 0 and 1 for each word (one-hot)"
    )
    client: str | None = Field(
        None, description="column of the owners, for partition by_client; null: no owners"
    )
    cluster: str | None = Field(
        None, description="column with the true cluster of each owner; null: no clusters"
    )
    missing: Literal["drop", "mean"] | None = Field(
        None,
        description="cells that are empty, ? or what pandas takes for missing (NA, NaN, None, null, #N/A, ...): "
        "drop the sample, or take the column's mean (share of each category), where a sample without label, client or "
        "cluster is dropped too; null: they are refused",
    )
    na_values: list[str | int | float] | dict[str, list[str | int | float]] = Field(
        [],
        description="further words that mean a missing cell: [-9, '.'], or of some columns: {glucose: [0]}",
    )
    keep_default_na: bool = Field(
        True,
        description="false: only empty cells and na_values are missing, so that NA or none may be a class",
    )
    standardize: bool = Field(
        False,
        description="numbers minus their mean, over their standard deviation, of all samples of the file",
    )
    task: Literal["classes", "number"] | None = Field(
        None,
        description="number: a regression, for loss squared_error; null: classes, unless they are as many as samples",
    )

    @field_validator("file")
    @classmethod
    def _plain(cls, name: str) -> str:
        if (
            not name.isascii()
            or not name.translate({ord(sign): "x" for sign in "_.-"}).isalnum()
            or name[0] == "."
        ):
            raise ValueError(
                f"{name!r}: rename the file; expected letters, digits, _ . - without a folder"
            )
        return name

    @model_validator(mode="after")
    def _owned(self) -> "Config":
        if self.cluster is not None and self.client is None:
            raise ValueError("cluster is a column about owners; name their column `client`")
        return self


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The file, which has no publisher."""
    return (csv_table.local_file(options.file),)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs float32 [N, features]; labels int64, or float32 in a regression."""
    path = checks.usable(raw, files(options)[0], _NAME)
    return csv_table.read(_NAME, path, **options.model_dump(exclude={"file"}))
