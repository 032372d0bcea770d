# table | figure (paper, artifact)


# What an artifact needs is said in its YAML or by its plot; other inputs are not there.
ARTIFACT_FILES = {
    "tidy": of_settings("<results>/tidy/{setting}.csv", "tidy"),
    "rounds": of_settings("<results>/tidy/{setting}.rounds.parquet", "rounds"),
    "data": of_settings("<data>/{key}.safetensors", "data", only=has_samples),
    "partition": of_settings(
        "<results>/partitions/{setting}/seed{seed}.parquet", "partition", "data", only=has_samples
    ),
    "statistics": of_settings(
        "<results>/partitions/{setting}/seed{seed}.csv", "statistics", only=has_samples
    ),
    "timed": of_settings("<results>/timed/{setting}.json", "timed", only=is_timed),
    "tuned": choices,
    "model": models,
    "reported": printed_numbers,
}


rule table:
    input:
        **ARTIFACT_FILES,
    output:
        csv="<results>/{paper}/{artifact}.csv",
        md="<results>/{paper}/{artifact}.md",
        tex="<results>/{paper}/{artifact}.tex",
    log:
        "<logs>/table/{paper}/{artifact}.log",
    wildcard_constraints:
        artifact=ids("table", "static_table"),
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("table", "--csv {output.csv:q} --md {output.md:q} --tex {output.tex:q}")


rule figure:
    input:
        **ARTIFACT_FILES,
    output:
        csv="<results>/{paper}/{artifact}.csv",
        pdf="<results>/{paper}/{artifact}.pdf",
        png="<results>/{paper}/{artifact}.png",
    log:
        "<logs>/figure/{paper}/{artifact}.log",
    wildcard_constraints:
        artifact=ids("figure", "illustration"),
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("figure", "--csv {output.csv:q} --pdf {output.pdf:q} --png {output.png:q}")
