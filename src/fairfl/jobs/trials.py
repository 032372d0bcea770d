"""python -m fairfl.jobs.trials: final metrics of one algorithm's runs at every point of a setting's tuning grid.

Of one algorithm, so that another algorithm, or an edit of it, chooses nothing again.
"""

from typing import TYPE_CHECKING, Any

from fairfl.experiments.base import JobSpec
from fairfl.jobs import collect, job
from fairfl.runtime import atomic, cli

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


class TrialsSpec(JobSpec):
    """Specs that fairfl.jobs.collect would read for each learning rate and batch size, with these runs alone."""

    points: list[dict[str, Any]]


def spec(workload: "Workload", setting: str, algorithm: str) -> dict[str, Any]:
    """The runs of the grid, whether they may run here or not: the record has choices, but no trials.

    Optima and surrogates only where the metric holds losses against them.
    """
    from fairfl.experiments.variant import Run

    names = workload.tuning_grid(setting)
    tuning = workload.settings[setting].tuning
    needs_optima = tuning is not None and tuning.metric.startswith(("gap", "excess", "faa"))
    points = []
    for name in names:
        whole, seeds = collect.spec(workload, name), workload.settings[name].seeds
        runs = [
            collect.described(Run(name, variant, seed))
            for variant in workload.variants[name]
            if variant.algorithm == algorithm
            for seed in seeds
        ]
        against = {} if needs_optima else {"optima_seeds": [], "surrogates": 0}
        points.append({**whole, **against, "runs": runs, "seeds": seeds, "baseline": []})
    return {"points": points}


def main(argv: list[str] | None = None) -> None:
    import pandas as pd

    from fairfl.judgement import collection

    args, spec = job.parse(
        argv, "trials", TrialsSpec, results="results/<scale>", out="final metrics (.csv)"
    )
    with job.run_context(args, args.out):
        final = pd.concat(
            [
                collection.tidy(collection.CollectSpec(**point), args.results)[0]
                for point in spec.points
            ]
        )
        atomic.write_text(
            args.out, final.to_csv(index=False, float_format="%.9g", lineterminator="\n")
        )


if __name__ == "__main__":
    cli.run(main)
