# comparison, claims -> page; plan says what would run and why


rule comparison:
    """Every number beside the one that the paper reports, with a verdict."""
    input:
        layout.compared(),
        reported=layout.reported(),
    output:
        report(f"{RESULTS}/comparison.csv", caption="report/artifact.rst", category="summary"),
    log:
        f"{LOGS}/comparison.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.summary_spec("fairfl.artifacts.compare"),
        config=layout.config(),
    shell:
        "python -m fairfl.start fairfl.artifacts.compare --config {params.config:q} --root ."
        " --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1"


rule claims:
    """Every claim of the papers, judged on our numbers and on the reported ones."""
    input:
        layout.compared(),
        reported=layout.reported(),
    output:
        report(f"{RESULTS}/claims.csv", caption="report/artifact.rst", category="summary"),
    log:
        f"{LOGS}/claims.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.summary_spec("fairfl.artifacts.judge"),
        config=layout.config(),
    shell:
        "python -m fairfl.start fairfl.artifacts.judge --config {params.config:q} --root ."
        " --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1"


rule page:
    """One static page with all artifacts, verdicts and claims."""
    input:
        [path for name in workload.artifacts for path in layout.artifact_outputs(name)],
        f"{RESULTS}/comparison.csv",
        f"{RESULTS}/claims.csv",
    output:
        f"{RESULTS}/index.html",
    log:
        f"{LOGS}/page.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.summary_spec("fairfl.artifacts.page"),
        config=layout.config(),
    shell:
        "python -m fairfl.start fairfl.artifacts.page --config {params.config:q} --root ."
        " --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1"


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
        config=layout.config(),
    shell:
        "python -m fairfl.start fairfl.plan --config {params.config:q} --root . | tee {log:q}"
