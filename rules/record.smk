# record: takes in what has finished here; reproduction: what the record says, as text.


rule record:
    """Take what has finished at full scale into the record."""
    log:
        "<logs>/record.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        config=workload.config.model_dump_json(),
    shell:
        "python -P -m fairfl.workflow.record --config {params.config:q} --root . | tee {log:q}"


rule reproduction:
    """docs/papers/, what the documentation derives and results/recorded/*.csv, from stored results alone."""
    input:
        comparison="<summaries>/comparison.csv",
        claims="<summaries>/claims.csv",
        own=own_artifacts,
    log:
        "<logs>/reproduction.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        config=workload.config.model_dump_json(),
    shell:
        "python -P -m fairfl.jobs.reproduction --config {params.config:q} --root ."
        " --results $(dirname {input.comparison:q}) | tee {log:q}"
