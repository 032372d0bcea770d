"""python -m fairfl.jobs.collect: all runs of a setting as two tables, final metrics and curves over rounds."""

from typing import TYPE_CHECKING, Any

from fairfl.jobs import job
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.variant import Run
    from fairfl.experiments.workload import Workload


def spec(workload: "Workload", setting: str) -> dict[str, Any]:
    """Names of the runs and what their losses are compared with."""
    declared, runs, seeds = (
        workload.settings[setting],
        workload.runs_of(setting),
        workload.reference_seeds(setting),
    )
    baseline = workload.baseline(setting)
    return {
        "setting": setting,
        "data": declared.data.label,
        "gap_part": declared.gap_part or declared.reported_part,
        "noise_evaluations": workload.config.verdict.noise_window,
        "runs": [described(run) for run in runs],
        "baseline": [run.id for run in runs if run.variant == baseline],
        "local_only": any(
            variant.algorithm == "local_only" for variant in workload.variants.get(setting, {})
        ),
        "seeds": seeds,
        "optima_seeds": seeds if declared.local_optimum else [],
        "surrogates": declared.surrogate.clusters if declared.surrogate else 0,
        "loss_unit": "mse" if declared.loss == "squared_error" else "nats",
        **declared.model_dump(include={"rounds", "reported_part", "late_evaluations", "clients"}),
    }


def described(run: "Run") -> dict[str, Any]:
    """A run as specs name it."""
    return {
        "id": run.id,
        "algorithm": run.algorithm,
        "hyperparameters": run.variant.csv,
        "seed": run.seed,
    }


def main(argv: list[str] | None = None) -> None:
    from fairfl.judgement.collection import CollectSpec, tidy

    files = {
        "results": "results/<scale>",
        "final": "final metrics (.csv)",
        "rounds": "curves (.parquet)",
    }
    args, spec = job.parse(argv, "collect", CollectSpec, **files)
    with job.run_context(args, args.final, args.rounds):
        final, curves = tidy(spec, args.results)
        # 9 significant digits: enough for every table, and stable against the last bits of a sum.
        atomic.write_text(
            args.final, final.to_csv(index=False, float_format="%.9g", lineterminator="\n")
        )
        with atomic.replacing(args.rounds) as temporary:
            curves.to_parquet(temporary, index=False)


if __name__ == "__main__":
    cli.run(main)
