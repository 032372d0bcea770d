"""python -m fairfl.jobs.calibrate: what the unstated facts of a setting must have been, by FedAvg's reported row.

Only FedAvg is looked at: to choose an unstated fact by a paper's own method, or by any other row, would fit the answer
to the claims. How the choice is made: fairfl.judgement.calibration.
"""

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.described import Metric
from fairfl.experiments.parts import Count
from fairfl.experiments.variant import Value, Variant
from fairfl.runtime import atomic, cli, job
from fairfl.runtime.errors import FairflError

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload
    from fairfl.judgement.calibration import Target
    from fairfl.judgement.cells import Cell


class CalibrationPoint(JobSpec):
    """A point of the grid."""

    setting: str
    options: dict[str, Value | None] = Field(description="by fact; {}: the named choices")
    changes: dict[str, Any] = Field(description="key of the setting -> value")
    departures: list[str] = Field(description="facts that differ from the named choice")


class CalibrateSpec(JobSpec):
    """The grid of a setting's unstated facts, and the numbers that it is searched by."""

    setting: str
    data: str = Field(description="name of the data set for tables")
    changed: list[str] = Field(
        description="what the scale replaces, which makes it a demonstration only"
    )
    algorithm: Literal["fedavg"] = Field(
        description="never another row, never the paper's own method"
    )
    facts: dict[str, str] = Field(description="fact -> why these values")
    targets: dict[str, float] = Field(
        description="metric -> the miss that counts 1, in the unit that is printed"
    )
    metrics: dict[str, Metric]
    points: list[CalibrationPoint]
    reported_seeds: Count
    level: float = Field(
        description="share of draws that may speak for the other of two points that are told apart"
    )
    files: dict[str, dict[str, str]] = Field(
        description="tidy: setting -> path; reported: artifact -> path"
    )
    reported: dict[str, str] = Field(
        default_factory=dict, description="content of the papers' numbers, by path"
    )


def spec(workload: "Workload", files: dict[str, dict[str, str]], setting: str) -> dict[str, Any]:
    """Grid, targets, and where the numbers lie."""
    from fairfl.judgement.changes import changed_by_scale, changed_keys, original

    grid = workload.calibration_grid(setting)
    unstated, paper = (
        workload.settings[setting].unstated,
        workload.papers[workload.paper_of[setting]],
    )
    assert unstated is not None  # calibration_grid has looked
    return CalibrateSpec(
        setting=setting,
        data=workload.settings[setting].data.label,
        changed=sorted(changed_keys(changed_by_scale(workload, setting))),
        algorithm=unstated.algorithm,
        facts={name: fact.why for name, fact in unstated.facts.items()},
        targets=unstated.targets,
        metrics={metric: paper.metrics[metric] for metric in unstated.targets},
        points=[
            CalibrationPoint(
                setting=name,
                options=point.options,
                changes=point.changes,
                departures=point.departures,
            )
            for name, point in grid.items()
        ],
        reported_seeds=len(original(workload, setting).seeds),
        level=workload.config.verdict.significance_level,
        files=files,
    ).model_dump(mode="json")


def numbers(spec: CalibrateSpec) -> tuple[list[dict[str, "Cell"]], dict[str, float]]:
    """FedAvg's numbers at each point, by metric, and its reported ones.

    Raises FairflError if the paper does not report a target, or a point has no run that measured one.
    """
    from fairfl.judgement.results import Results

    results = Results(spec.files, lambda _: spec.metrics)
    fedavg = Variant(spec.algorithm, {})
    reported: dict[str, float] = {}
    for cells in results.reported.values():
        for metric in spec.targets:
            cell = cells.find(spec.setting, fedavg, metric)
            if cell is not None and cell.mean is not None:
                reported.setdefault(metric, cell.mean)
    ours = []
    for metric in spec.targets:
        if metric not in reported:
            raise FairflError(
                f"{spec.setting}: unstated.targets: no number for {metric} of {fedavg} is reported"
            )
    for point in spec.points:
        found = {
            metric: results.ours.find(point.setting, fedavg, metric) for metric in spec.targets
        }
        for metric, cell in found.items():
            if cell is None:
                raise FairflError(f"{point.setting}: {fedavg}: no run measured {metric}")
        ours.append({metric: cell for metric, cell in found.items() if cell is not None})
    return ours, reported


def choose(spec: CalibrateSpec) -> dict[str, Any]:
    """The choice and the fit of every point, the best first."""
    from fairfl.judgement import calibration

    ours, reported = numbers(spec)
    targets = _targets(spec, reported)
    found, noise = calibration.fits(ours, targets, spec.reported_seeds)
    known = bool(noise) and None not in noise.values()
    number = calibration.choice(
        found, [len(point.departures) for point in spec.points], known, spec.level
    )
    told = [fit.worse is None or fit.worse >= 1 - spec.level for fit in found]
    points = [
        {
            "options": point.options,
            "departures": point.departures,
            "ours": {metric: cell.mean for metric, cell in cells.items()},
            "misfit": fit.misfit,
            "worse": fit.worse,
        }
        for point, cells, fit in zip(spec.points, ours, found, strict=True)
    ]
    return {
        "setting": spec.setting,
        "algorithm": spec.algorithm,
        "data": spec.data,
        "chosen": spec.points[number].options,
        "changes": spec.points[number].changes,
        "told_apart": known and told[0],
        "explanation": _explanation(spec, number, known, not noise, told.count(False), len(found)),
        "targets": {
            metric: {
                "reported": target.reported,
                "tolerance": target.tolerance,
                "noise": noise.get(metric),
            }
            for metric, target in targets.items()
        },
        "points": sorted(points, key=lambda point: (point["misfit"] is None, point["misfit"] or 0)),
    }


def _targets(spec: CalibrateSpec, reported: dict[str, float]) -> "dict[str, Target]":
    """The reported number of each metric, with the miss that counts 1 and half the unit of its last digit."""
    from fairfl.judgement.calibration import Target
    from fairfl.judgement.cells import digits_of
    from fairfl.judgement.units import half_unit

    digits = digits_of(spec.metrics)
    return {
        metric: Target(
            reported[metric],
            tolerance,
            half_unit(reported[metric], spec.metrics[metric].unit, digits(metric)),
        )
        for metric, tolerance in spec.targets.items()
    }


def _explanation(
    spec: CalibrateSpec, number: int, known: bool, diverged: bool, fitting: int, points: int
) -> str:
    """Why point `number` was chosen; `known`: the noise is, `fitting`: points that fit as far as seeds can tell."""
    best = f"the best of {points} points"
    if not known:
        why = (
            "FedAvg diverged"
            if diverged
            else "One seed a point does not say how sure the numbers are"
        )
        text = f"{why}, so the named choices stay."
    elif number == 0:
        text = f"FedAvg cannot tell the named choices from {best}, so they stay."
    else:
        kept = ", ".join(fact for fact in spec.facts if fact not in spec.points[number].departures)
        text = (
            f"FedAvg tells the named choices from {best}. Of the {fitting} that fit as far as seeds can tell, "
            f"the one that departs least from the named choices is taken. As named: {kept or 'none'}."
        )
    return text + (
        f" A demonstration only: the scale changes {', '.join(spec.changed)}."
        if spec.changed
        else ""
    )


def main(argv: list[str] | None = None) -> None:
    args, spec = job.parse(
        argv,
        "calibrate",
        CalibrateSpec,
        out="the choice (.json)",
        md="the fit of every point, as text",
    )
    with job.run_context(args, args.out, args.md):
        from fairfl.judgement import calibration

        made = choose(spec)
        atomic.write_text(args.out, json.dumps(made, indent=1) + "\n")
        atomic.write_text(args.md, calibration.markdown(made, spec.facts))


if __name__ == "__main__":
    cli.run(main)
