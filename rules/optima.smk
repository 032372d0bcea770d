# What losses are held against: local_optimum(setting, seed, client): L*_k, one pretraining job per client;
# surrogate(setting, seed, cluster): a model of all training data of a true cluster.


rule local_optimum:
    input:
        data=lambda wc: layout.data(wc.setting, int(wc.seed)),
        partition=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.parquet",
        weights=lambda wc: layout.weights(wc.setting),
    output:
        f"{RESULTS}/optima/{{setting}}/seed{{seed}}/client{{client}}.json",
    log:
        f"{LOGS}/optima/{{setting}}/seed{{seed}}/client{{client}}.log",
    conda:
        "../envs/fairfl.yaml"
    threads: workload.config.threads
    resources:
        device=workload.config.device,
        gpu=GPU,
        mem_mb=2000,
    params:
        spec=lambda wc: layout.optimum_spec(wc.setting, wc.seed, wc.client),
    shell:
        "python -m fairfl.start fairfl.optimum --spec {params.spec:q} --data {input.data:q}"
        " --partition {input.partition:q} --out {output:q} --device {resources.device} --threads {threads}"
        " > {log:q} 2>&1"


rule surrogate:
    input:
        data=lambda wc: layout.data(wc.setting, int(wc.seed)),
        partition=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.parquet",
        weights=lambda wc: layout.weights(wc.setting),
    output:
        f"{RESULTS}/surrogates/{{setting}}/seed{{seed}}/cluster{{cluster}}.json",
    log:
        f"{LOGS}/surrogates/{{setting}}/seed{{seed}}/cluster{{cluster}}.log",
    conda:
        "../envs/fairfl.yaml"
    threads: workload.config.threads
    resources:
        device=workload.config.device,
        backend=workload.config.backend,
        checkpoint=str(workload.config.checkpoint_seconds),
        gpu=GPU,
        mem_mb=2000,
    params:
        spec=lambda wc: layout.surrogate_spec(wc.setting, wc.seed, wc.cluster),
    shell:
        "python -m fairfl.start fairfl.surrogate --spec {params.spec:q} --data {input.data:q}"
        " --partition {input.partition:q} --out {output:q} --device {resources.device} --backend {resources.backend}"
        " --threads {threads} --checkpoint-seconds {resources.checkpoint} > {log:q} 2>&1"
