"""python -m fairfl.jobs.calibrate: what the unstated facts of a setting must have been, by FedAvg's reported row.

Only FedAvg is looked at: to choose an unstated fact by a paper's own method, or by any other row, would fit the answer
to the claims. How the choice is made: fairfl.judgement.calibration.
"""

import json
from typing import TYPE_CHECKING, Any

from fairfl.jobs import job
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload", files: dict[str, dict[str, str]], setting: str) -> dict[str, Any]:
    """Grid, targets, and where the numbers lie."""
    from fairfl.judgement.changes import changed_by_scale, changed_keys, original

    grid, declared = workload.calibration_grid(setting), workload.settings[setting]
    unstated, metrics = declared.unstated, workload.papers[workload.paper_of[setting]].metrics
    assert unstated is not None  # calibration_grid has looked
    return {
        "setting": setting,
        "data": declared.data.label,
        "changed": sorted(changed_keys(changed_by_scale(workload, setting))),
        "facts": {name: fact.why for name, fact in unstated.facts.items()},
        "targets": unstated.targets,
        "metrics": {name: metrics[name].model_dump(mode="json") for name in unstated.targets},
        "points": [{**vars(point), "setting": name} for name, point in grid.items()],
        "reported_seeds": len(original(workload, setting).seeds),
        "level": workload.config.verdict.significance_level,
        "files": files,
    }


def main(argv: list[str] | None = None) -> None:
    from fairfl.judgement import calibration

    args, spec = job.parse(
        argv,
        "calibrate",
        calibration.CalibrateSpec,
        out="the choice (.json)",
        md="the fit of every point, as text",
    )
    with job.run_context(args, args.out, args.md):
        choice = calibration.choose(spec)
        atomic.write_text(args.out, json.dumps(choice, indent=1) + "\n")
        atomic.write_text(args.md, calibration.markdown(choice, spec.facts))


if __name__ == "__main__":
    cli.run(main)
