"""A variant: an algorithm with the hyper-parameters of a row and its modifiers, and every way in which it is written.

    folder     alpha=0.1~tau=10, default, q=1.0+tuned     below runs/<setting>/<algorithm>/
    CSV        alpha=0.1,tau=10                           column `hyperparameters` of tidy files, tables, comparison.csv
    selector   fedfv/alpha=0.1,tau=10, fedavg/default     `algorithms:` in config.yaml and on the command line
    message    fedfv(alpha=0.1, tau=10)
    label      FedFV α = 0.1, τ = 10                      tables and figures; LaTeX: FedFV $\\alpha = 0.1$, $\\tau = 10$

Folders have no commas: they are wildcards, and Snakemake cannot pass one with a comma to a cluster's job (snakemake
issue 2366). Whether a variant is tuned shows in its folder only, so that both kinds of results can lie side by side.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cache, cached_property
from typing import Annotated, Any, get_args, get_origin

from fairfl.experiments.declaration import declaration
from fairfl.experiments.plugins import names
from fairfl.runtime import plain_data
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import shown

Value = bool | int | float | str
Level = tuple[
    bool, float | str
]  # False and a number, or True and a word: values of all types can be ordered

# Letters that the papers print in place of a hyper-parameter's name.
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ",
    "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ",
}  # fmt: skip
_DEFAULT = "default"
_TUNED = "+tuned"
_IN_FOLDER = re.compile(r"[A-Za-z0-9_.+-]+")
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_LONGEST_FOLDER = 200


@dataclass(frozen=True, order=True)
class Variant:
    """An algorithm with the hyper-parameters that tell it apart from other variants of it.

    `values` are sorted by key and written as they were given; keys of modifiers have dots (`dp.sigma`) or name a
    modifier that takes its defaults (`lsr: true`). Variants compare by number: q = 1 and q = 1.0 are equal, true is 1;
    but in a field that takes text, or whole numbers and others, '1' and '1.0' are two.
    A variant without algorithm, "", stands for hyper-parameters alone.
    """

    algorithm: str
    hyperparameters: InitVar[Mapping[str, Value]]
    tuned: bool = False  # trained with what the tuning chose in place of the reported values
    values: tuple[tuple[str, Value], ...] = field(init=False, compare=False)
    levels: tuple[tuple[str, Level], ...] = field(init=False, repr=False)

    def __post_init__(self, hyperparameters: Mapping[str, Value]) -> None:
        values = tuple(sorted(hyperparameters.items()))
        object.__setattr__(self, "values", values)
        texts = texts_of(self.algorithm, *hyperparameters)
        object.__setattr__(
            self, "levels", tuple((key, _level(value, key in texts)) for key, value in values)
        )

    def number(self, key: str) -> float | str | None:
        """A hyper-parameter as a number, or as a word; None if the variant does not name it."""
        value = dict(self.values).get(key)
        return value if isinstance(value, int | float) else dict(self.levels).get(key, (0, None))[1]

    def includes(self, other: "Variant") -> bool:
        """True if it has all hyper-parameters of the other, with the same values; the algorithms may differ."""
        return set(other.of(self.algorithm).levels) <= set(self.levels)

    def of(self, algorithm: str) -> "Variant":
        """Variant of another algorithm with these hyper-parameters."""
        return Variant(algorithm, dict(self.values), self.tuned)

    @property
    def untuned(self) -> "Variant":
        """The variant with the reported values."""
        return Variant(self.algorithm, dict(self.values))

    # -- folders --------------------------------------------------------------------------------
    @cached_property
    def folder(self) -> str:
        """'alpha=0.1~tau=10', 'default' without hyper-parameters; ends in '+tuned' if it is tuned."""
        return format_hyperparameters(dict(self.values), "~") + _TUNED * self.tuned

    @classmethod
    @cache
    def from_folder(cls, algorithm: str, folder: str) -> "Variant":
        """Raises FairflError if the folder is not named like a variant's."""
        return cls(
            algorithm, _parsed(algorithm, folder.removesuffix(_TUNED), "~"), folder.endswith(_TUNED)
        )

    # -- tables ---------------------------------------------------------------------------------
    @property
    def csv(self) -> str:
        """'alpha=0.1,tau=10', '' without hyper-parameters; booleans as Python writes them, 'lsr=True'."""
        return ",".join(f"{key}={value}" for key, value in self.values)

    @classmethod
    def from_csv(cls, algorithm: str, text: str) -> "Variant":
        """Also reads ';' between pairs and blanks around them. Raises FairflError on a bad pair or a repeated key."""
        return cls(algorithm, _parsed(algorithm, text, ",;") if text.strip() else {})

    # -- config.yaml and command line -----------------------------------------------------------
    @property
    def selector(self) -> str:
        """'fedfv/alpha=0.1,tau=10', 'fedavg/default'."""
        return f"{self.algorithm}/{format_hyperparameters(dict(self.values), ',')}"

    @classmethod
    def from_selector(cls, text: str) -> "Variant":
        """Reads the folder's '~' too. Raises FairflError if it is not <algorithm>/<key>=<value>,... or
        <algorithm>/default."""
        algorithm, slash, hyperparameters = text.partition("/")
        if not (algorithm and slash):
            raise FairflError(f"{shown(text)} is not <algorithm>/<key>=<value>")
        return cls(algorithm, _parsed(algorithm, hyperparameters, ",~"))

    # -- for readers ----------------------------------------------------------------------------
    def __str__(self) -> str:
        """For messages: 'fedfv(alpha=0.1, tau=10)', 'fedavg'; numbers with six digits."""
        texts = {
            key: level if isinstance(level, str) else f"{level:g}"
            for key, (_, level) in self.levels
        }
        inner = ", ".join(f"{key}={text}" for key, text in texts.items())
        return f"{self.algorithm}({inner})" if inner else self.algorithm

    def label(self, title: str) -> str:
        """As the papers print it under the algorithm's title: 'EAGLE λ = 0.1'."""
        values = ", ".join(f"{symbol(key)} = {value}" for key, value in self.values)
        return f"{title} {values}".rstrip()

    def latex(self, title: str, escape: Callable[[str], str]) -> str:
        """'EAGLE $\\lambda = 0.1$', 'q-FFL $q = 1.0$'; `escape` writes text, such as names of several letters."""
        values = []
        for key, value in self.values:
            printed = latex_symbol(key, escape)
            if printed[0] == "$" and isinstance(value, int | float):
                values.append(f"{printed[:-1]} = {value}$")
            else:
                values.append(f"{printed} = {escape(str(value))}")
        return f"{escape(title)} {', '.join(values)}".rstrip()


def symbol(key: str) -> str:
    """'lambda' -> 'λ', 'eta_lambda' -> 'η_λ', anything else as it is."""
    return "_".join(GREEK.get(part, part) for part in key.split("_"))


def latex_symbol(key: str, escape: Callable[[str], str]) -> str:
    """'$\\eta_{\\lambda}$' for eta_lambda, '$q$'; a name of several letters stays a word."""
    parts = [f"\\{part}" if part in GREEK else part for part in key.split("_")]
    if all(part[:1] == "\\" or len(part) == 1 for part in parts):
        return f"${parts[0]}{''.join(f'_{{{part}}}' for part in parts[1:])}$"
    return escape(key)


def split_selectors(text: str) -> list[str]:
    """A list on the command line: in `fedavg,fedfv/alpha=0.1,tau=10` the last part belongs to the variant before it."""
    return [*filter(None, map(str.strip, re.split(r",(?![^,/]*=)", text)))]


def split_modifiers(
    hyperparameters: Mapping[str, Value],
) -> tuple[dict[str, Value], dict[str, dict[str, Value]]]:
    """Hyper-parameters of the algorithm and of its modifiers: {"q": 1, "dp.sigma": 2, "lsr": True} ->
    {"q": 1}, {"dp": {"sigma": 2}, "lsr": {}}."""
    modifier_names = names("modifiers")
    algorithms: dict[str, Value] = {}
    modifiers: dict[str, dict[str, Value]] = {}
    for key, value in hyperparameters.items():
        modifier, dot, parameter = key.partition(".")
        if dot:
            modifiers.setdefault(modifier, {})[parameter] = value
        elif modifier in modifier_names:
            modifiers.setdefault(modifier, {})
        else:
            algorithms[key] = value
    return algorithms, modifiers


# -- values -----------------------------------------------------------------------------------------
def format_hyperparameters(
    hyperparameters: Mapping[str, Value | None], separator: str = "~"
) -> str:
    """'alpha=0.1~tau=10' sorted by key, 'default' without any. Raises ValueError, see `format_value`."""
    return (
        separator.join(
            f"{key}={format_value(value)}" for key, value in sorted(hyperparameters.items())
        )
        or _DEFAULT
    )


def format_value(value: Value | None) -> str:
    """A value as part of a folder's name, 'true', '0.1'. Raises ValueError if it cannot be one."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not _IN_FOLDER.fullmatch(text):
        raise ValueError(
            f"{shown(text)} cannot be part of a file name: use letters, digits, _ . + -"
        )
    if text.endswith(_TUNED):
        raise ValueError(f"{shown(text)} cannot end in {_TUNED}: so do folders of tuned variants")
    return plain_data.short_enough(text)


def check_folder(hyperparameters: dict[str, Value]) -> dict[str, Value]:
    """The hyper-parameters. Raises ValueError if no folder can be called like these."""
    for key in hyperparameters:
        plain_data.name(key)
    length = sum(len(key) + len(format_value(value)) + 2 for key, value in hyperparameters.items())
    if length > _LONGEST_FOLDER:
        raise ValueError(
            f"too long for the name of a folder: {length} of {_LONGEST_FOLDER} characters"
        )
    return hyperparameters


@cache
def texts_of(algorithm: str, *keys: str) -> frozenset[str]:
    """Hyper-parameters that compare as they are written; keys of modifiers have dots."""
    return frozenset(key for key in keys if _is_text(algorithm, key))


def _is_text(algorithm: str, key: str) -> bool:
    modifier, dot, parameter = key.partition(".")
    kind, name, field = (
        ("modifiers", modifier, parameter) if dot else ("algorithms", algorithm, key)
    )
    try:
        fields = declaration(kind, name).Config.model_fields
    except FairflError:  # no such plug-in, or a faulty one: said where its values are checked
        return False
    annotation = next(
        (one.annotation for name, one in fields.items() if field in (name, one.alias)), None
    )
    parts = _parts(annotation)
    words = [part for part in parts if isinstance(part, str)]
    types = {part if isinstance(part, type) else type(part) for part in parts if part not in words}
    of_numbers = types in ({int}, {float}) and not any(map(_NUMBER.fullmatch, words))
    return bool(parts) and bool not in types and not of_numbers


def _parts(annotation: Any) -> list[Any]:
    """Values that a field may hold: types, and values of a Literal."""
    if annotation in (None, type(None)):
        return []
    parts = get_args(annotation)
    parts = parts[:1] if get_origin(annotation) is Annotated else parts
    return [one for part in parts for one in _parts(part)] if parts else [annotation]


def _parsed(algorithm: str, text: str, separators: str) -> dict[str, Value]:
    """Hyper-parameters from pairs; none from 'default'. Raises FairflError on a bad pair or a repeated key."""
    values: dict[str, Value] = {}
    for pair in [] if text == _DEFAULT else re.split(f"[{separators}]", text):
        key, equals, value = (piece.strip() for piece in pair.partition("="))
        if not (key and equals and value):
            raise FairflError(
                f"hyperparameters {shown(text)}: {shown(pair.strip())} is not key=value"
            )
        if key in values:
            raise FairflError(f"hyperparameters {shown(text)}: {shown(key)} is given twice")
        values[key] = value if texts_of(algorithm, key) else _value(value)
    return values


def _value(text: str) -> Value:
    """The value that a text stands for: true, false, a finite number, or else a word."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) and math.isfinite(float(text)) else text


def _level(value: Value, is_text: bool) -> Level:
    """Key that a value is compared by: the word of a field of text, else a number, also if a text reads as one."""
    if is_text:
        return True, str(value)
    number = _value(value) if isinstance(value, str) else value
    return (True, number) if isinstance(number, str) else (False, number)


@dataclass(frozen=True, order=True)
class Run:
    """setting x variant x seed: one training job."""

    setting: str
    variant: Variant
    seed: int

    @property
    def algorithm(self) -> str:
        return self.variant.algorithm

    @property
    def id(self) -> str:
        """The run id is the path below results/<scale>/runs/."""
        return f"{self.setting}/{self.algorithm}/{self.variant.folder}/seed{self.seed}"


def names_of(variants: Iterable[Variant]) -> dict[str | Variant, str]:
    """Names of these variants: each itself and its algorithm, and how they are written."""
    return {
        name: text
        for variant in variants
        for name, text in (
            (variant.algorithm, variant.algorithm),
            (variant, variant.selector),
        )
    }


def selected_by(text: str) -> str | Variant:
    """An algorithm or a variant, as `algorithms` in config.yaml names it; text that names neither stays as it is."""
    try:
        return Variant.from_selector(text) if "/" in text else text
    except FairflError:
        return text
