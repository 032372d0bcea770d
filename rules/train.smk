# train(setting, algorithm, variant, seed), all of a setting -> collect(setting)


rule train:
    """One training. The run id is the path below runs/."""
    input:
        data=prepared_data,
        partition="<results>/partitions/{setting}/seed{seed}.parquet",
        weights=published_weights,
        optima=optima_to_train_with,
        tuned=tuned_values,
        after=earlier_run,
    output:
        metrics="<results>/runs/{setting}/{algorithm}/{variant}/seed{seed}/metrics.parquet",
        summary="<results>/runs/{setting}/{algorithm}/{variant}/seed{seed}/summary.json",
        model="<results>/runs/{setting}/{algorithm}/{variant}/seed{seed}/model.safetensors",
    log:
        "<logs>/train/{setting}/{algorithm}/{variant}/seed{seed}.log",
    conda:
        "../envs/fairfl.yaml"
    threads: workload.config.threads
    resources:
        device=workload.config.device,
        backend=workload.config.backend,
        cuda_graphs=workload.config.cuda_graphs,
        computing=str(workload.config.threads),  # however many cores it gets
        checkpoint=str(workload.config.checkpoint_seconds),
        gpu=session.gpus,
        seconds=requests.seconds("train"),
        runtime=requests.minutes("train"),
        mem_mb=requests.memory_mb("train"),
    params:
        job=job_options,
        checkpoint=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{variant}}/seed{{seed}}/checkpoint.pt",
        optima=f"{RESULTS}/optima/{{setting}}/seed{{seed}}",
        partition=path_of("partition"),
        tuned=path_of("tuned"),
        after=path_of("after"),
    shell:
        job(
            "train",
            "--data {input.data:q} --partition {params.partition} --optima {params.optima:q} --tuned {params.tuned}"
            " --after {params.after} --out $(dirname {output.metrics:q}) --device {resources.device}"
            " --backend {resources.backend} --cuda-graphs {resources.cuda_graphs}"
            " --threads {resources.computing} --checkpoint {params.checkpoint:q}"
            " --checkpoint-seconds {resources.checkpoint}",
        )


rule collect:
    """All runs of a setting as two tables: final metrics, curves over rounds."""
    input:
        results=runs,
    output:
        final="<results>/tidy/{setting}.csv",
        rounds="<results>/tidy/{setting}.rounds.parquet",
    log:
        "<logs>/collect/{setting}.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job(
            "collect",
            "--results $(dirname $(dirname {output.final:q})) --final {output.final:q} --rounds {output.rounds:q}",
        )
