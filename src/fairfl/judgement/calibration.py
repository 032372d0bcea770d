"""Which point of a grid of unstated facts makes FedAvg come out as the paper reports it.

misfit = sqrt(mean over targets of ((ours - reported) / tolerance)^2), on means over seeds.

Seeds decide as well. All points run with the same seeds, so their numbers move together, and so do the targets of a
run. Each draw gives every seed a random weight, which moves the means of all points and targets by the weighted
deviations of the seeds' runs, as far as other seeds would: t s / sqrt(n), t with n - 1 degrees of freedom. The
paper's numbers are drawn likewise, with weights of their own and the deviations of the best point. A point differs from
the best one if that fits better in all but `verdict.significance_level` of the draws. Of the points that do not
differ from the best, the one is chosen that departs from the named choices in the fewest facts, and among these the
best. So a fact that FedAvg cannot tell stays.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml
from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.described import Metric
from fairfl.experiments.parts import Count
from fairfl.experiments.reading import with_key
from fairfl.experiments.variant import Value, Variant
from fairfl.judgement.cells import Cell, digits_of
from fairfl.judgement.results import Results
from fairfl.judgement.units import half_unit, known_or_none
from fairfl.runtime.errors import FairflError

DRAWS = 2000
FEDAVG = Variant("fedavg", {})
"""Never another row, never the paper's own method."""


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
    facts: dict[str, str] = Field(description="fact -> why these values")
    targets: dict[str, float] = Field(
        description="metric -> the miss that counts 1, in the unit that is printed"
    )
    metrics: dict[str, Metric]
    points: list[CalibrationPoint] = Field(description="the named choices come first")
    reported_seeds: Count
    level: float = Field(
        description="share of resamples that may speak for the worse of two points that differ"
    )
    files: dict[str, dict[str, str]] = Field(
        description="tidy: setting -> path; reported: artifact -> path"
    )
    reported: dict[str, str] = Field(
        default_factory=dict, description="content of the papers' numbers, by path"
    )


def choose(spec: CalibrateSpec) -> dict[str, Any]:
    """The choice and the fit of every point, the best first.

    Raises FairflError if the paper does not report a target, or a point has no run that measured one.
    """
    results = Results(spec.files, lambda _: spec.metrics)
    reported = [_reported(results, spec.setting, metric) for metric in spec.targets]
    ours = [_ours(results, point.setting, spec.targets) for point in spec.points]
    misfits, worse, noise = compute_misfits(spec, ours, reported)
    fitting = np.flatnonzero(worse < 1 - spec.level).tolist()
    is_noise_known = None not in noise
    chosen = spec.points[
        min(fitting, key=lambda n: (len(spec.points[n].departures), misfits[n]))
        if is_noise_known
        else 0
    ]
    points = [
        {
            **spec.points[n].model_dump(include={"options", "departures"}),
            "ours": {metric: cell.mean for metric, cell in zip(spec.targets, ours[n], strict=True)},
            "misfit": known_or_none(misfits[n]),
            "worse": known_or_none(worse[n]),
        }
        for n in np.argsort(misfits, kind="stable")
    ]
    return {
        "setting": spec.setting,
        "algorithm": FEDAVG.algorithm,
        "data": spec.data,
        "chosen": chosen.options,
        "changes": chosen.changes,
        "told_apart": is_noise_known and 0 not in fitting,
        "explanation": _explanation(spec, chosen, is_noise_known, len(fitting)),
        "targets": {
            metric: {"reported": number, "tolerance": tolerance, "noise": one}
            for (metric, tolerance), number, one in zip(
                spec.targets.items(), reported, noise, strict=True
            )
        },
        "points": points,
    }


def _ours(results: Results, setting: str, metrics: Mapping[str, float]) -> list[Cell]:
    cells = []
    for metric in metrics:
        cell = results.ours.find(setting, FEDAVG, metric)
        if cell is None:
            raise FairflError(f"{setting}: {FEDAVG}: no run measured {metric}")
        cells.append(cell)
    return cells


def _reported(results: Results, setting: str, metric: str) -> float:
    for cells in results.reported.values():
        cell = cells.find(setting, FEDAVG, metric)
        if cell is not None and cell.mean is not None:
            return cell.mean
    raise FairflError(
        f"{setting}: unstated.targets: no number for {metric} of {FEDAVG} is reported"
    )


def compute_misfits(
    spec: CalibrateSpec, ours: Sequence[Sequence[Cell]], reported: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, list[float | None]]:
    """Misfit of each point, share of draws in which the best one fits better, and what one seed makes of each target.

    `ours` [points, targets]. The first two are NaN where a run diverged; the last is None where it is unknown.
    """
    means = _finite([[cell.mean for cell in cells] for cells in ours])
    tolerance = np.array(list(spec.targets.values()))

    def misfit(means: np.ndarray, reported: np.ndarray) -> np.ndarray:
        return np.sqrt(np.mean(((means - reported) / tolerance) ** 2, axis=-1))

    published, unknown = np.array(reported), [None] * len(reported)
    misfits = misfit(means, published)
    if np.isnan(misfits).all():
        return misfits, misfits, [*unknown]
    best = np.nanargmin(misfits)
    # Deviations of the runs from their mean, [points, seeds, targets]; of the seeds that all points have.
    seeds = sorted(set.intersection(*(set(cell.by_seed) for cells in ours for cell in cells)))
    values = _finite([[[cell.by_seed[s] for cell in cells] for s in seeds] for cells in ours])
    residuals = values - values.mean(axis=1, keepdims=True)

    digits = digits_of(spec.metrics)
    rounding = [
        half_unit(number, spec.metrics[metric].unit, digits(metric))
        for metric, number in zip(spec.targets, reported, strict=True)
    ]
    generator = np.random.default_rng(0)
    resampled = means + _errors(generator, residuals, len(seeds))
    paper = published + rounding * generator.uniform(-1, 1, (DRAWS, 1, len(reported)))
    again = misfit(resampled, paper + _errors(generator, residuals[[best]], spec.reported_seeds))
    worse = np.mean(again[:, [best]] < again, axis=0)
    noise = [*unknown] if len(seeds) < 2 else np.std(values[best], axis=0, ddof=1).tolist()
    return misfits, np.where(np.isnan(misfits), np.nan, worse), noise


def _finite(numbers: Sequence[Any]) -> np.ndarray:
    """As an array, NaN for what is not finite."""
    array = np.array(numbers, dtype=float)
    return np.where(np.isfinite(array), array, np.nan)


def _errors(generator: np.random.Generator, residuals: np.ndarray, seeds: int) -> np.ndarray:
    """Errors of means over seeds, [draws, points, targets]; 0 where one seed says nothing of them."""
    count = residuals.shape[1]
    if count < 2:
        return np.zeros(())
    weights = generator.standard_normal((DRAWS, count))
    scale = np.sqrt(generator.chisquare(count - 1, DRAWS) * seeds)
    return np.einsum("ds,pst->dpt", weights / scale[:, None], residuals)


# -- for readers --------------------------------------------------------------------------------
def _explanation(
    spec: CalibrateSpec, chosen: CalibrationPoint, is_noise_known: bool, fitting: int
) -> str:
    """Reason for the choice of a point; `fitting`: points that fit as far as seeds can tell."""
    best = f"the best of {len(spec.points)} points"
    if not is_noise_known:
        why = (
            "One seed a point does not say how sure the numbers are"
            if fitting
            else "FedAvg diverged"
        )
        text = f"{why}, so the named choices stay."
    elif chosen == spec.points[0]:
        text = f"FedAvg cannot tell the named choices from {best}, so they stay."
    else:
        unchanged = ", ".join(fact for fact in spec.facts if fact not in chosen.departures)
        text = (
            f"FedAvg distinguishes the named choices from {best}. Of the {fitting} that fit as well as seeds can show, "
            f"the one that departs least from the named choices is taken. As named: {unchanged or 'none'}."
        )
    demonstration = f" A demonstration only: the scale changes {', '.join(spec.changed)}."
    return text + (demonstration if spec.changed else "")


def markdown(choice: Mapping[str, Any], why: Mapping[str, str]) -> str:
    """The page of one choice: what was asked, what came out, the fit of each point, the best first."""
    metrics = choice["targets"]
    chosen = ", ".join(f"{fact} = {value}" for fact, value in choice["chosen"].items())
    tolerances = ", ".join(
        f"{metric} ± {target['tolerance']:g}" for metric, target in metrics.items()
    )
    printed = [f"{target['reported']:g}" for target in metrics.values()]
    lines = [
        ["", *why, *metrics, "misfit", "worse"],
        ["---"] * (len(why) + len(metrics) + 3),
        ["reported", *[""] * len(why), *printed, "", ""],
    ]
    for point in choice["points"]:
        options = point["options"]
        words = {"chosen": options == choice["chosen"], "as named": not options}
        numbers = [*(point["ours"][metric] for metric in metrics), point["misfit"], point["worse"]]
        texts = ["diverged" if number is None else f"{number:.4g}" for number in numbers]
        lines.append(
            [
                ", ".join(filter(words.get, words)),
                *(str(options[fact]) if options else "named" for fact in why),
                *texts,
            ]
        )
    text = [
        f"# What {choice['setting']} does not say",
        f"Chosen on FedAvg's reported row only: **{chosen or 'as the YAML names them'}**. {choice['explanation']}",
        f"Made from {choice['data']}.",
        "\n".join(f"- `{fact}`: {reason}" for fact, reason in why.items()),
        f"A miss that counts 1: {tolerances}. `misfit` is the root mean square of the misses. `worse` is the share of "
        "draws of other seeds in which the best point fits better than this one.",
        "\n".join(f"| {' | '.join(line)} |" for line in lines),
    ]
    if chosen:
        setting: dict[str, Any] = {}
        for key, value in {**choice["changes"], "unstated.fitted": chosen}.items():
            setting = with_key(setting, key, value)
        pasted = yaml.safe_dump({"settings": {choice["setting"]: setting}}, sort_keys=False)
        text.append(
            f"To take it, merge this into the setting in its paper's file:\n\n```yaml\n{pasted}```"
        )
    return "\n\n".join(text) + "\n"
