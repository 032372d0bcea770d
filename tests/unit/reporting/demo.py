"""What the tests of artifacts share: a small valid setting, the spec of an artifact as its job gets it."""

from typing import Any

from fairfl.experiments.paper import Artifact
from fairfl.experiments.setting import SOURCED
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.runtime.validation import checked

SETTING = {
    "data": {"name": "synthetic_gaussian"},
    "model": {"name": "logistic_regression"},
    "partition": {"name": "plain"},
    "clients": 3,
    "clients_per_round": 3,
    "split": {"train": 0.6, "validation": 0.2, "test": 0.2},
    "rounds": 100,
    "learning_rate": 0.1,
    "evaluate_every": 10,
    "seeds": [0, 1],
    "sources": dict.fromkeys(SOURCED, "paper section 4"),
}


def artifact(**given: Any) -> dict[str, Any]:
    """An artifact with its defaults filled in, as a job spec holds it."""
    return Artifact(**given).model_dump(mode="json", exclude={"claims", "assumed", "notes"})


def parsed(spec: dict[str, Any]) -> ArtifactSpec:
    """The spec as its job reads it."""
    return checked(spec, ArtifactSpec, "--spec")
