"""All runs of a setting as two tables: final metrics, curves over rounds."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.parts import PARTS, Count, PartName, Seed
from fairfl.metrics.registry import (
    DIFFER,
    FAMILIES,
    ROUND_SELECTORS,
    Vectors,
    by_round,
    classified,
    evaluate,
    evaluate_against,
    evaluate_along,
    evaluate_assignment,
    evaluate_local,
    evaluate_over,
    measured,
    unit_of,
)
from fairfl.runtime import arithmetic
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import fingerprint
from fairfl.values import result_files, tables
from fairfl.values.result_files import LocalOptimumResult, Summary, SurrogateResult


class CollectedRun(JobSpec):
    """One run of the setting."""

    id: str = Field(description="its folder below results/<scale>/runs/")
    algorithm: str
    hyperparameters: str = Field(description="as tables spell them")
    seed: Seed


class CollectSpec(JobSpec):
    """The runs of a setting and what their losses are compared with."""

    setting: str
    data: str = Field(description="name of the data set for tables")
    rounds: Count
    reported_part: PartName = Field(description="of the metrics")
    gap_part: PartName = Field(description="of the differences from local optima and surrogates")
    late_evaluations: Count | None = Field(
        description="over which the metrics named *_late are means"
    )
    noise_evaluations: int = Field(
        0, ge=0, description="over which those named *_late_std are standard deviations"
    )
    runs: list[CollectedRun]
    baseline: list[str] = Field(
        description="ids of the runs that are the baseline of all of the same seed"
    )
    local_only: bool = Field(description="local optima are an algorithm's results too")
    seeds: list[Seed]
    optima_seeds: list[Seed] = Field(description="seeds with local optima")
    surrogates: int = Field(ge=0, lt=2**31, description="true clusters with a surrogate; 0: none")
    loss_unit: str = Field(description="nats or mse")
    clients: Count


FINAL = [
    "setting", "algorithm", "hyperparameters", "seed", "metric", "value", "unit", "data", "rounds", "run",
    "fingerprint", "source", "arithmetic", "partition",
]  # fmt: skip
CURVES = ["setting", "algorithm", "hyperparameters", "seed", "round", "client"]  # if there are none
LEAST = 3  # evaluations that tell how much a run's numbers move

# What the losses of a run are held against, [K] nats by part, under the name of the difference.
References = dict[str, dict[str, np.ndarray]]


def references(results: Path, spec: CollectSpec, seed: int) -> References:
    """The local optima ("gap"; "gap_mixed": on validation data, beside losses on others) and surrogates ("excess",
    "excess_last") that the setting has."""
    against: References = {}
    if seed in spec.optima_seeds:
        against["gap"] = optima = local_optima(results, spec, seed)
        if spec.gap_part != "validation":
            against["gap_mixed"] = {spec.gap_part: optima["validation"]}
    return against | (surrogates(results, spec, seed) if spec.surrogates else {})


def local_optima(results: Path, spec: CollectSpec, seed: int) -> dict[str, np.ndarray]:
    """L*_k per part, [K] nats; NaN where training only raised the loss."""
    folder = results / "optima" / spec.setting / f"seed{seed}"
    optima = [
        result_files.read(folder / f"client{k}.json", LocalOptimumResult)
        for k in range(spec.clients)
    ]
    return {
        part: np.array([getattr(best, f"loss_{part}") for best in optima], dtype=float)
        for part in PARTS
    }


def surrogates(results: Path, spec: CollectSpec, seed: int) -> References:
    """B_k per part, [K] nats, with the surrogate of k's true cluster at its best and at its last epoch.

    NaN where one diverged. Raises FairflError unless every client is in one cluster.
    """
    folder = results / "surrogates" / spec.setting / f"seed{seed}"
    clusters = [
        result_files.read(folder / f"cluster{c}.json", SurrogateResult)
        for c in range(spec.surrogates)
    ]
    order = np.array([k for cluster in clusters for k in cluster.clients], dtype=int)
    if sorted(order) != list(range(spec.clients)):
        raise FairflError(
            f"{folder}: the surrogates are not of each of {spec.clients} clients exactly once"
        )

    def losses(epochs: list[SurrogateResult.Epoch]) -> dict[str, np.ndarray]:
        by_part = {}
        for part in PARTS:
            values = [getattr(epoch, f"loss_{part}") for epoch in epochs]
            if None not in values:
                by_part[part] = np.concatenate([np.array(each, dtype=float) for each in values])[
                    np.argsort(order)
                ]
        return by_part

    return {
        "excess": losses([cluster.best for cluster in clusters]),
        "excess_last": losses([cluster.last for cluster in clusters]),
    }


def read_run(
    results: Path, run: CollectedRun, spec: CollectSpec, against: References
) -> tuple[pd.DataFrame, Summary]:
    """Curves of one run with its gaps, and its summary. Raises FairflError if the files belong to another run."""
    folder = results / "runs" / run.id
    summary = result_files.read(folder / "summary.json", Summary)
    recorded = summary.spec
    if fingerprint(recorded) != summary.fingerprint:
        raise FairflError(f"{folder}/summary.json: the fingerprint does not belong to its spec")
    name = f"{recorded.get('setting')}/{recorded.get('algorithm')}/{recorded.get('variant')}/seed{recorded.get('seed')}"
    if name != run.id:
        raise FairflError(
            f"{folder}/summary.json: belongs to run {name}; delete the folder and run again"
        )
    table = tables.arrow(folder / "metrics.parquet")
    tables.check_columns(
        folder / "metrics.parquet", table, "round", "client", f"loss_{spec.reported_part}"
    )
    curves = table.to_pandas()
    last = curves[curves["round"] == curves["round"].max()]
    if sorted(last["client"]) != list(range(spec.clients)):
        raise FairflError(
            f"{folder}/metrics.parquet: its last round has not every client exactly once"
        )
    for kind, losses in against.items():
        for part in (part for part in losses if f"loss_{part}" in curves):
            curves[f"{kind}_{part}"] = curves[f"loss_{part}"] - losses[part][curves["client"]]
    return curves, summary


Values = dict[str, dict[int, tuple[np.ndarray, np.ndarray]]]
"""What a run measured (loss, accuracy, recall, gap, excess, ...) by evaluated round: client ids, their values."""


def values_of(spec: CollectSpec, curves: pd.DataFrame, against: References) -> Values:
    """All evaluations of a run, of clients with samples; NaN where the model diverged."""
    table = curves.sort_values(["round", "client"], ignore_index=True)
    reported = measured(table, spec.reported_part)

    def above(name: str, part: str) -> pd.Series:
        finite = measured(table, part)["loss"].notna()
        return table[f"{name}_{part}"].reindex(finite.index).where(finite)

    values = {name: above(name, spec.gap_part) for name in against}
    if spec.gap_part != "validation" and "gap_validation" in table:
        values["gap_validation"] = above("gap", "validation")
    names = ["loss", "accuracy", "recall"] if classified(table, spec.reported_part) else ["loss"]
    values |= {name: reported[name] for name in names}
    return {name: by_round(of, table) for name, of in values.items()}


def vectors_of(values: Values, number: int) -> Vectors:
    """Values of one evaluated round by client id."""
    nobody = np.empty(0, int), np.empty(0)
    at = {name: of.get(number, nobody) for name, of in values.items()}
    return {name: pd.Series(of, ids) for name, (ids, of) in at.items()}


def last_vectors(
    spec: CollectSpec, curves: pd.DataFrame, values: Values
) -> tuple[list[Vectors], int]:
    """Values of the last evaluations of trained models, the final model's last; that one alone if none are late. And
    how many of them tell the run's noise: its last quarter's, before which it may still have learnt."""
    rounds = sorted(curves["round"].unique())
    trained = [number for number in rounds if number > 0] or rounds
    settled = sum(number > 0.75 * rounds[-1] for number in trained[-spec.noise_evaluations :])
    noise = settled if min(settled, spec.noise_evaluations) >= LEAST else 0
    last = trained[-max(spec.late_evaluations or 1, noise) :]
    return [vectors_of(values, number) for number in last], noise


def evaluate_selected(values: Values) -> dict[str, float]:
    """Metrics in the rounds of ROUND_SELECTORS, of those with trained models and finite losses."""
    metrics: dict[str, float] = {}
    for name, least in ROUND_SELECTORS.items():
        scores = {number: least(of) for number, (_, of) in values.get("accuracy", {}).items()}
        finite = [number for number, score in scores.items() if number and not np.isnan(score)]
        if finite:
            best = min(finite, key=scores.__getitem__)
            metrics |= evaluate_over([vectors_of(values, best)], name, np.mean)
    return metrics


@dataclass(frozen=True)
class Measured:
    """A run as it was read."""

    run: CollectedRun
    curves: pd.DataFrame
    summary: Summary
    values: Values
    last: list[Vectors]  # of its last evaluations; the papers report the final model, the last one
    settled: int  # how many of these tell its noise

    @classmethod
    def read(
        cls, results: Path, run: CollectedRun, spec: CollectSpec, against: References
    ) -> "Measured":
        curves, summary = read_run(results, run, spec, against)
        values = values_of(spec, curves, against)
        return cls(run, curves, summary, values, *last_vectors(spec, curves, values))


def tidy(spec: CollectSpec, results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Final metrics (one row per run and metric) and curves (one row per run, round and client)."""
    finals: list[dict[str, Any]] = []
    curves: list[pd.DataFrame] = []
    against = {seed: references(results, spec, seed) for seed in spec.seeds}
    read = [Measured.read(results, run, spec, against[run.seed]) for run in spec.runs]
    owners = dict.fromkeys(tuple(one.summary.owners) for one in read)
    owners_note = [DIFFER] if len(owners) > 1 else []
    baseline = {one.run.seed: one.last[-1] for one in read if one.run.id in spec.baseline}
    for one in read:
        run, summary = one.run, one.summary
        keys = {name: getattr(run, name) for name in ("algorithm", "hyperparameters", "seed")}
        source = {
            "run": run.id,
            "fingerprint": summary.fingerprint,
            "source": source_of(summary),
            "arithmetic": arithmetic.text(summary.arithmetic),
            "partition": "; ".join(
                [*summary.partition, *owners_note, *left_out(spec, one.last[-1])]
            ),
            **({"owners": json.dumps(summary.owners)} if summary.owners else {}),
        }
        values = {
            metric: value
            for metric, value in evaluate_run(spec, one, baseline.get(run.seed)).items()
            if not (owners_note and metric.rpartition("_")[0] in FAMILIES)
        }
        finals += final_rows(spec, values, keys | source)
        if summary.owners:
            one.curves["owner"] = np.array(summary.owners)[one.curves["client"]]
        for position, (name, value) in enumerate({"setting": spec.setting, **keys}.items()):
            one.curves.insert(position, name, value)
        curves.append(one.curves)
    for seed in spec.optima_seeds if spec.local_only else ():
        # Losses of the algorithm `local_only` are the local optima.
        local = {"algorithm": "local_only", "hyperparameters": "", "seed": seed, "fingerprint": ""}
        local["run"], best = f"optima/{spec.setting}/seed{seed}", against[seed]["gap"]
        values = evaluate_local(best[spec.gap_part])
        if spec.gap_part != "validation":
            values |= evaluate_local(best["validation"], "validation")
        finals += final_rows(spec, values, local)
    final = pd.DataFrame(finals, columns=[*FINAL, "owners"] if any(owners) else FINAL)
    return final, pd.concat(curves, ignore_index=True) if curves else pd.DataFrame(columns=CURVES)


def final_rows(
    spec: CollectSpec, values: dict[str, float], run: dict[str, Any]
) -> list[dict[str, Any]]:
    """Lines of final metrics from `values` by metric and what is the same for all of them."""
    common = {"setting": spec.setting, "data": spec.data, "rounds": spec.rounds, **run}
    is_regression = spec.loss_unit == "mse"
    return [
        {**common, "metric": metric, "value": value, "unit": unit_of(metric, is_regression)}
        for metric, value in values.items()
    ]


def evaluate_run(spec: CollectSpec, run: Measured, baseline: Vectors | None) -> dict[str, float]:
    """Every metric of a run; `baseline` is what it is compared with."""
    metrics = evaluate(run.last[-1], spec.clients) | evaluate_along(run.curves, spec.reported_part)
    metrics |= run.summary.measures
    if spec.late_evaluations:
        metrics |= evaluate_over(run.last[-spec.late_evaluations :], "late", np.mean)
        metrics |= evaluate_selected(run.values)
    if run.settled:
        metrics |= evaluate_over(run.last[-run.settled :], "late_std", partial(np.std, ddof=1))
        metrics["n_late"] = float(run.settled)
    if run.summary.memberships is not None:
        metrics |= evaluate_assignment(run.summary.memberships, run.summary.clusters)
    if baseline is not None and "accuracy" in baseline:
        metrics |= evaluate_against(run.last[-1]["accuracy"], baseline["accuracy"])
    return metrics


def left_out(spec: CollectSpec, last: Vectors) -> list[str]:
    """A phrase on clients without samples of the reported part, who have no number."""
    clients = spec.clients - len(last["loss"])
    words = f"clients without {spec.reported_part} samples, and so without numbers"
    return [f"{words}: {clients} of {spec.clients}"] if clients else []


def source_of(summary: Summary) -> str:
    """Origin of the data, and of a recorded run with which other code it was computed."""
    other = summary.recorded.shown if summary.recorded else ""
    return f"{summary.data_source}; stored with {other}" if other else summary.data_source
