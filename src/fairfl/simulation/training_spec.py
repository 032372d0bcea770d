"""What a training depends on, as the specs of the jobs that train say it."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from fairfl.experiments import parts
from fairfl.experiments.base import JobSpec
from fairfl.experiments.plugins import known


class Model(parts.Choice):
    """A file of fairfl.models with its parameters."""

    name: Annotated[str, AfterValidator(known("models"))]


class LearningSpec(JobSpec):
    """Local training of one model: by clients of a federation, by one client alone, or on pooled data."""

    data: parts.Data | None = Field(
        None, description="of the prepared tensors, which are an input; recorded, not read"
    )
    model: Model
    pretrained_sha256: dict[str, str] = Field(
        default_factory=dict,
        description="of the files that model.pretrained means, by name; {}: no file is given",
    )
    loss: parts.Loss
    optimizer: parts.Optimizer = Field(description="of the local steps; restarts in each round")
    learning_rate: float = Field(description="of the local steps, before any decay")
    weight_decay: float = Field(
        description="decoupled: y shrinks by learning_rate x weight_decay per step"
    )
    batch_size: parts.Count | None = Field(description="samples; null: full batch")
    precision: parts.Precision = Field(description="arithmetic of the layers' products")
    seed: parts.Seed


class TrainingSpec(LearningSpec):
    """One run: setting x variant x seed."""

    setting: str
    algorithm: parts.Algorithm
    variant: str = Field(description="its folder")
    hyperparameters: dict[str, Any] = Field(
        description="all of the algorithm's, as its Config names them"
    )
    modifiers: dict[str, dict[str, Any]] = Field(
        description="modifier -> all of its hyper-parameters"
    )
    clients_per_round: parts.Count
    client_seed: parts.Seed | None = Field(
        None, description="of the rounds' clients; null: the run's own seed"
    )
    rounds: parts.Count
    local_epochs: parts.Count = Field(description="epochs of each client in a round")
    lr_decay: parts.Decay | None = Field(description="null: a constant learning rate")
    evaluate_every: parts.Count = Field(description="rounds between two evaluations")
    evaluate_log: parts.Spaced | None = Field(
        None, description="evaluations at further rounds, spaced evenly in log(round)"
    )
    evaluated_parts: list[parts.PartName]
    keep: parts.Keep = Field(
        description="what the run leaves: nothing, its last model, its path over evaluated rounds"
    )

    # What the partition, an input, was made from: recorded so that `fairfl plan` names what changed, not read.
    samples: parts.Count | None = None
    partition: parts.Choice | None = None
    partition_seed: parts.Seed | None = None
    label_noise: parts.LabelNoise | None = None
    clients: parts.Count | None = None
    split: parts.Split | None = None


class LocalOptimumSpec(LearningSpec):
    """Training of one client alone."""

    client: int = Field(ge=0, lt=2**31)
    local_optimum: parts.LocalOptimum


class SurrogateLengths(parts.Surrogate):
    """Training of a surrogate, with the lengths that the setting may leave out."""

    epochs: parts.Count
    every: parts.Count = Field(description="epochs between two measurements")


class SurrogateSpec(LearningSpec):
    """Central training on the data of one true cluster's clients."""

    data: parts.Data
    cluster: int = Field(ge=0, lt=2**31)
    evaluated_parts: list[parts.PartName] = Field(description="whose losses are written")
    surrogate: SurrogateLengths


Repetitions = Annotated[int, Field(ge=0, lt=2**31, description="0: not timed")]


class TimedVariant(TrainingSpec):
    """A variant as its training job has it."""

    shown: str = Field(description="hyper-parameters as tables spell them")


class TimingSpec(JobSpec):
    """Timing of one setting: what, and how often."""

    setting: str
    clients: parts.Count
    variants: list[TimedVariant]
    rounds: Repetitions
    inferences: Repetitions
    metrics: Repetitions
    precision: parts.Precision
