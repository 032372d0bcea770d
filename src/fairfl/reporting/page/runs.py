"""The page of the runs, runs.html beside the report: of each run its summary, its spec and its curve.

One file for all, since a thousand would take longer to write than to read; what stands behind '#' names the run.
"""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from fairfl.experiments.workload import Workload
from fairfl.reporting.page.files import Files, embedded, template
from fairfl.runtime import inputs

if TYPE_CHECKING:
    import pandas as pd

READS = ("page.css",)  # what runs.html.j2 includes beside runs.js


def href(run_id: str) -> str:
    """Link from the report to a run: 'runs.html#x_cifar/fedavg/default/seed0'."""
    return f"runs.html#{quote(run_id)}"


def render(workload: Workload, results: Path, out: Path) -> str:
    """The page as HTML text; links are relative to `out`. Runs that are not there yet are left out."""
    files = Files(results, out)
    settings = {
        setting: views
        for setting in workload.shown
        if (views := views_of(workload, setting, files))
    }
    data = embedded({run: view for views in settings.values() for run, view in views.items()})
    return template("runs.html.j2").render(
        scale=workload.scale.scale, settings=settings, data=data, href=href
    )


def views_of(workload: Workload, setting: str, files: Files) -> dict[str, dict[str, Any]]:
    """What the page says of the runs of a setting, by id: those that were collected, an earlier call may have left
    others."""
    import pandas as pd  # here: the report needs only `href`

    path, part = (
        files.results / "tidy" / f"{setting}.rounds.parquet",
        workload.settings[setting].reported_part,
    )
    if not path.exists():
        return {}
    rows = pd.read_parquet(io.BytesIO(inputs.read_bytes(path))).fillna({"hyperparameters": ""})
    collected = dict(iter(rows.groupby(["algorithm", "hyperparameters", "seed"])))
    views = {}
    for run in workload.runs_of(setting):
        summary = files.text(f"runs/{run.id}/summary.json")
        mine = collected.get((run.variant.algorithm, run.variant.csv, run.seed))
        if summary and mine is not None:
            facts = json.loads(summary)
            facts.pop("host", None)
            facts["spec"].pop("code", None)
            measure, points = curve(mine, part)
            drawn = {"curve": points, "measure": f"{measure} on the {part} part"}
            links = {
                "log": files.link(f"logs/train/{run.id}.log"),
                "files": files.link(f"runs/{run.id}"),
            }
            views[run.id] = {"spec": facts.pop("spec"), "facts": facts, **drawn, **links}
    return views


def curve(rows: "pd.DataFrame", part: str) -> tuple[str, list[list[float]]]:
    """What is drawn, accuracy if it was measured, else loss; of each round itself, mean, smallest and largest over the
    clients, but of rounds in which one diverged."""
    for name, scale in (("accuracy (percent)", 100), ("loss", 1)):
        column = f"{name.partition(' ')[0]}_{part}"
        if column in rows and rows[column].notna().any():
            points = rows.groupby("round")[column].agg(["mean", "min", "max"]).mul(scale)
            points = points[np.isfinite(points).all(axis=1)].map("{:.5g}".format).astype(float)
            return name, points.reset_index().to_numpy().tolist()
    return "", []
