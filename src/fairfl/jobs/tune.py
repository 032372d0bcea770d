"""python -m fairfl.jobs.tune: choose learning rate, batch size and hyper-parameters of one algorithm in one setting.

The grid's runs hold out a part of the training data; what fairfl.jobs.trials makes of them are metrics of that part
only, so no test number can reach the choice.
"""

import json
import math
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.parts import Count, Seed
from fairfl.jobs import job
from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest
from fairfl.values import tables

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload

CHOSEN = {"learning_rate", "batch_size", "hyperparameters"}
COLUMNS = {
    "setting": str,
    "algorithm": str,
    "hyperparameters": str,
    "seed": int,
    "metric": str,
    "value": float,
}


class TuningPoint(JobSpec):
    """A point of the grid."""

    setting: str = Field(description="the setting at this learning rate and batch size")
    shown: str = Field(description="hyper-parameters as tables spell them")
    learning_rate: float
    batch_size: Count | None = Field(description="null: full batch")
    hyperparameters: dict[str, Any]


class TuneSpec(JobSpec):
    """The grid of one algorithm in one setting, and how its points are scored."""

    setting: str
    algorithm: str
    data: str = Field(description="name of the data set for tables")
    metric: str
    direction: Literal["up", "down"] = Field(description="up: larger is better")
    seeds: list[Seed] = Field(description="a point's score is the mean over these")
    points: list[TuningPoint]


def spec(workload: "Workload", setting: str, algorithm: str) -> dict[str, Any]:
    """The points of the grid and how they are scored."""
    base = workload.settings[setting]
    points = []
    for name in workload.tuning_grid(setting):
        training = workload.settings[name].training_of(algorithm)
        points += [
            {
                "setting": name,
                "shown": variant.csv,
                "learning_rate": training["learning_rate"],
                "batch_size": training["batch_size"],
                "hyperparameters": dict(variant.values),
            }
            for variant in workload.variants[name]
            if variant.algorithm == algorithm
        ]
    assert base.tuning is not None  # tuning_grid has looked
    return {
        "setting": setting,
        "algorithm": algorithm,
        "data": base.data.label,
        **base.tuning.model_dump(mode="json", include={"metric", "direction", "seeds"}),
        "points": points,
    }


def score(spec: TuneSpec, point: TuningPoint, rows: list[dict[str, str]]) -> float | None:
    """Mean of the metric over the seeds of one grid point; None if a seed diverged.

    Raises FairflError if the metric was not measured or a seed is missing.
    """
    runs = [
        row
        for row in rows
        if row["setting"] == point.setting
        and row["algorithm"] == spec.algorithm
        and row["hyperparameters"] == point.shown
    ]
    values = {int(row["seed"]): row["value"] for row in runs if row["metric"] == spec.metric}
    if runs and not values:
        metrics = sorted({row["metric"] for row in runs})
        raise FairflError(
            f"{spec.setting}: tuning.metric: {spec.metric!r}{nearest(spec.metric, metrics)}"
        )
    if sorted(values) != sorted(spec.seeds):
        raise FairflError(f"{point.setting}: {spec.algorithm}({point.shown}): no run of some seed")
    mean = sum(float(value or "nan") for value in values.values()) / len(values)
    return mean if math.isfinite(mean) else None


def choose(spec: TuneSpec, rows: list[dict[str, str]]) -> dict[str, Any]:
    """The best point of the grid and all points with their scores; the earlier one wins a tie.

    If every point diverged, the first one stands with value null; so does an only one, which is not tried.
    """
    tried = len(spec.points) > 1
    points = [
        point.model_dump(include=CHOSEN) | {"value": score(spec, point, rows) if tried else None}
        for point in spec.points
    ]
    sign = 1 if spec.direction == "up" else -1
    finite = [point for point in points if point["value"] is not None]
    best = max(finite, key=lambda point: sign * point["value"]) if finite else points[0]
    untried = {} if tried else {"tried": False}
    return {**spec.model_dump(exclude={"points", "code"}), **best, **untried, "points": points}


def main(argv: list[str] | None = None) -> None:
    trials = {"trials": "final metrics of the grid's runs (.csv); not read if it has one point"}
    args, spec = job.parse(argv, "tune", TuneSpec, optional=trials, out="the choice (.json)")
    with job.run_context(args, args.out):
        rows = [row for _, row in tables.rows(args.trials, COLUMNS)] if args.trials else []
        atomic.write_text(args.out, json.dumps(choose(spec, rows), indent=1) + "\n")


if __name__ == "__main__":
    cli.run(main)
