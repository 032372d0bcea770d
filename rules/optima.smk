# What losses are held against: local_optimum(setting, seed, client): L*_k, one pretraining job per client;
# surrogate(setting, seed, cluster): a model of all training data of a true cluster.


rule local_optimum:
    input:
        data=prepared_data,
        partition="<results>/partitions/{setting}/seed{seed}.parquet",
        weights=published_weights,
    output:
        "<results>/optima/{setting}/seed{seed}/client{client}.json",
    log:
        "<logs>/local_optimum/{setting}/seed{seed}/client{client}.log",
    conda:
        "../envs/fairfl.yaml"
    threads: workload.config.threads
    resources:
        device=workload.config.device,
        cuda_graphs=workload.config.cuda_graphs,
        computing=str(workload.config.threads),
        gpu=session.gpus,
        seconds=requests.seconds("local_optimum"),
        runtime=requests.minutes("local_optimum"),
        mem_mb=requests.memory_mb("local_optimum"),
    params:
        job=job_options,
        partition=path_of("partition"),
    shell:
        job(
            "local_optimum",
            "--data {input.data:q} --partition {params.partition} --out {output:q} --device {resources.device}"
            " --cuda-graphs {resources.cuda_graphs} --threads {resources.computing}",
        )


rule surrogate:
    input:
        data=prepared_data,
        partition="<results>/partitions/{setting}/seed{seed}.parquet",
        weights=published_weights,
    output:
        "<results>/surrogates/{setting}/seed{seed}/cluster{cluster}.json",
    log:
        "<logs>/surrogate/{setting}/seed{seed}/cluster{cluster}.log",
    conda:
        "../envs/fairfl.yaml"
    threads: workload.config.threads
    resources:
        device=workload.config.device,
        backend=workload.config.backend,
        cuda_graphs=workload.config.cuda_graphs,
        computing=str(workload.config.threads),
        checkpoint=str(workload.config.checkpoint_seconds),
        gpu=session.gpus,
        seconds=requests.seconds("surrogate"),
        runtime=requests.minutes("surrogate"),
        mem_mb=requests.memory_mb("surrogate"),
    params:
        job=job_options,
        partition=path_of("partition"),
        checkpoint=f"{RESULTS}/surrogates/{{setting}}/seed{{seed}}/cluster{{cluster}}.checkpoint.pt",
    shell:
        job(
            "surrogate",
            "--data {input.data:q} --partition {params.partition} --out {output:q} --device {resources.device}"
            " --backend {resources.backend} --cuda-graphs {resources.cuda_graphs}"
            " --threads {resources.computing} --checkpoint {params.checkpoint:q}"
            " --checkpoint-seconds {resources.checkpoint}",
        )
