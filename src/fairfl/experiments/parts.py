"""The parts of a setting that jobs read as they stand in papers/*.yaml, and the words that they may hold.

Jobs hash this module, not fairfl.experiments.setting: a rule about settings trains nothing again.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from fairfl.experiments.base import Strict, Whole
from fairfl.experiments.plugins import known

PartName = Literal["train", "validation", "test"]
PARTS = ("train", "validation", "test")
Loss = Literal["cross_entropy", "softmax_cross_entropy", "logistic", "next_word", "squared_error"]
Optimizer = Literal["sgd", "adamw"]
Precision = Literal["fp32", "tf32", "bf16"]
Keep = Literal["nothing", "model", "path"]
Seed = Whole
Algorithm = Annotated[str, AfterValidator(known("algorithms"))]

# More than any federation has, and few enough to be listed, counted and multiplied.
Count = Annotated[int, Field(gt=0, le=10**9)]

# Rounds spaced evenly in their logarithm, first and last among them.
Spaced = Annotated[int, Field(ge=2, le=10**4)]


class Choice(Strict):
    """A plug-in by name with its parameters: `{name: cnn, channels: [32, 64]}`."""

    model_config = Strict.model_config | ConfigDict(extra="allow")
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Parameters as written in YAML, without the name."""
        return dict(self.__pydantic_extra__ or {})


class Data(Choice):
    """The data set. `stands_in_for` is set by a scale that replaces the paper's data."""

    stands_in_for: str | None = None

    @property
    def label(self) -> str:
        """Name for tables and reports: 'digits (stand-in for emnist)'."""
        return (
            f"{self.name} (stand-in for {self.stands_in_for})" if self.stands_in_for else self.name
        )


class Split(Strict):
    """Fractions of each client's samples for training, validation and test; they sum to 1."""

    train: float = Field(gt=0, le=1, description="share of a client's samples")
    validation: float = Field(ge=0, lt=1, description="share of a client's samples")
    test: float = Field(ge=0, lt=1, description="share of a client's samples")
    order: Literal["shuffled", "stored", "stored_one_more", "stored_by_class", "official"] = Field(
        "shuffled",
        description="samples shuffled first; or in stored order, train first, each client as a whole, likewise with "
        "the share rounded up and one sample more in front of the test part, or class by class; or the data set's own "
        "test part, where the fractions are of its training part",
    )

    @model_validator(mode="after")
    def _check_sum(self) -> "Split":
        total = self.train + self.validation + self.test
        if not math.isclose(total, 1.0, abs_tol=1e-9):
            raise ValueError(f"train + validation + test is {total:g}, it must be 1")
        if self.order == "official" and self.test:
            raise ValueError(
                f"order official takes the data set's own test part, so test must be 0, not {self.test:g}"
            )
        return self


class Decay(Strict):
    """Step-wise decay: the rate of round t = 0, 1, ... is learning_rate * factor ** (t // every)."""

    factor: float = Field(gt=0, le=1, description="the rate is multiplied by it")
    every: Count = Field(1, description="rounds")


class LabelNoise(Strict):
    """Symmetric flips of training labels: with probability `ratio`, another class, each with the same chance."""

    ratio: float = Field(ge=0, le=1, description="chance of a label to be flipped")


class LocalOptimum(Strict):
    """Stopping rule of the pretraining that yields L*_k (EAGLE appendix B.1)."""

    max_steps: Count = Field(description="cap on local epochs")
    flat_window: Count = Field(description="epochs over which the improvement is taken")
    flat_tolerance: float = Field(
        ge=0, description="relative improvement below which the curve is flat"
    )


class Surrogate(Strict):
    """The model of each true cluster whose loss stands for the smallest possible one (FOCUS section 5.1).

    The paper says only that it is trained centrally on the data of the cluster's agents; architecture, optimizer and
    learning rate are the setting's.
    """

    clusters: Count = Field(
        description="true clusters of the clients, one surrogate each; 1: one for all"
    )
    method: Literal["trained", "known"] = Field(
        "trained",
        description="known: the data come with the smallest possible loss, nothing is trained",
    )
    epochs: Count | None = Field(None, description="null: rounds x local_epochs")
    every: Count | None = Field(
        None,
        description="epochs between two measurements; the optimizer restarts after each; null: local_epochs",
    )
    batch_size: Literal["setting", "pooled"] = Field(
        "setting",
        description="the setting's; or times the cluster's clients: as many steps in an epoch as one of them takes",
    )
