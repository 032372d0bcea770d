# fetch(data set) -> prepare(data set)


FETCHED = Recorded("data/{key}.fetched")


rule fetch:
    """Raw files from the data folder, a mirror or upstream, each checked against its checksum."""
    input:
        FETCHED.reads(),
    output:
        "results/data/{key}.fetched.json",
    log:
        "results/data/logs/{key}.fetch.log",
    retries: 2
    conda:
        "../envs/fairfl.yaml"
    resources:
        folder=workload.config.data_folder,
        where=layout.sources(),
    params:
        made=FETCHED.made,
        dataset=lambda wc: layout.data_name(wc.key),
        options=lambda wc: layout.data_options(wc.key),
    shell:
        job(
            "fairfl.jobs.fetch",
            "--dataset {params.dataset} --options {params.options:q} --folder {resources.folder:q} {resources.where}"
            " --out {output:q}",
        )


WEIGHTS = Recorded("data/weights/{model}.fetched")


rule fetch_weights:
    """Published weights of a model, in the same way."""
    input:
        WEIGHTS.reads(),
    output:
        "results/data/weights/{model}.fetched.json",
    log:
        "results/data/logs/{model}.weights.log",
    retries: 2
    conda:
        "../envs/fairfl.yaml"
    resources:
        folder=workload.config.data_folder,
        where=layout.sources(),
    params:
        made=WEIGHTS.made,
    shell:
        job(
            "fairfl.jobs.fetch",
            "--weights {wildcards.model} --folder {resources.folder:q} {resources.where} --out {output:q}",
        )


PREPARED = Recorded("data/{key}")


rule prepare:
    """One tensor file per data set."""
    input:
        PREPARED.reads(
            files=lambda wc: layout.fetched(wc.key),
        ),
    output:
        "results/data/{key}.safetensors",
    log:
        "results/data/logs/{key}.prepare.log",
    conda:
        "../envs/fairfl.yaml"
    resources:
        folder=workload.config.data_folder,
        runtime=workload.scale.limits.prepare.minutes,
        mem_mb=lambda wc, attempt: attempt * workload.scale.limits.prepare.memory_mb,
    params:
        made=PREPARED.made,
    shell:
        job("fairfl.jobs.prepare", "--folder {resources.folder:q} --out {output:q}")
