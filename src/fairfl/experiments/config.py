"""config.yaml: what to run, and where."""

import json
import os
import re
import urllib.parse
from collections.abc import Collection, Iterable, Mapping
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

from fairfl.experiments.base import DISTINCT, Names, Strict
from fairfl.experiments.variant import split_selectors
from fairfl.runtime import plain_data
from fairfl.runtime.fingerprint import fingerprint
from fairfl.runtime.validation import SpecError, nearest

_SCHEMES = ("http", "https", "file")
_LONGEST_PLACE = 4000
_LONGEST_NAME = 80
TEMPLATE = "template"  # papers/template.yaml: built only if it is named


def _place(value: str) -> str:
    """A folder, in full, or an address in one line that a command line has room for."""
    if not value.strip() or re.search(r"[\x00-\x1f\x7f]", value) or len(value) > _LONGEST_PLACE:
        raise ValueError(
            f"{plain_data.shown(value)}: expected a folder: not empty, no control characters, {_LONGEST_PLACE} at most"
        )
    # Not Path.expanduser: that raises where there is no such user; here the folder is missing then.
    return os.path.expanduser(value)


Place = Annotated[str, AfterValidator(_place)]


def _number(value: Any) -> Any:
    """Text may stand for a number, but true and false do not."""
    if any(isinstance(part, bool) for part in (value if isinstance(value, list) else [value])):
        raise ValueError(f"{plain_data.shown(value)}: expected numbers, not true or false")
    return value


def _check_whole(value: Any) -> Any:
    """pydantic reads 0-4 as -4."""
    if isinstance(value, str) and not re.fullmatch(r"[+-]?\d+", value.strip()):
        raise ValueError(
            f"{plain_data.shown(value)}: expected a whole number; several are written 0,1,2"
        )
    return _number(value)


class _FromTheCommandLine(Strict):
    """Not strict: values of `--config seeds=0,42 offline=true` arrive as text."""

    model_config = Strict.model_config | ConfigDict(strict=False)


class VerdictConfig(_FromTheCommandLine):
    """Limits for two numbers to agree, and to be close."""

    _numbers = field_validator("*", mode="before")(_number)

    significance_level: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="numbers agree up to the tolerance that this share of equal numbers exceeds by seeds alone",
    )
    close_points: float = Field(
        1.0, ge=0, description="beyond that tolerance, this many points of accuracy are close"
    )
    close_relative: float = Field(
        0.1, ge=0, description="likewise, this share of any other number is close"
    )
    noise_window: int = Field(
        10,
        ge=0,
        description="the noise of fewer than three seeds, or of seeds that sample the same clients, is at least "
        "the noise of this many last evaluations of the run; 0: no such bound",
    )


class Config(_FromTheCommandLine):
    """config.yaml: what to run and where."""

    scale: str = Field(description="a file in scales/: quick, small or full")
    papers: Names = Field(
        default_factory=lambda: ["*"],
        min_length=1,
        description="names or patterns, in this order; `*`: all others in papers/ but the template",
    )
    artifacts: Names | None = Field(
        None,
        min_length=1,
        description="tables and figures, such as [eagle_table1, eagle_figure3]; null: all",
    )
    settings: Names | None = Field(
        None,
        min_length=1,
        description="ids or patterns, such as `[fedfv_fmnist, vred_*]`; null: all",
    )
    algorithms: Names | None = Field(
        None,
        min_length=1,
        description="algorithms or variants, such as [fedavg, qffl/q=0.1]; null: all",
    )
    seeds: Annotated[list[Annotated[int, BeforeValidator(_check_whole)]], DISTINCT] | None = Field(
        None, min_length=1, description="a list, such as [0, 42]; null: each setting's own"
    )
    data_folder: Place = Field(
        "data", description="folder of the raw files, as `<data set>/<file>`"
    )
    mirrors: list[Place] = Field(
        default_factory=list,
        description="folders or URLs with `<data set>/<file>`, asked before the internet; may be absent",
    )
    offline: bool = Field(False, description="true: never ask the internet")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="auto: a GPU if there is one"
    )
    backend: Literal["auto", "stacked", "sequential"] = Field(
        "auto",
        description="how clients of a round train: auto (by model), as one stack, or one after the other",
    )
    cuda_graphs: Literal["auto", "off"] = Field(
        "auto",
        description="local steps on a GPU: auto (captured once, then replayed) or off (kernel by kernel)",
    )
    precision: Literal["fp32", "tf32", "bf16"] = Field(
        "fp32",
        description="numerics of the layers' products; tf32 acts on a GPU only; others than fp32 change numbers",
    )
    recorded: Literal["use", "only", "ignore"] = Field(
        "use",
        description="stored results, at scale full: use; only (train nothing else); ignore (train everything)",
    )
    budget: float | None = Field(
        None,
        ge=0,
        description="hours of one core, or of one GPU, that missing runs may take by estimate; null: all runs",
    )
    budget_downloads: bool = Field(
        False, description="true: a budget may buy runs whose data must be downloaded"
    )
    tuned: bool = Field(
        False,
        description="true: run with the values that tuning chose here, not the published ones",
    )
    threads: int = Field(
        1, gt=0, le=256, description="CPU threads of one job; changes last bits, --cores does not"
    )
    runs_per_gpu: int | None = Field(
        None,
        ge=1,
        description="jobs that may share one GPU; null: as many as the profile starts, spread evenly",
    )
    warm_start: bool = Field(
        True, description="true: local jobs start in processes that have torch loaded"
    )
    checkpoint_seconds: float = Field(
        60.0,
        gt=0,
        description="a killed run loses this many seconds at most, or 50 times a checkpoint's own time",
    )
    footnotes: bool = Field(
        True, description="true: below every figure stands what it was made from"
    )
    superseded_results_limit: ByteSize = Field(
        ByteSize(2 * 10**9),
        ge=0,
        description="room for superseded results, which come back when an edit is taken back; oldest go first; 0: none",
    )
    numerics_mismatch: Literal["keep", "rerun"] = Field(
        "keep",
        description="results of another torch, device, instruction set, threads or backend: keep (noted), rerun",
    )
    verdict: VerdictConfig = VerdictConfig()

    @model_validator(mode="before")
    @classmethod
    def _read_null(cls, values: dict[str, Any]) -> dict[str, Any]:
        """`--config seeds=null` arrives as text."""
        return {key: None if value in ("null", "~") else value for key, value in values.items()}

    @field_validator(
        "papers", "seeds", "artifacts", "settings", "algorithms", "mirrors", mode="before"
    )
    @classmethod
    def _split_text(cls, value: Any) -> Any:
        """`--config papers=eagle` and `papers=eagle,vred` mean a list."""
        if isinstance(value, str):
            return split_selectors(value)
        return [value] if isinstance(value, int) and not isinstance(value, bool) else value

    _numbers = field_validator(
        "seeds", "threads", "runs_per_gpu", "checkpoint_seconds", "budget", mode="before"
    )(_number)

    @field_validator("cuda_graphs", mode="before")
    @classmethod
    def _read_off(cls, value: Any) -> Any:
        """YAML reads `off` as false."""
        return "off" if value is False else value

    @field_validator("budget")
    @classmethod
    def _check_budget(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and info.data.get("recorded") == "only":
            raise ValueError(
                f"{value:g}: nothing is trained with recorded: only; leave one of them out"
            )
        return value

    @field_validator("mirrors")
    @classmethod
    def _check_addresses(cls, value: list[str]) -> list[str]:
        for place in value:
            try:
                scheme = urllib.parse.urlsplit(place).scheme
            except ValueError as error:
                raise ValueError(f"{plain_data.shown(place)}: {error}") from None
            if "://" in place and scheme not in _SCHEMES:
                raise ValueError(
                    f"{plain_data.shown(place)}: no folder or address{nearest(scheme, _SCHEMES)}"
                )
        return value


def with_papers(config: Config, available: Iterable[str], without: Collection[str] = ()) -> Config:
    """The configuration with the papers that its patterns mean, in its order; `*` means all but the template.

    Papers of `without` are left out.

    Raises SpecError for a name or pattern that no paper has.
    """
    names, chosen = list(available), dict[str, None]()
    for pattern in config.papers:
        matches = [
            name
            for name in names
            if name == pattern or name != TEMPLATE and fnmatchcase(name, pattern)
        ]
        if not matches:
            raise SpecError(
                f"config.yaml: papers: no paper {plain_data.shown(pattern)}{nearest(pattern, names)}"
            )
        chosen |= dict.fromkeys(name for name in matches if name not in without)
    return config.model_copy(update={"papers": list(chosen)})


# What selects a part of all there is.
SELECTING = ("papers", "artifacts", "settings", "algorithms", "seeds")


def selection(config: Config, usual: Config) -> str:
    """Selection beyond what config.yaml says, as the name of a folder: 'papers=eagle'; '' if nothing is."""
    name = "_".join(
        f"{key}={'all' if chosen is None else ','.join(map(str, chosen))}"
        for key in SELECTING
        if (chosen := getattr(config, key)) != getattr(usual, key)
    )
    plain_name = re.sub(r"[^A-Za-z0-9_.,=+-]", "_", name)
    if plain_name == name and len(name) <= _LONGEST_NAME:
        return name
    return f"{plain_name[:_LONGEST_NAME]}-{fingerprint(name)[:8]}"


def options_of(config: Mapping[str, object]) -> list[str]:
    """Values that config.yaml does not have, as words of a command line."""
    words = [f"{key}={_text(value)}" for key, value in config.items()]
    return ["--config", *words] if words else []


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return value if isinstance(value, str) else json.dumps(value)  # true, null
