"""A table or figure of a paper: its settings, rows, columns and claims."""

from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from fairfl.experiments.base import Names, Strict
from fairfl.experiments.declaration import declaration
from fairfl.experiments.layout import Layout
from fairfl.experiments.origin import Origin, origins, owner
from fairfl.experiments.plugins import known
from fairfl.experiments.searches import known_hyperparameters
from fairfl.experiments.variant import Value, Variant, check_folder
from fairfl.runtime.validation import nearest

Provenance = Literal["paper", "confirmed", "inferred", "recalled", "assumed"]


class Row(Strict):
    """One row of a table or one curve of a figure: a variant of an algorithm.

    `modifiers` become hyper-parameters with dotted keys, `{dp: {sigma: 2}}` is `dp.sigma: 2` and `{lsr: {}}` is
    `lsr: true`, so that all that names a variant by its hyper-parameters names it whole.
    """

    algorithm: str
    hyperparameters: Annotated[dict[str, Value], AfterValidator(check_folder)] = Field(
        default_factory=dict
    )
    modifiers: dict[str, dict[str, Value]] = Field(
        default_factory=dict,
        description="on top of the algorithm: server_momentum, fedvarp, lsr, dp",
        exclude=True,
    )
    setting: str | None = Field(None, description="null: every setting of the artifact")
    title: str | None = Field(
        None, description="printed in place of title and hyper-parameters; null: those"
    )
    provenance: Provenance = Field(
        "paper",
        description="how the hyper-parameters are known: printed in the paper; or lost there, but confirmed by equal "
        "numbers elsewhere, inferred from printed numbers, recalled from an earlier version, or assumed",
    )
    note: str = Field("", description="what the provenance rests on, in words")

    @model_validator(mode="before")
    @classmethod
    def _fold_modifiers(cls, value: Any) -> Any:
        if not (isinstance(value, dict) and isinstance(value.get("modifiers"), dict)):
            return value
        own = dict(value.get("hyperparameters") or {})
        for name, options in value["modifiers"].items():
            if not isinstance(options, dict):
                raise ValueError(
                    f"modifiers.{name}: {options!r} is not a mapping of parameters; {{}} takes the defaults"
                )
            own |= {f"{name}.{key}": parameter for key, parameter in options.items()} or {
                name: True
            }
        return {**value, "hyperparameters": own, "modifiers": {}}

    @cached_property
    def variant(self) -> Variant:
        return Variant(self.algorithm, self.hyperparameters)


class Claim(Strict):
    """A checkable statement of the paper about an artifact, in the grammar of fairfl.judgement.claims.grammar."""

    id: str
    setting: str | None = None
    expr: str = Field(max_length=10_000)
    text: str = ""
    reference: Literal["supported", "refuted", "not testable from printed numbers"] = Field(
        "not testable from printed numbers",
        description="what the paper's own numbers say about the claim",
    )


class SelectedArtifact(Strict):
    """A table or a figure, or the part of it with the settings that config.yaml selects."""

    kind: Literal["table", "figure", "illustration", "static_table"]
    title: str = Field(description="as the paper calls it: 'Table 8'")
    caption: str
    settings: Names = Field(default_factory=list)
    rows: list[Row] = Field(default_factory=list)
    columns: Names = Field(default_factory=list, description="metric ids, in print order")
    columns_of: dict[str, list[str]] = Field(
        default_factory=dict,
        description="algorithm -> the columns that its rows have; others have all",
    )
    columns_in: dict[str, list[str]] = Field(
        default_factory=dict,
        description="setting -> the columns that it has; others have all",
    )
    baseline: Row | None = Field(
        None,
        description="baseline of runs, client by client (accuracy_gain); runs even if it has no row",
    )
    layout: Layout = Field(default_factory=Layout, description="table, lines by columns")
    rules: list[int] = Field(
        default_factory=list, description="rows before which the paper draws a rule"
    )
    plot: Annotated[str, AfterValidator(known("reporting/plots"))] | None = Field(
        None, description="how a figure is drawn: fairfl.reporting.plots.<plot>"
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="parameters of the plot or table"
    )
    header: list[str] = Field(default_factory=list, description="static table: column titles")
    content: list[list[str]] | Literal["used"] = Field(
        default_factory=list,
        description="static table: its rows; or used: the hyper-parameters that `options.printed` names, "
        "such as qffl.q (without: all), and their values in the artifacts",
    )
    claims: list[Claim] = Field(default_factory=list)
    spread: str = ""
    in_paper: bool = Field(
        True,
        description="false: not in the paper, another interpretation; its numbers are checked, and count in no sum",
    )
    assumed: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)

    def variants_in(self, setting: str) -> list[Row]:
        """The rows that must run in a setting: its rows and the baseline."""
        return self.rows_in(setting) + ([self.baseline] if self.baseline else [])

    def columns_for(self, algorithm: str, setting: str) -> list[str]:
        """Metric ids of the rows of an algorithm in a setting, in print order."""
        there = self.columns_in.get(setting, self.columns)
        return [
            metric for metric in self.columns_of.get(algorithm, self.columns) if metric in there
        ]

    def rows_in(self, setting: str) -> list[Row]:
        """The rows that one of the settings has."""
        return [row for row in self.rows if row.setting in (None, setting)]

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Kinds of results that its numbers come from; 'tidy' says that its rows are runs."""
        return origins(self.columns) if self.columns else ("tidy",)

    @property
    def drawing(self) -> bool:
        """True for an illustration of no setting: its claims speak of the numbers in its own CSV."""
        return self.kind == "illustration" and not self.settings

    @property
    def of_settings(self) -> bool:
        """True if its numbers belong to settings: counts, what the settings say, the cost of metrics."""
        return bool(self.columns) and {owner(metric) for metric in self.columns} == {"setting"}

    @property
    def needs(self) -> tuple[str, ...]:
        """Kinds of files that it is made from: as its plot says, or by the origins of its numbers.

        What a setting says stands in the table's own spec. Where it, choices or counts are printed, the paper's stand
        beside them.
        """
        if self.kind == "static_table":
            return ()
        if self.plot:
            return tuple(declaration("reporting/plots", self.plot).NEEDS)
        read = tuple(kind for kind in self.origins if kind != "setting")
        return read if set(self.origins) <= {"tidy", "timed"} else (*read, "reported")


class Artifact(SelectedArtifact):
    """A table or a figure."""

    @model_validator(mode="after")
    def _check_shape(self) -> "Artifact":
        if self.kind in ("figure", "illustration") and not self.plot:
            raise ValueError("a figure needs `plot`")
        if self.kind == "table" and not (self.settings and self.columns):
            raise ValueError("a table needs settings and columns")
        if self.kind == "table" and not self.rows and not self.of_settings:
            raise ValueError(
                "a table needs rows, unless all of its columns count samples or else belong to settings"
            )
        for where, name, valid in self._names():
            if name not in valid:
                raise ValueError(f"{where} {name!r} is not one of these{nearest(name, valid)}")
        if self.kind == "table" and not all(0 <= number < len(self.rows) for number in self.rules):
            raise ValueError(f"rules: {self.rules} for rows 0 to {len(self.rows) - 1}")
        if self.content == "used":
            if self.kind != "static_table" or self.header:
                raise ValueError("content: used is a static table that makes its own header")
            for algorithm, _, name in (
                str(entry).partition(".") for entry in self.options.get("printed", [])
            ):
                known_hyperparameters({algorithm: {name: None}})
            return self
        if self.kind == "static_table" and not (self.header and self.content):
            raise ValueError("a static table needs header and content")
        for number, line in enumerate(self.content):
            if len(line) != len(self.header):
                raise ValueError(
                    f"content row {number} has {len(line)} cells, the header {len(self.header)}"
                )
        return self

    def _names(self) -> Iterator[tuple[str, str, Collection[str]]]:
        """(where, name, what it must be one of) of all that parts of the artifact say of others."""
        for number, row in enumerate(self.rows):
            if row.setting is not None:
                yield f"row {number}: setting", row.setting, self.settings
        for key, subsets, valid in (
            ("columns_of", self.columns_of, {row.algorithm for row in self.rows}),
            ("columns_in", self.columns_in, self.settings),
        ):
            for name, columns in subsets.items():
                yield f"{key}:", name, valid
                for metric in columns:
                    yield f"{key}.{name}:", metric, self.columns
        for name in chain(*self.layout.blocks):
            yield "layout.blocks:", name, self.settings
        for metric in (*self.layout.brackets, *self.layout.brackets.values()):
            yield "layout.brackets:", metric, self.columns

    @model_validator(mode="after")
    def _check_layout(self) -> "Artifact":
        grouped = set(chain(*self.layout.blocks))
        if missing := [name for name in self.settings if grouped and name not in grouped]:
            raise ValueError(f"layout.blocks: {missing[0]!r} is in none of them")
        if not self.rows and ["row"] in (self.layout.down, self.layout.across):
            raise ValueError("layout: there are no rows to stand alone on a side")
        self.layout.check_cells(
            {"setting": setting, "row": str(row.title or row.variant), "metric": metric}
            for setting in self.settings
            for row in (self.rows_in(setting) if self.kind == "table" else ())
            for metric in self.columns_for(row.algorithm, setting)
        )
        return self
