# fetch(data set or weights) -> prepare(data set)


rule fetch:
    """Raw files, or published weights, from the data folder, a mirror or upstream, each checked against its checksum."""
    output:
        "<data>/{key}.fetched.json",
    log:
        "<data>/logs/fetch/{key}.log",
    wildcard_constraints:
        key=r"(weights/)?[A-Za-z0-9_.-]+",
    retries: 2
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    resources:
        folder=workload.config.data_folder,
        where=downloads.options_of_places(workload.config),
    params:
        job=job_options,
        what=lambda wc: downloads.options_of_fetch(workload, wc.key),
    shell:
        job(
            "fetch",
            "{params.what} --folder {resources.folder:q} {resources.where} --out {output:q}",
        )


rule prepare:
    """One tensor file per data set."""
    input:
        raw=raw_files,
    output:
        "<data>/{key}.safetensors",
    log:
        "<data>/logs/prepare/{key}.log",
    conda:
        "../envs/fairfl.yaml"
    resources:
        folder=workload.config.data_folder,
        runtime=workload.scale.limits.prepare.minutes,
        mem_mb=workload.scale.limits.prepare.memory_mb,
    params:
        job=job_options,
    shell:
        job("prepare", "--folder {resources.folder:q} --out {output:q}")
