# fetch(data set) -> prepare(data set)


rule fetch:
    """Raw files from the data folder, a mirror or upstream, each checked against its checksum."""
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
        dataset=lambda wc: layout.data_name(wc.key),
        options=lambda wc: layout.data_options(wc.key),
    shell:
        "python -m fairfl.start fairfl.fetch --dataset {params.dataset} --options {params.options:q}"
        " --folder {resources.folder:q} {resources.where}"
        " --out {output:q} > {log:q} 2>&1"


rule fetch_weights:
    """Published weights of a model, in the same way."""
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
    shell:
        "python -m fairfl.start fairfl.fetch --weights {wildcards.model}"
        " --folder {resources.folder:q} {resources.where}"
        " --out {output:q} > {log:q} 2>&1"


rule prepare:
    """One tensor file per data set."""
    input:
        lambda wc: layout.fetched(wc.key),
    output:
        "results/data/{key}.safetensors",
    log:
        "results/data/logs/{key}.prepare.log",
    conda:
        "../envs/fairfl.yaml"
    resources:
        folder=workload.config.data_folder,
        mem_mb=2000,
    params:
        spec=lambda wc: layout.prepare_spec(wc.key),
    shell:
        "python -m fairfl.start fairfl.prepare --spec {params.spec:q} --folder {resources.folder:q}"
        " --out {output:q} > {log:q} 2>&1"
