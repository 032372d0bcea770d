# What losses are held against: local_optimum(setting, seed, client): L*_k, one pretraining job per client;
# surrogate(setting, seed, cluster): a model of all training data of a true cluster.


OPTIMUM = Recorded("optima/{setting}/seed{seed}/client{client}")


rule local_optimum:
    input:
        OPTIMUM.reads(
            data=lambda wc: layout.data(wc.setting, int(wc.seed)),
            partition=lambda wc: layout.partition(wc.setting, int(wc.seed)),
            weights=lambda wc: layout.weights(wc.setting),
        ),
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
        runtime=workload.scale.limits.local_optimum.minutes,
        mem_mb=lambda wc, attempt: attempt * workload.scale.limits.local_optimum.memory_mb,
    params:
        made=OPTIMUM.made,
    shell:
        job(
            "fairfl.jobs.local_optimum",
            "--data {input.data:q} --partition {input.partition:q} --out {output:q} --device {resources.device}"
            " --threads {threads}",
        )


SURROGATE = Recorded("surrogates/{setting}/seed{seed}/cluster{cluster}")


rule surrogate:
    input:
        SURROGATE.reads(
            data=lambda wc: layout.data(wc.setting, int(wc.seed)),
            partition=lambda wc: layout.partition(wc.setting, int(wc.seed)),
            weights=lambda wc: layout.weights(wc.setting),
        ),
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
        runtime=workload.scale.limits.surrogate.minutes,
        mem_mb=lambda wc, attempt: attempt * workload.scale.limits.surrogate.memory_mb,
    params:
        made=SURROGATE.made,
    shell:
        job(
            "fairfl.jobs.surrogate",
            "--data {input.data:q} --partition {input.partition:q} --out {output:q} --device {resources.device}"
            " --backend {resources.backend} --threads {threads} --checkpoint-seconds {resources.checkpoint}",
        )
