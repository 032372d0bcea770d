# comparison, claims -> page; plan says what would run and why


COMPARISON = Recorded("comparison")


rule comparison:
    """Every number beside the one that the paper reports, with a verdict."""
    input:
        COMPARISON.reads(
            results=lambda wc: layout.compared(),
            reported=lambda wc: layout.reported(),
        ),
    output:
        report(f"{RESULTS}/comparison.csv", caption="report/artifact.rst", category="summary"),
    log:
        f"{LOGS}/comparison.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=COMPARISON.made,
        config=layout.config(),
    shell:
        job(
            "fairfl.jobs.comparison",
            "--config {params.config:q} --root . --results $(dirname {output:q}) --out {output:q}",
        )


CLAIMS = Recorded("claims")


rule claims:
    """Every claim of the papers, judged on our numbers and on the reported ones."""
    input:
        CLAIMS.reads(
            results=lambda wc: layout.compared(),
            reported=lambda wc: layout.reported(),
        ),
    output:
        report(f"{RESULTS}/claims.csv", caption="report/artifact.rst", category="summary"),
    log:
        f"{LOGS}/claims.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=CLAIMS.made,
        config=layout.config(),
    shell:
        job(
            "fairfl.jobs.claims",
            "--config {params.config:q} --root . --results $(dirname {output:q}) --out {output:q}",
        )


PAGE = Recorded("page")


rule page:
    """One static page with all artifacts, verdicts and claims."""
    input:
        PAGE.reads(
            artifacts=lambda wc: layout.all_artifacts(),
            comparison=lambda wc: f"{RESULTS}/comparison.csv",
            claims=lambda wc: f"{RESULTS}/claims.csv",
        ),
    output:
        f"{RESULTS}/index.html",
    log:
        f"{LOGS}/page.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=PAGE.made,
        config=layout.config(),
    shell:
        job(
            "fairfl.jobs.page",
            "--config {params.config:q} --root . --results $(dirname {output:q}) --out {output:q}",
        )


rule report:
    input:
        f"{RESULTS}/index.html",


# Prints per run whether it would run, and why, in words. Runs nothing.
rule plan:
    log:
        f"{LOGS}/plan.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        config=workload.config.model_dump_json(),
    shell:
        "python -m fairfl.runtime.warm_start fairfl.workflow.plan --config {params.config:q} --root . | tee {log:q}"
