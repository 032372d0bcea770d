"""config.yaml: what to run, and where."""

import re
import urllib.parse
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from fairfl.experiments.base import DISTINCT, Strict
from fairfl.experiments.strict import ambiguous, check_words
from fairfl.experiments.variant import split_selectors
from fairfl.runtime import plain
from fairfl.runtime.fingerprint import fingerprint
from fairfl.runtime.validation import SpecError, nearest

_SCHEMES = ("http", "https", "file")
_LONGEST_PLACE = 4000
_LONGEST_NAME = 80
TEMPLATE = "template"  # papers/template.yaml: built only if it is named


def _place(value: str) -> str:
    """A folder or address in one line that a command line has room for."""
    if not value.strip() or re.search(r"[\x00-\x1f\x7f]", value) or len(value) > _LONGEST_PLACE:
        raise ValueError(
            f"{plain.shown(value)}: expected a folder: not empty, no control characters, {_LONGEST_PLACE} at most"
        )
    return value


Place = Annotated[str, AfterValidator(_place)]
Names = Annotated[list[str], DISTINCT]


def _number(value: Any) -> Any:
    """Text may stand for a number, but true and false do not."""
    if any(isinstance(part, bool) for part in (value if isinstance(value, list) else [value])):
        raise ValueError(f"{plain.shown(value)}: expected numbers, not true or false")
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, str) and (what := ambiguous(part.strip())):
            raise ValueError(what)
    return value


def _whole(value: Any) -> Any:
    """pydantic reads 0-4 as -4."""
    if isinstance(value, str) and not re.fullmatch(r"[+-]?\d+", value.strip()):
        raise ValueError(f"{plain.shown(value)}: expected a whole number; several are written 0,1,2")
    return _number(value)


class _FromTheCommandLine(Strict):
    """Not strict: values of `--config seeds=0,42 offline=true` arrive as text."""

    model_config = Strict.model_config | ConfigDict(strict=False)


class Verdict(_FromTheCommandLine):
    """When two numbers agree, and when they are close."""

    _numbers = field_validator("*", mode="before")(_number)

    level: float = Field(0.05, gt=0, lt=1, description="share of equal numbers that may be found different")
    close_points: float = Field(1.0, ge=0, description="points of accuracy that are still close")
    close_relative: float = Field(0.1, ge=0, description="share of any other number that is still close")
    late_evaluations: int = Field(
        10,
        ge=0,
        description="a number of fewer than three seeds, or of seeds with one draw of clients, moves at least as much "
        "as over so many last evaluations of its own runs, those of their last quarter; 0: nothing is taken from them",
    )


class Config(_FromTheCommandLine):
    """config.yaml: what to run and where."""

    scale: str
    papers: Names = Field(
        default_factory=lambda: ["*"], min_length=1, description="names or patterns; *: all others in papers/"
    )
    seeds: Annotated[list[Annotated[int, BeforeValidator(_whole)]], DISTINCT] | None = Field(
        None, min_length=1, description="null: each setting's own"
    )
    artifacts: Names | None = Field(None, min_length=1, description="null: all; else e.g. [eagle_table1]")
    settings: Names | None = Field(None, min_length=1, description="null: all; else ids or patterns such as vred_*")
    algorithms: Names | None = Field(
        None, min_length=1, description="null: all; else algorithms, or variants such as qffl/q=0.1"
    )
    data_folder: Place = "data"
    mirrors: list[Place] = Field(default_factory=list)
    offline: bool = False
    device: Literal["auto", "cpu", "cuda"] = "auto"
    backend: Literal["auto", "stacked", "sequential"] = "auto"
    cuda_graphs: Literal["auto", "off"] = Field("auto", description="off: each kernel of a local step is launched")
    threads: int = Field(1, gt=0, le=256)
    runs_per_gpu: int | None = Field(
        None, ge=1, description="null: as many as the profile starts, spread evenly; else jobs that may share a GPU"
    )
    precision: Literal["fp32", "tf32", "bf16"] = Field("fp32", description="arithmetic of the layers' products")
    warm_start: bool = Field(True, description="start jobs in processes that have torch loaded")
    checkpoint_seconds: float = Field(60.0, gt=0)
    keep: ByteSize = Field(ByteSize(2 * 10**9), ge=0, description="bytes of superseded results, the oldest go first")
    other_arithmetic: Literal["keep", "rerun"] = Field(
        "keep", description="results of another torch, device, instruction set, number of threads or backend"
    )
    recorded: Literal["use", "only", "ignore"] = Field(
        "use", description="results in the record, at scale paper: use; only: train nothing else; ignore: train all"
    )
    budget: float | None = Field(
        None,
        ge=0,
        description="hours of one core on the CPU, or of one GPU, that missing runs may take by estimate: those that "
        "judge the most numbers per hour, beside what has finished or is recorded; null: all",
    )
    budget_downloads: bool = Field(False, description="a budget may also buy runs whose data must be downloaded first")
    tuned: bool = Field(False, description="run with what the tuning chose, not with what the paper reports")
    footnotes: bool = Field(True, description="below every figure, what it was made from; false: figures for a paper")
    verdict: Verdict = Verdict()

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, values: Any) -> Any:
        if isinstance(values, dict) and "other_torch" in values:
            raise ValueError("other_torch: unknown key; did you mean 'other_arithmetic'?")
        # `--config seeds=null` arrives as text.
        null = lambda value: isinstance(value, str) and value in ("null", "~")  # noqa: E731
        return {k: None if null(v) else v for k, v in values.items()} if isinstance(values, dict) else values

    @field_validator("papers", "seeds", "artifacts", "settings", "algorithms", "mirrors", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        """`--config papers=eagle` and `papers=eagle,vred` mean a list."""
        if isinstance(value, str):
            return split_selectors(value)
        return [value] if isinstance(value, int) and not isinstance(value, bool) else value

    _numbers = field_validator("seeds", "threads", "runs_per_gpu", "checkpoint_seconds", "budget", mode="before")(
        _number
    )

    @field_validator("cuda_graphs", mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        """YAML reads `off` as false."""
        return "off" if value is False else value

    @field_validator("budget")
    @classmethod
    def _spendable(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("recorded") == "only":
            raise ValueError(f"{value:g}: nothing is trained with recorded: only; leave one of them out")
        return value

    @field_validator("mirrors")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        for place in value:
            try:
                scheme = urllib.parse.urlsplit(place).scheme
            except ValueError as error:
                raise ValueError(f"{plain.shown(place)}: {error}") from None
            if "://" in place and scheme not in _SCHEMES:
                raise ValueError(f"{plain.shown(place)}: no folder or address{nearest(scheme, _SCHEMES)}")
        return value


# Keys whose values are names.
_TEXTS = ("scale", "papers", "artifacts", "settings", "algorithms", "data_folder", "mirrors")


def check_given(words: Iterable[str]) -> None:
    """Raises SpecError for a KEY=VALUE of a command line whose number others read otherwise."""
    check_words(words, _TEXTS)


def with_papers(config: Config, available: Iterable[str], without: Collection[str] = ()) -> Config:
    """The configuration with the papers that its patterns mean, in its order; `*` means all but the template.

    Those of `without` are left out.

    Raises SpecError for a name or pattern that no paper has.
    """
    known, chosen = list(available), dict[str, None]()
    for wanted in config.papers:
        found = [name for name in known if name == wanted or name != TEMPLATE and fnmatchcase(name, wanted)]
        if not found:
            raise SpecError(f"config.yaml: papers: no paper {plain.shown(wanted)}{nearest(wanted, known)}")
        chosen |= dict.fromkeys(name for name in found if name not in without)
    return config.model_copy(update={"papers": list(chosen)})


# What selects a part of all there is.
SELECTING = ("papers", "artifacts", "settings", "algorithms", "seeds")


def selection(config: Config, usual: Config) -> str:
    """What is selected beyond what config.yaml says, as the name of a folder: 'papers=eagle'; '' if nothing is."""
    parts = []
    for key in SELECTING:
        chosen = getattr(config, key)
        if chosen != getattr(usual, key):
            parts.append(f"{key}={'all' if chosen is None else ','.join(map(str, chosen))}")
    name = "_".join(parts)
    plain_name = re.sub(r"[^A-Za-z0-9_.,=+-]", "_", name)
    if plain_name == name and len(name) <= _LONGEST_NAME:
        return name
    return f"{plain_name[:_LONGEST_NAME]}-{fingerprint(name)[:8]}"
