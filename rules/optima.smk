# local_optimum(setting, seed, client): L*_k, one pretraining job per client


rule local_optimum:
    input:
        data=lambda wc: layout.data(wc.setting, int(wc.seed)),
        partition=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.parquet",
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
