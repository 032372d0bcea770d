# comparison, claims -> page; plan says what would run and why
from fairfl.runtime.fingerprint import canonical


def compared(wc):
    """What comparison and claims read of our own: numbers of runs, partitions, choices and drawings."""
    paths = set()
    for paper, key, artifact in workload.artifacts.values():
        for setting in artifact.settings:
            if artifact.rows and "tidy" in artifact.origins:
                paths.add(f"<results>/tidy/{setting}.csv")
            if "statistics" in artifact.origins:
                paths.add(f"<results>/partitions/{setting}/seed{workload.settings[setting].seeds[0]}.csv")
            if "timed" in artifact.origins and setting in workload.seconds:
                paths.add(f"<results>/timed/{setting}.json")
        if "tuned" in artifact.origins:
            paths |= {f"<results>/tuned/{choice}.json" for choice in workload.choices(artifact)}
        if artifact.drawing and artifact.claims:
            paths.add(f"<results>/{paper}/{key}.csv")
    return sorted(paths)


def reported(wc):
    """The papers' own numbers, as far as they are written down."""
    return sorted(map(str, Path("papers/reported").glob("*/*.csv")))


def summary(rule):
    """Command of a job that reads config and papers/*.yaml itself."""
    return job(rule, "--config {params.config:q} --root . --results $(dirname {output:q}) --out {output:q}")


CONFIG = canonical(summary_spec.config(workload))


rule comparison:
    """Every number beside the one that the paper reports, with a verdict."""
    input:
        results=compared,
        reported=reported,
    output:
        "<results>/comparison.csv",
    log:
        "<logs>/comparison.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("comparison")


rule claims:
    """Every claim of the papers, judged on our numbers and on the reported ones."""
    input:
        results=compared,
        reported=reported,
    output:
        "<results>/claims.csv",
    log:
        "<logs>/claims.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("claims")


rule page:
    """One static page with all artifacts, verdicts and claims."""
    input:
        artifacts=artifact_outputs(*workload.artifacts),
        comparison="<results>/comparison.csv",
        claims="<results>/claims.csv",
        reported=reported,
    output:
        "<results>/index.html",
    log:
        "<logs>/page.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
        config=CONFIG,
    shell:
        summary("page")


rule report:
    input:
        "<results>/index.html",


# Prints per run whether it would run, and why, in words. Runs nothing.
rule plan:
    log:
        "<logs>/plan.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        config=workload.config.model_dump_json(),
    shell:
        "python -m fairfl.workflow.plan --config {params.config:q} --root . | tee {log:q}"
