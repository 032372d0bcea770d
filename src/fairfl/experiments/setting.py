"""A setting: data set + model + partition + federation schedule."""

from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError, model_validator

from fairfl.experiments.base import Strict
from fairfl.experiments.declaration import declaration
from fairfl.experiments.parts import (
    PARTS,
    Choice,
    Count,
    Data,
    Decay,
    Keep,
    LabelNoise,
    LocalOptimum,
    Loss,
    Optimizer,
    PartName,
    Seed,
    Spaced,
    Split,
    Surrogate,
)
from fairfl.experiments.searches import (
    Seeds,
    Tuning,
    Unstated,
    known_hyperparameters,
)
from fairfl.experiments.variant import Value
from fairfl.runtime.plain_data import different
from fairfl.runtime.validation import problems

# Where a hyper-parameter comes from. Every source in papers/*.yaml begins with one of these words.
SOURCE_KINDS = (
    "paper",
    "public code",
    "confirmed",
    "inferred",
    "recalled",
    "not stated: chosen because",
)


def check_kinds(sources: dict[str, str]) -> dict[str, str]:
    """The sources by key. Raises ValueError for one that begins with none of SOURCE_KINDS."""
    for key, text in sources.items():
        if not text.startswith(SOURCE_KINDS):
            raise ValueError(f"source of {key!r} must begin with one of {', '.join(SOURCE_KINDS)}")
    return sources


def _fill_defaults(kind: str, choice: Choice) -> Choice:
    """Fill in the defaults of a plug-in; problems become ValueErrors that pydantic locates."""
    config = declaration(kind, choice.name).Config
    try:
        options = config.model_validate(choice.options).model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        raise ValueError("; ".join(problems(error, config, ""))) from None
    return Choice(name=choice.name, **options)


def _fill_defaults_of_data(value: Data) -> Data:
    return Data(
        name=value.name, stands_in_for=value.stands_in_for, **_fill_defaults("data", value).options
    )


def _check_rates(value: dict[str, float]) -> dict[str, float]:
    known_hyperparameters({algorithm: {} for algorithm in value})
    for algorithm, rate in value.items():
        if not rate > 0:
            raise ValueError(f"{algorithm}: {rate} is not a positive learning rate")
    return value


def _in_order(parts: list[str]) -> list[str]:
    different(parts)
    return sorted(parts, key=PARTS.index)


class Timing(Strict):
    """Repetitions of what is timed (FOCUS appendix D.7); one more of each warms up and does not count."""

    rounds: Count = Field(20, description="training rounds of each variant")
    inferences: Count = Field(
        100, description="passes over the clients' test data with each variant's models"
    )
    metrics: Count = Field(100, description="evaluations of each metric")


class Setting(Strict):
    """One row of the papers' 'experimental set-up': everything but algorithm and seed."""

    data: Annotated[Data, AfterValidator(_fill_defaults_of_data)] = Field(
        description="data set and its options"
    )
    samples: Count | None = Field(None, description="samples drawn from the data set; null: all")
    model: Annotated[Choice, AfterValidator(partial(_fill_defaults, "models"))] = Field(
        description="a file of models/ and its parameters"
    )
    partition: Annotated[Choice, AfterValidator(partial(_fill_defaults, "partition"))] = Field(
        description="how samples are partitioned over clients, with parameters"
    )
    partition_seed: Seed | None = Field(
        None,
        description="one partition for all runs, only the split differs; null: each run its own",
    )
    client_seed: Seed | None = Field(
        None, description="one draw of each round's clients for all runs; null: each run its own"
    )
    label_noise: LabelNoise | None = Field(
        None, description="drawn once per seed, before training; null: none"
    )
    clients: int = Field(gt=0, le=1_000_000, description="K")
    clients_per_round: Count = Field(description="m, sampled in each round")
    split: Split = Field(description="of each client's samples")
    rounds: Count = Field(description="T, communication rounds")
    local_epochs: Count = Field(1, description="of each client in a round")
    batch_size: Count | None = Field(None, description="null: full batch")
    learning_rate: float = Field(gt=0, description="of the local steps, before any decay")
    learning_rates: Annotated[dict[str, float], AfterValidator(_check_rates)] = Field(
        default_factory=dict,
        description="algorithms with a rate of their own: algorithm -> learning_rate",
    )
    hyperparameters: Annotated[
        dict[str, dict[str, Value]], AfterValidator(known_hyperparameters)
    ] = Field(
        default_factory=dict,
        description="values in this setting: algorithm -> hyper-parameter -> value, unless a row has others",
    )
    modifiers: Annotated[
        dict[str, dict[str, Value | None]],
        AfterValidator(partial(known_hyperparameters, kind="modifiers")),
    ] = Field(
        default_factory=dict,
        description="values in this setting: modifier -> parameter -> value, unless a row has others",
    )
    lr_decay: Decay | None = Field(None, description="null: a constant learning rate")
    optimizer: Optimizer = Field("sgd", description="of the local steps; restarts in each round")
    weight_decay: float = Field(
        0.0, ge=0, description="decoupled: y shrinks by learning_rate x weight_decay per step"
    )
    loss: Loss = Field("cross_entropy", description="what clients minimise")
    evaluate_every: Count = Field(description="rounds between two evaluations")
    evaluate_log: Spaced | None = Field(
        None, description="evaluations at further rounds, spaced evenly in log(round)"
    )
    evaluated_parts: Annotated[list[PartName], AfterValidator(_in_order)] = Field(
        ["train", "validation", "test"],
        min_length=1,
        description="what is evaluated along training",
    )
    reported_part: PartName = Field("test", description="samples that tables show")
    gap_part: PartName | None = Field(None, description="null: reported_part")
    late_evaluations: Count | None = Field(
        None,
        description="metrics named *_late are means over this number of last evaluations; null: no such metrics",
    )
    local_optimum: LocalOptimum | None = Field(
        None, description="training of each client alone, for its gap"
    )
    surrogate: Surrogate | None = Field(
        None, description="training on each true cluster, for excess risks"
    )
    tuning: Tuning | None = Field(None, description="search of hyper-parameters; null: none")
    unstated: Unstated | None = Field(
        None, description="facts that calibration searches for; null: none"
    )
    fitted: dict[str, str] | None = Field(
        None,
        description="row, such as propfair/M=2.0, or algorithm -> what was chosen by its numbers: they are not checked",
    )
    timing: Timing | None = Field(None, description="null: no artifact has its seconds")
    keep: Keep = Field(
        "nothing", description="what a run leaves: its last model, its path over evaluated rounds"
    )
    seeds: Seeds = Field(description="one run of each variant for each")
    sources: Annotated[dict[str, str], AfterValidator(check_kinds)] = Field(
        default_factory=dict, description="key -> where its value comes from"
    )
    notes: list[str] = Field(default_factory=list, description="sentences below tables and figures")
    levels: dict[str, str] = Field(
        default_factory=dict,
        description="factor -> its level here; in YAML `levels: [mnist, rotation, all]`, see `factors`",
    )

    @model_validator(mode="after")
    def _check_counts(self) -> "Setting":
        if self.clients_per_round > self.clients:
            raise ValueError(
                f"clients_per_round is {self.clients_per_round}, there are only {self.clients} clients"
            )
        if self.samples is not None and self.samples < self.clients:
            raise ValueError(
                f"samples is {self.samples}, less than one for each of {self.clients} clients"
            )
        shards = self.partition.options.get("shards_per_client")
        if shards and self.samples is not None and shards * self.clients > self.samples:
            raise ValueError(
                f"{shards * self.clients} shards (partition.shards_per_client x clients) "
                f"are more than {self.samples} samples"
            )
        if self.label_noise and self.loss in ("squared_error", "next_word"):
            raise ValueError(f"label_noise flips classes, which loss {self.loss} does not have")
        for key, part in (
            ("reported_part", self.reported_part),
            ("gap_part", self.gap_part or self.reported_part),
        ):
            if part not in self.evaluated_parts:
                raise ValueError(
                    f"{key} is {part}, evaluated_parts are only {', '.join(self.evaluated_parts)}"
                )
        if self.local_optimum and self.split.validation == 0:
            raise ValueError(
                "split.validation is 0, but local_optimum measures L*_k on validation data"
            )
        if self.surrogate and self.surrogate.clusters > self.clients:
            raise ValueError(
                f"surrogate.clusters is {self.surrogate.clusters}, there are only {self.clients} clients"
            )
        if self.surrogate and "test" not in self.evaluated_parts:
            parts = ", ".join(self.evaluated_parts)
            raise ValueError(
                f"surrogate is chosen by its test loss, evaluated_parts are only {parts}"
            )
        return self

    def training(self) -> dict[str, Any]:
        """The part that a training job depends on: no sources, notes, seeds."""
        left_out = {
            "sources",
            "notes",
            "levels",
            "seeds",
            "tuning",
            "unstated",
            "fitted",
            "timing",
        }
        if (
            self.client_seed is None
        ):  # a spec says it only where it is: runs recorded before there was one stay valid
            left_out.add("client_seed")
        return self.model_dump(mode="json", exclude=left_out)

    def training_of(self, algorithm: str) -> dict[str, Any]:
        """Keys that a training of one algorithm depends on, with its learning rate, without its hyper-parameters."""
        training = self.training()
        del training["hyperparameters"], training["modifiers"]
        rates = training.pop("learning_rates")
        return {**training, "learning_rate": rates.get(algorithm, training["learning_rate"])}

    def tuned_at(self, point: dict[str, Any]) -> dict[str, Any]:
        """The setting of one point of the tuning grid, as data: no rates per algorithm, scored on validation data.

        The local optima stay: some algorithms need them to train.
        """
        tuning = self.tuning
        if tuning is None:
            raise ValueError("the setting has no tuning")
        split = self.split.model_dump(mode="json")
        if not split["validation"]:
            validation = round(split["train"] * tuning.hold_out, 12)
            split |= {"train": split["train"] - validation, "validation": validation}
        return self.model_dump(mode="json") | {
            "split": split,
            "seeds": tuning.seeds,
            "rounds": tuning.rounds or self.rounds,
            "reported_part": "validation",
            "gap_part": None,
            "evaluated_parts": sorted({*self.evaluated_parts, "validation"}, key=PARTS.index),
            "surrogate": None,
            "learning_rates": {} if "learning_rate" in point else self.learning_rates,
            "tuning": None,
            "unstated": None,
            "keep": "nothing",
            **point,
        }


# Hyper-parameters that must carry a source in papers/*.yaml ("a.b" is key b of a).
SOURCED = (
    "data", "samples", "model", "partition", "clients", "clients_per_round", "split", "rounds",
    "local_epochs", "batch_size", "learning_rate", "loss", "evaluate_every", "reported_part", "seeds",
)  # fmt: skip
