"""Which point of a grid of unstated facts makes FedAvg come out as the paper reports it.

misfit = sqrt(mean over targets of ((ours - reported) / tolerance)^2), on means over seeds.

Seeds decide as well. All points run with the same seeds, so their numbers move together, and so do the targets of a
run. Each draw gives every seed a random weight, which moves the means of all points and targets by the weighted
deviations of the seeds' runs, as far as other seeds would: t s / sqrt(n), t with n - 1 degrees of freedom. The
paper's numbers are drawn likewise, with weights of their own and the deviations of the best point. A point is told
from the best one if that fits better in all but `verdict.significance_level` of the draws. Of the points that are not
told from the best, the one is chosen that departs from the named choices in the fewest facts, and among these the best.
So a fact that FedAvg cannot tell stays.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml

from fairfl.experiments.reading import with_key
from fairfl.judgement.cells import Cell

DRAWS = 2000


@dataclass(frozen=True)
class Target:
    """A number of FedAvg's reported row."""

    reported: float
    tolerance: float  # the miss that counts 1
    rounding: float  # half a unit of the last printed digit


@dataclass(frozen=True)
class Fit:
    """How well a point fits. Misfit and share are None if FedAvg diverged there."""

    misfit: float | None
    worse: float | None  # share of draws in which the best point fits better


def fits(
    ours: Sequence[Mapping[str, Cell]], targets: Mapping[str, Target], reported_seeds: int
) -> tuple[list[Fit], dict[str, float | None]]:
    """The fit of each point, and what one seed makes of each target.

    `ours` has FedAvg's numbers by metric at each point; a metric is missing, or its mean None, where a run diverged.
    """
    finite = [
        n
        for n, cells in enumerate(ours)
        if all(_mean(cells, metric) is not None for metric in targets)
    ]
    if not finite:
        return [Fit(None, None)] * len(ours), {}
    means = np.array([[_mean(ours[n], metric) for metric in targets] for n in finite], dtype=float)
    rounding, reported = np.array(
        [(target.rounding, target.reported) for target in targets.values()]
    ).T
    misfits = _misfit(means, reported, targets)
    best = int(np.argmin(misfits))

    residuals = _residuals(ours, finite, targets)
    generator = np.random.default_rng(0)
    drawn = means + _errors(generator, residuals, residuals.shape[1])
    paper = reported + rounding * generator.uniform(-1, 1, (DRAWS, 1, len(targets)))
    paper = paper + _errors(generator, residuals[[best]], reported_seeds)
    again = _misfit(drawn, paper, targets)
    worse = np.mean(again[:, [best]] < again, axis=0)
    by_point = {n: Fit(float(m), float(w)) for n, m, w in zip(finite, misfits, worse, strict=True)}
    freedom = residuals.shape[1] - 1
    noise = (
        np.sqrt(np.sum(residuals[best] ** 2, axis=0) / freedom).tolist()
        if freedom
        else [None] * len(targets)
    )
    return [by_point.get(n, Fit(None, None)) for n in range(len(ours))], dict(
        zip(targets, noise, strict=True)
    )


def choice(found: Sequence[Fit], departures: Sequence[int], known: bool, level: float) -> int:
    """Number of the chosen point; 0 has the named choices. `known`: seeds say how sure the numbers are."""
    candidates = [
        n
        for n, fit in enumerate(found)
        if fit.misfit is not None and fit.worse is not None and fit.worse < 1 - level
    ]
    if not candidates or not known:
        return 0
    return min(candidates, key=lambda n: (departures[n], found[n].misfit, n))


def _mean(cells: Mapping[str, Cell], metric: str) -> float | None:
    cell = cells.get(metric)
    return None if cell is None or cell.mean is None or not math.isfinite(cell.mean) else cell.mean


def _residuals(
    ours: Sequence[Mapping[str, Cell]], finite: Sequence[int], targets: Mapping[str, Target]
) -> np.ndarray:
    """Deviations of the runs from their mean, [points, seeds, targets]; of the seeds that all points have."""
    runs = [[ours[n][metric].by_seed for metric in targets] for n in finite]
    seeds = sorted(set.intersection(*(set(by_seed) for point in runs for by_seed in point)))
    values = np.array(
        [[[by_seed[seed] for by_seed in point] for seed in seeds] for point in runs], dtype=float
    )
    return values - values.mean(axis=1, keepdims=True)


def _errors(generator: np.random.Generator, residuals: np.ndarray, seeds: int) -> np.ndarray:
    """Errors of means over so many seeds, [draws, points, targets]; none where one seed says nothing of them."""
    count = residuals.shape[1]
    if count < 2:
        return np.zeros((DRAWS, residuals.shape[0], residuals.shape[2]))
    weights = generator.standard_normal((DRAWS, count))
    scale = np.sqrt(generator.chisquare(count - 1, DRAWS) * seeds)
    return np.einsum("ds,pst->dpt", weights / scale[:, None], residuals)


def _misfit(ours: np.ndarray, reported: np.ndarray, targets: Mapping[str, Target]) -> np.ndarray:
    """Over the last axis, the targets."""
    tolerance = np.array([target.tolerance for target in targets.values()])
    return np.sqrt(np.mean(((ours - reported) / tolerance) ** 2, axis=-1))


# -- for readers --------------------------------------------------------------------------------
def markdown(made: Mapping[str, Any], why: Mapping[str, str]) -> str:
    """The page of one choice: what was asked, what came out, the fit of each point, the best first."""
    metrics, chosen = made["targets"], _listed(made["chosen"])
    tolerances = ", ".join(
        f"{metric} ± {target['tolerance']:g}" for metric, target in metrics.items()
    )
    header = ["", *why, *metrics, "misfit", "worse"]
    printed = [f"{target['reported']:g}" for target in metrics.values()]
    reported = ["reported", *[""] * len(why), *printed, "", ""]
    lines = [header, ["---"] * len(header), reported]
    for point in made["points"]:
        options = point["options"]
        name = ["chosen"] * (options == made["chosen"]) + ["as named"] * (not options)
        numbers = [*(point["ours"][metric] for metric in metrics), point["misfit"], point["worse"]]
        shown = ["diverged" if number is None else f"{number:.4g}" for number in numbers]
        lines.append(
            [", ".join(name), *(str(options[fact]) if options else "named" for fact in why), *shown]
        )
    text = [
        f"# What {made['setting']} does not say",
        f"Chosen on FedAvg's reported row only: **{chosen or 'as the YAML names them'}**. {made['explanation']}",
        f"Made from {made['data']}.",
        "\n".join(f"- `{fact}`: {reason}" for fact, reason in why.items()),
        f"A miss that counts 1: {tolerances}. `misfit` is the root mean square of the misses. `worse` is the share of "
        "draws of other seeds in which the best point fits better than this one.",
        "\n".join(f"| {' | '.join(line)} |" for line in lines),
    ]
    if chosen:
        setting: dict[str, Any] = {}
        for key, value in {**made["changes"], "unstated.fitted": chosen}.items():
            setting = with_key(setting, key, value)
        pasted = yaml.safe_dump({"settings": {made["setting"]: setting}}, sort_keys=False)
        text.append(
            f"To take it, merge this into the setting in its paper's file:\n\n```yaml\n{pasted}```"
        )
    return "\n\n".join(text) + "\n"


def _listed(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{fact} = {value}" for fact, value in options.items())
