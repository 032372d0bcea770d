"""python -m fairfl.tidy: all runs of a setting as two tables, final metrics and curves over rounds."""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairfl import atomic, cli
from fairfl.errors import FairflError
from fairfl.metrics.registry import Vectors, evaluate, evaluate_against, evaluate_local, measured
from fairfl.provenance import records
from fairfl.provenance.fingerprint import fingerprint

PARTS = ("train", "validation", "test")


def local_optima(results: Path, spec: dict[str, Any], seed: int) -> dict[str, np.ndarray]:
    """L*_k per part, [K] nats; NaN where the setting has no local optima or one diverged."""
    nothing = np.full(spec["clients"], np.nan)
    if seed not in spec["optima_seeds"]:
        return {part: nothing for part in PARTS}
    folder = results / "optima" / spec["setting"] / f"seed{seed}"
    keys = [f"loss_{part}" for part in PARTS]
    found = [records.read(folder / f"client{k}.json", *keys) for k in range(spec["clients"])]
    return {part: np.array([f[f"loss_{part}"] for f in found], dtype=float) for part in PARTS}


def read_run(results: Path, run: dict[str, Any], optima: dict[str, np.ndarray]) -> tuple[pd.DataFrame, dict]:
    """Curves of one run with gaps, and its summary. Raises FairflError if the files belong to another run."""
    folder = results / "runs" / run["id"]
    summary = records.read(folder / "summary.json", "spec", "fingerprint", "data_source")
    made = summary["spec"]
    if fingerprint(made) != summary["fingerprint"]:
        raise FairflError(f"{folder}/summary.json: the fingerprint does not belong to the spec beside it")
    own = f"{made.get('setting')}/{made.get('algorithm')}/{made.get('arm')}/seed{made.get('seed')}"
    if own != run["id"]:
        raise FairflError(f"{folder}/summary.json: belongs to run {own}; delete the folder and run again")
    curves = pd.read_parquet(folder / "metrics.parquet")
    last = curves[curves["round"] == curves["round"].max()]
    if sorted(last["client"]) != list(range(len(optima["test"]))):
        raise FairflError(f"{folder}/metrics.parquet: its last round has not every client exactly once")
    for part in PARTS:
        curves[f"gap_{part}"] = curves[f"loss_{part}"] - optima[part][curves["client"]]
    return curves, summary


def final_vectors(spec: dict[str, Any], curves: pd.DataFrame, seed: int) -> Vectors:
    """Values of the last evaluated round (the papers report the final model) by client id."""
    last = curves[curves["round"] == curves["round"].max()].sort_values("client").set_index("client")
    reported = measured(last, spec["reported_part"])
    finite = measured(last, spec["gap_part"])["loss"].notna()
    gap = last.loc[finite.index, f"gap_{spec['gap_part']}"].where(finite)
    return Vectors(
        clients=len(last),
        loss=reported["loss"],
        accuracy=reported["accuracy"],
        recall=reported["recall"],
        gap=gap if seed in spec["optima_seeds"] else gap[:0],
    )


def baseline_runs(spec: dict[str, Any]) -> dict[int, str]:
    """seed -> id of the run that the others are held against; none unless the baseline has exactly one arm."""
    runs = [run for run in spec["runs"] if run["algorithm"] == spec.get("baseline")]
    return {run["seed"]: run["id"] for run in runs} if len({run["hyperparameters"] for run in runs}) == 1 else {}


def tidy(spec: dict[str, Any], results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Final metrics (one row per run and metric) and curves (one row per run, round and client)."""
    finals: list[dict[str, Any]] = []
    curves: list[pd.DataFrame] = []
    common = {"setting": spec["setting"], "data": spec["data"], "rounds": spec["rounds"]}
    optima = {seed: local_optima(results, spec, seed) for seed in spec["seeds"]}
    found = {run["id"]: read_run(results, run, optima[run["seed"]]) for run in spec["runs"]}
    vectors = {run["id"]: final_vectors(spec, found[run["id"]][0], run["seed"]) for run in spec["runs"]}
    baseline = baseline_runs(spec)
    for run in spec["runs"]:
        table, summary = found[run["id"]]
        keys = {name: run[name] for name in ("algorithm", "hyperparameters", "seed")}
        source = {"run": run["id"], "fingerprint": summary["fingerprint"], "source": summary["data_source"]}
        rows = evaluate(vectors[run["id"]])
        if run["seed"] in baseline and run["algorithm"] != spec["baseline"]:
            rows += evaluate_against(vectors[run["id"]].accuracy, vectors[baseline[run["seed"]]].accuracy)
        for metric, unit, value in rows:
            finals.append({**common, **keys, "metric": metric, "value": value, "unit": unit, **source})
        table.insert(0, "setting", spec["setting"])
        for position, (name, value) in enumerate(keys.items(), start=1):
            table.insert(position, name, value)
        curves.append(table)
    if spec["local_only"]:
        finals += local_rows(spec, common, optima)
    order = ["setting", "algorithm", "hyperparameters", "seed", "metric", "value", "unit", "data", "rounds"]
    final = pd.DataFrame(finals, columns=[*order, "run", "fingerprint", "source"])
    return final, pd.concat(curves, ignore_index=True) if curves else pd.DataFrame()


def local_rows(spec: dict[str, Any], common: dict[str, Any], optima: dict[int, dict]) -> list[dict[str, Any]]:
    """The arm `local_only`: its losses are the local optima."""
    rows = []
    for seed in spec["optima_seeds"]:
        folder = f"{spec['setting']}/seed{seed}"
        keys = {"algorithm": "local_only", "hyperparameters": "", "seed": seed}
        best = optima[seed][spec["gap_part"]]
        for metric, unit, value in evaluate_local(best):
            row = {**common, **keys, "metric": metric, "value": value, "unit": unit}
            rows.append({**row, "run": f"optima/{folder}", "fingerprint": ""})
    return rows


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.tidy", description=__doc__)
    parser.add_argument("--spec", required=True, help="job spec (JSON)")
    parser.add_argument("--results", required=True, type=Path, help="results/<scale>")
    parser.add_argument("--final", required=True, type=Path, help="final metrics (.csv)")
    parser.add_argument("--rounds", required=True, type=Path, help="curves (.parquet)")
    args = parser.parse_args(argv)
    final, curves = tidy(json.loads(args.spec), args.results)
    # 9 significant digits: enough for every table, and stable against the last bits of a sum.
    atomic.write_text(args.final, final.to_csv(index=False, float_format="%.9g", lineterminator="\n"))
    with atomic.replacing(args.rounds) as temporary:
        curves.to_parquet(temporary, index=False)


if __name__ == "__main__":
    cli.run(main)
