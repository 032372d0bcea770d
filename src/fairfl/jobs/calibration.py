"""python -m fairfl.jobs.calibration: compare a grid of FedAvg runs with the paper's FedAvg and name the best point.

Only FedAvg is looked at: tuning an unstated fact on a paper's own method would fit the answer to the claim.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from fairfl.experiments.base import JobSpec
from fairfl.experiments.parts import Target
from fairfl.runtime import atomic, cli, job, tables

if TYPE_CHECKING:
    import pandas as pd

    from fairfl.experiments.workload import Workload

COLUMNS = {"setting": str, "algorithm": str, "metric": str, "value": float}


class Spec(JobSpec):
    """A calibration: the grid, and the reported numbers that it steers by."""

    name: str
    why: str
    data: str = Field(description="name of the data set for tables")
    algorithm: str
    points: dict[str, dict[str, Any]] = Field(description="setting of a grid point -> what it changes")
    targets: list[Target]


def spec(workload: "Workload", paper: str, name: str) -> dict[str, Any]:
    """Grid points by setting id, targets, algorithm."""
    calibration = workload.papers[paper].calibrations[name]

    def value(tree: Any, key: str) -> Any:
        for part in key.split("."):
            tree = tree[part]
        return tree

    return {
        "name": name,
        "points": {
            setting: {key: value(workload.settings[setting].training(), key) for key in calibration.grid}
            for setting in workload.calibration_grid(paper, name)
        },
        "algorithm": calibration.algorithm,
        "targets": [target.model_dump(mode="json") for target in calibration.targets],
        "why": calibration.why,
        "data": workload.settings[calibration.setting].data.label,
    }


def compare(spec: Spec, final: "pd.DataFrame") -> "pd.DataFrame":
    """One row per grid point: its values, each target's number here, and the miss.

    miss = sqrt(mean of ((ours - reported) / tolerance)^2) over the targets; the smallest comes first.
    """
    import pandas as pd

    rows = []
    for setting, point in spec.points.items():
        runs = final[(final["setting"] == setting) & (final["algorithm"] == spec.algorithm)]
        row: dict[str, Any] = {**point}
        misses = []
        for target in spec.targets:
            ours = runs.loc[runs["metric"] == target.metric, "value"].mean()
            row[target.metric] = ours
            row[f"{target.metric}_reported"] = target.value
            misses.append(((ours - target.value) / target.tolerance) ** 2)
        row |= {"miss": (sum(misses) / len(misses)) ** 0.5, "data": spec.data, "setting": setting}
        rows.append(row)
    return pd.DataFrame(rows).sort_values("miss", kind="stable", ignore_index=True)


def markdown(spec: Spec, table: "pd.DataFrame") -> str:
    best = "none, no point gave all of them"
    if table["miss"].notna()[0]:
        best = ", ".join(f"{key} = {table.iloc[0][key]}" for key in next(iter(spec.points.values())))
    return (
        f"# Calibration {spec.name} on {spec.algorithm}\n\n{spec.why}\n\n"
        f"Data: {spec.data}. The point nearest to the reported numbers: {best}.\n\n"
        f"{table.drop(columns='data').to_markdown(index=False, floatfmt='.4g')}\n"
    )


def main(argv: list[str] | None = None) -> None:
    import pandas as pd

    parser = job.parser("calibration")
    parser.add_argument("--tidy", required=True, nargs="+", type=Path, help="final metrics of the grid (.csv)")
    parser.add_argument("--csv", required=True, type=Path)
    parser.add_argument("--md", required=True, type=Path)
    args = parser.parse_args(argv)
    spec = job.spec_of(args, Spec)
    with job.run_context(args, args.csv, args.md):
        rows = (row for path in args.tidy for _, row in tables.rows(path, COLUMNS))
        final = pd.DataFrame(rows, columns=list(COLUMNS))
        table = compare(spec, final.assign(value=pd.to_numeric(final["value"])))
        atomic.write_text(args.csv, table.to_csv(index=False, float_format="%.9g", lineterminator="\n"))
        atomic.write_text(args.md, markdown(spec, table))


if __name__ == "__main__":
    cli.run(main)
