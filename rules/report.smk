# comparison -> ranking, side_by_side; comparison, claims, ranking -> page; collect -> runs; plan says what would run
# and why
from fairfl.jobs.summary import config as config_of_summary
from fairfl.runtime.fingerprint import canonical

CONFIG = canonical(config_of_summary(workload))

# What comparison and claims read of our own. The jobs get these paths by name and read nothing else: an earlier run may
# have left files that this selection does not make.
COMPARED = {
    "tidy": of_shown("<results>/tidy/{setting}.csv", "tidy"),
    "statistics": of_shown("<results>/partitions/{setting}/seed{seed}.csv", "statistics", only=has_samples),
    "timed": of_shown("<results>/timed/{setting}.json", "timed", only=is_timed),
    "tuned": choices_shown,
    "drawn": drawings,
}


rule comparison:
    """Every number beside the one that the paper reports, with a verdict."""
    input:
        **COMPARED,
        reported=reported,
    output:
        "<summaries>/comparison.csv",
    log:
        "<summaries>/logs/comparison.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("comparison")


rule claims:
    """Every claim of the papers, checked on our numbers and on the reported ones."""
    input:
        **COMPARED,
        reported=reported,
    output:
        "<summaries>/claims.csv",
    log:
        "<summaries>/logs/claims.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("claims")


rule ranking:
    """Kendall's tau of our numbers and the paper's over the variants of each column."""
    input:
        comparison="<summaries>/comparison.csv",
    output:
        "<summaries>/ranking.csv",
    log:
        "<summaries>/logs/ranking.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("ranking")


rule side_by_side:
    """Every table with the paper's number and the verdict in each cell."""
    input:
        comparison="<summaries>/comparison.csv",
    output:
        side_by_side_tables(),
    log:
        "<summaries>/logs/side_by_side.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        job(
            "side_by_side",
            "--config {params.config:q} --root . --results $(dirname {input.comparison:q}) --out {output:q}",
        )


rule page:
    """One static page with all artifacts, verdicts and claims."""
    input:
        artifacts=artifact_outputs(*workload.artifacts),
        side_by_side=side_by_side_tables(),
        comparison="<summaries>/comparison.csv",
        claims="<summaries>/claims.csv",
        ranking="<summaries>/ranking.csv",
        reported=reported,
        recorded=recorded_numbers,
    output:
        "<summaries>/index.html",
    log:
        "<summaries>/logs/page.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("page")


rule report:
    input:
        "<summaries>/index.html",


# Prints per run whether it would run, and why, in words; then what all that costs and would tell. Runs nothing.
rule plan:
    log:
        "<logs>/plan.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        config=workload.config.model_dump_json(),
    shell:
        "python -P -m fairfl.planning.plan --config {params.config:q} --root . | tee {log:q}"
