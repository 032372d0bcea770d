# restore: results of the record, results/recorded/, in the place of those that jobs would leave;
# record: takes in what has finished here; reproduction: what the record says, as text.


# Its output is set once it is known which jobs the record has (fairfl.workflow.snakemake.Decision).
rule restore:
    """Results of the record, as if the jobs that leave them had run."""
    output:
        "<results>/.restored",
    log:
        "<logs>/restore.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        jobs=session.restorations,
    shell:
        "python -P -m fairfl.jobs.restore --jobs {params.jobs:q} > {log:q} 2>&1"


ruleorder:
    restore
    > fetch
    > prepare
    > partition
    > local_optimum
    > surrogate
    > train
    > timing
    > collect
    > tune
    > calibrate
ruleorder: restore > table > figure > comparison > ranking > side_by_side > claims > page


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
