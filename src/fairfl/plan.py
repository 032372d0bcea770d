"""python -m fairfl.plan: say for each run whether it would run, and why, in words. Runs nothing.

The reasons come from the specs that results carry, not from Snakemake's metadata, so they are right for
results that were copied from another machine too.
"""

import argparse
import json
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open

from fairfl import cli
from fairfl.errors import FairflError
from fairfl.provenance import records
from fairfl.provenance.code import differences
from fairfl.spec import jobs
from fairfl.spec.layout import Layout
from fairfl.spec.workload import Run, Workload, load_workload


def stored_run(folder: Path) -> dict[str, Any] | None:
    """summary.json of a run, None if there is none that can be read."""
    try:
        return records.read(folder / "summary.json", "spec", "versions")
    except (OSError, FairflError):
        return None


def data_reason(layout: Layout, setting: str, seed: int) -> str:
    """Why prepared data would be made anew, "" if they are up to date."""
    try:
        with safe_open(layout.data(setting, seed), framework="np") as file:
            stored = json.loads(file.metadata()["spec"])
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        return "its prepared data are missing"
    changes = list(differences(stored, jobs.prepare(layout.workload, setting, seed)))
    return f"its data change: {'; '.join(changes)}" if changes else ""


def partition_reason(layout: Layout, setting: str, seed: int) -> str:
    """Why a partition would be made anew, "" if it is up to date."""
    path = Path(layout.partition(setting, seed))
    try:
        stored = json.loads(pq.read_schema(path).metadata[b"spec"])
    except (OSError, ValueError, KeyError, TypeError):
        return "its partition is missing"
    changes = list(differences(stored, jobs.partition(layout.workload, setting, seed)))
    return f"its partition changes: {'; '.join(changes)}" if changes else ""


def optima_reason(layout: Layout, run: Run) -> str:
    """Why a local optimum that the run reads would be trained anew."""
    for client, path in enumerate(layout.optima_for(run.algorithm, run.setting, run.seed)):
        try:
            stored = records.read(Path(path), "spec")["spec"]
        except (OSError, FairflError):
            return f"local optimum of client {client} is missing"
        changes = list(differences(stored, jobs.optimum(layout.workload, run.setting, run.seed, client)))
        if changes:
            return f"local optimum of client {client} changes: {'; '.join(changes)}"
    return ""


def tuned_reason(layout: Layout, run: Run) -> str:
    """Why the values that a tuned run takes would be chosen anew, or differ from those that it took."""
    for path in layout.tuned_for(run.setting, run.algorithm, run.arm):
        try:
            choice = records.read(Path(path), *records.CHOICE)
            took = records.read(Path(layout.results, "runs", run.id, "summary.json"), "chosen")["chosen"]
        except (OSError, FairflError):
            return "its tuned values are missing"
        changes = list(differences(took, {key: choice[key] for key in records.CHOICE}))
        if changes:
            return f"its tuned values change: {'; '.join(changes)}"
    return ""


def reason(layout: Layout, run: Run) -> str:
    """Why a run would run, in words; "" if it is up to date."""
    folder = Path(layout.results) / "runs" / run.id
    summary = stored_run(folder)
    missing = [Path(path).name for path in layout.run_files(run) if not Path(path).exists()]
    if summary is None:
        checkpoint = " (goes on from its checkpoint)" if (folder / "checkpoint.pt").exists() else ""
        return f"never finished{checkpoint}"
    changes = list(differences(summary["spec"], jobs.train(layout.workload, run)))
    if changes:
        return "; ".join(changes)
    if missing:
        return f"{', '.join(missing)} missing"
    return (
        tuned_reason(layout, run)
        or data_reason(layout, run.setting, run.seed)
        or partition_reason(layout, run.setting, run.seed)
        or optima_reason(layout, run)
    )


def torch_warning(summaries: list[dict[str, Any] | None]) -> str:
    """A line if results were made with another torch; they are kept."""
    here = version("torch")
    others = Counter(s["versions"]["torch"] for s in summaries if s and s["versions"]["torch"] != here)
    made = ", ".join(f"{count} with {name}" for name, count in sorted(others.items()))
    return f"note: this is torch {here}, but results were made with others: {made}" if others else ""


def lines(workload: Workload) -> list[str]:
    """The plan as text, one line per run and a sum."""
    layout = Layout(workload)
    for setting in workload.tuned_settings():
        workload.tuning_grid(setting)
    text, planned = [], 0
    for run in workload.runs:
        why = reason(layout, run)
        planned += bool(why)
        text.append(f"{'run ' if why else 'keep'}  {run.id}  {why or 'up to date'}")
    folder = Path(layout.results) / "runs"
    warning = torch_warning([stored_run(folder / run.id) for run in workload.runs])
    text += [warning] if warning else []
    return [*text, f"{planned} of {len(workload.runs)} runs would run at scale {workload.scale.scale}"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.plan", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    print("\n".join(lines(load_workload(args.root, json.loads(args.config)))))


if __name__ == "__main__":
    cli.run(main)
