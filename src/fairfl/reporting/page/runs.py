"""The page of the runs, runs.html beside the report: of each run its spec, its curve, where and how long it ran.

One file for all, since a thousand would take longer to write than to read; what stands behind '#' names the run.
"""

import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fairfl.experiments.workload import Run, Workload
from fairfl.reporting.page.files import Files, embedded
from fairfl.runtime import arithmetic, inputs
from fairfl.runtime.fingerprint import fingerprint

if TYPE_CHECKING:
    import pandas as pd

READS = ("page.css",)  # what runs.html.j2 includes beside runs.js
_RUN = ["algorithm", "hyperparameters", "seed"]
LINES = 8  # of a run's log
Curve = list[tuple[int, float, float, float]]  # round; mean, smallest and largest over the clients


def href(run_id: str) -> str:
    """Link from the report to a run: 'runs.html#x_cifar/fedavg/default/seed0'."""
    return f"runs.html#{quote(run_id)}"


def render(workload: Workload, results: Path, out: Path) -> str:
    """The page as HTML text; links are relative to `out`. Runs that are not there yet are left out."""
    found = sorted(_views(workload, results, Files(results, out)), key=lambda view: view["id"])
    templates = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=templates, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    settings: dict[str, list[dict[str, Any]]] = {}
    for view in found:
        settings.setdefault(view["setting"], []).append(view)
    return environment.get_template("runs.html.j2").render(
        scale=workload.scale.scale, settings=settings, data=embedded({view["id"]: view for view in found}), href=href
    )


def _views(workload: Workload, results: Path, files: Files) -> Iterator[dict[str, Any]]:
    import pandas as pd  # here: the report needs only `href`

    for setting in workload.shown:
        declared, path = workload.settings[setting], results / "tidy" / f"{setting}.rounds.parquet"
        rows = pd.read_parquet(io.BytesIO(inputs.read_bytes(path))) if path.exists() else None
        measure, curves = curves_of(rows, declared.reported_part) if rows is not None else ("", {})
        unit = {"accuracy": "percent", "loss": "mse" if declared.loss == "squared_error" else "nats"}.get(measure, "")
        ran = None if rows is None else runs_in(rows)  # an earlier call may have left others
        for run in workload.runs_of(setting):
            key = (run.variant.algorithm, run.variant.csv, run.seed)
            summary = results / "runs" / run.id / "summary.json"
            if summary.is_file() and (ran is None or key in ran):
                curve = curves.get(key, [])
                shown = {"measure": measure, "unit": unit, "part": declared.reported_part, "curve": curve}
                yield view(run, _title(workload, run), json.loads(inputs.read_bytes(summary)), files) | shown


def runs_in(rows: "pd.DataFrame") -> set[tuple[str, str, int]]:
    """Algorithm, hyper-parameters and seed of each run."""
    return set(rows[_RUN].fillna({"hyperparameters": ""}).drop_duplicates().itertuples(index=False, name=None))


def _title(workload: Workload, run: Run) -> str:
    usage = workload.sharing.usage(run.setting, run.variant.algorithm)
    return f"{usage.title if usage else run.variant.algorithm} {run.variant.csv.replace(',', ', ')}".strip()


def view(run: Run, title: str, summary: Mapping[str, Any], files: Files) -> dict[str, Any]:
    """What the page says of a run, from its summary.json."""
    spec, recorded = dict(summary["spec"]), summary.get("recorded")
    code = spec.pop("code", {})
    versions = ", ".join(f"{name} {version}" for name, version in summary.get("versions", {}).items())
    threads = summary.get("threads", 1)
    facts = {
        "Outcome": "diverged" if summary.get("diverged") else "finished",
        "Took": f"{summary['seconds']:,.1f} s" if "seconds" in summary else "",
        "Memory": f"{summary['peak_memory_mib']:,.0f} MiB" if summary.get("peak_memory_mib") else "",
        "Machine": f"{summary.get('processor') or summary.get('device', '')}, {threads} thread{'s'[threads == 1 :]}",
        "Versions": versions,
        "Arithmetic": arithmetic.text(summary.get("arithmetic") or {}),
        "Data": summary.get("data_source", ""),
        "Code": f"{fingerprint(code)} ({len(code)} modules)" if code else "",
        "Spec": summary.get("fingerprint", ""),
        "Stored": _origin(recorded) if recorded else "",
        **{name.replace("_", " "): f"{value:.6g}" for name, value in summary.get("measures", {}).items()},
    }
    log = f"logs/train/{run.id}.log"
    return {
        "id": run.id,
        "title": title,
        "setting": run.setting,
        "seed": run.seed,
        "facts": {name: value for name, value in facts.items() if value},
        "spec": spec,
        "log": "" if recorded else files.link(log),
        "lines": ["stored results have no log"]
        if recorded
        else files.text(log).replace("\r", "\n").splitlines()[-LINES:],
        "files": files.link(f"runs/{run.id}"),
    }


def _origin(recorded: Mapping[str, Any]) -> str:
    """'2026-11-22, commit 1a2b3c4, other code than today's'"""
    parts = [recorded.get("date", ""), f"commit {recorded['commit']}" if recorded.get("commit") else ""]
    parts.append("" if recorded.get("same_code", True) else "with other code than today's")
    return ", ".join(filter(None, parts))


def curves_of(rows: "pd.DataFrame", part: str) -> tuple[str, dict[tuple[str, str, int], Curve]]:
    """What is drawn (accuracy if it was measured, else loss) and its curve by algorithm, hyper-parameters and seed."""
    measure = next(
        (name for name in ("accuracy", "loss") if f"{name}_{part}" in rows and rows[f"{name}_{part}"].notna().any()), ""
    )
    if not measure:
        return "", {}
    factor = 100 if measure == "accuracy" else 1
    told = (
        rows.fillna({"hyperparameters": ""}).groupby([*_RUN, "round"])[f"{measure}_{part}"].agg(["mean", "min", "max"])
        * factor
    )
    curves: dict[tuple[str, str, int], Curve] = {}
    for (algorithm, values, seed, number), *point in told.itertuples():
        if all(map(math.isfinite, point)):
            mean, low, high = (float(f"{value:.5g}") for value in point)
            curves.setdefault((algorithm, values, int(seed)), []).append((int(number), mean, low, high))
    return measure, curves
