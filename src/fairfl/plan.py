"""python -m fairfl.plan: say for each run and surrogate whether it would run, and why, in words. Runs nothing.

The reasons come from the specs that results carry, not from Snakemake's metadata, so they are right for
results that were copied from another machine too.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
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


def changes_of(path: Path, spec: dict[str, Any]) -> str | None:
    """How the spec in a record differs from that of today, in words; None if there is no record that can be read."""
    try:
        return "; ".join(differences(records.read(path, "spec")["spec"], spec))
    except (OSError, FairflError):
        return None


def optima_reason(layout: Layout, run: Run) -> str:
    """Why a local optimum that the run reads would be trained anew."""
    for client, path in enumerate(layout.optima_for(run.algorithm, run.setting, run.seed)):
        changes = changes_of(Path(path), jobs.optimum(layout.workload, run.setting, run.seed, client))
        if changes is None:
            return f"local optimum of client {client} is missing"
        if changes:
            return f"local optimum of client {client} changes: {changes}"
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


def after_reason(layout: Layout, run: Run) -> str:
    """Why the run that this one comes after would run."""
    before = layout.workload.predecessor(run)
    why = reason(layout, before) if before else ""
    return f"{before.id}, which it comes after, runs: {why}" if before and why else ""


def never_finished(checkpoint: Path) -> str:
    return f"never finished{' (goes on from its checkpoint)' if checkpoint.exists() else ''}"


def reason(layout: Layout, run: Run) -> str:
    """Why a run would run, in words; "" if it is up to date."""
    folder = Path(layout.results) / "runs" / run.id
    summary = stored_run(folder)
    missing = [Path(path).name for path in layout.run_files(run) if not Path(path).exists()]
    if summary is None:
        return never_finished(folder / "checkpoint.pt")
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
        or after_reason(layout, run)
    )


def surrogates(layout: Layout) -> Iterator[tuple[str, str]]:
    """Every surrogate that the metrics of the runs need, as <setting>/seed<s>/cluster<c>, and why it would be trained.

    It may take as long as a run.
    """
    for setting in dict.fromkeys(run.setting for run in layout.workload.runs):
        for seed in layout.workload.settings[setting].seeds:
            for cluster, path in enumerate(map(Path, layout.surrogates(setting, seed))):
                changes = changes_of(path, jobs.surrogate(layout.workload, setting, seed, cluster))
                why = never_finished(path.with_suffix(".checkpoint.pt")) if changes is None else changes
                why = why or data_reason(layout, setting, seed) or partition_reason(layout, setting, seed)
                yield f"{setting}/seed{seed}/{path.stem}", why


def torch_warning(summaries: list[dict[str, Any] | None]) -> str:
    """A line if results were made with another torch; they are kept."""
    here = version("torch")
    others = Counter(s["versions"]["torch"] for s in summaries if s and s["versions"]["torch"] != here)
    made = ", ".join(f"{count} with {name}" for name, count in sorted(others.items()))
    return f"note: this is torch {here}, but results were made with others: {made}" if others else ""


def lines(workload: Workload) -> list[str]:
    """The plan as text, one line per run and surrogate and a sum."""
    layout = Layout(workload)
    for setting in workload.tuned_settings():
        workload.tuning_grid(setting)
    runs = [(run.id, reason(layout, run)) for run in workload.runs]
    trained = [(f"surrogates/{name}", why) for name, why in surrogates(layout)]
    text = [f"{'run ' if why else 'keep'}  {name}  {why or 'up to date'}" for name, why in runs + trained]
    total = f"{sum(bool(why) for _, why in runs)} of {len(runs)} runs"
    if trained:
        total += f" and {sum(bool(why) for _, why in trained)} of {len(trained)} surrogates"
    folder = Path(layout.results) / "runs"
    warning = torch_warning([stored_run(folder / run.id) for run in workload.runs])
    text += [warning] if warning else []
    return [*text, f"{total} would run at scale {workload.scale.scale}"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.plan", description=__doc__)
    parser.add_argument("--config", required=True, help="resolved configuration (JSON)")
    parser.add_argument("--root", required=True, type=Path, help="folder of the Snakefile")
    args = parser.parse_args(argv)
    print("\n".join(lines(load_workload(args.root, json.loads(args.config)))))


if __name__ == "__main__":
    cli.run(main)
