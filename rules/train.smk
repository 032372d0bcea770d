# train(setting, algorithm, variant, seed), all of a setting -> collect(setting)


def optima_to_train_with(wc):
    """The local optima, for algorithms that use them while they train (eagle)."""
    return local_optima(wc) if "val_best" in workload.declared(wc.algorithm).measurements else []


def run_of(wc):
    return workload.run(wc.setting, wc.algorithm, wc.variant, int(wc.seed))


def tuned_values(wc):
    """The choice that a run takes its values from, if it does."""
    return "<results>/tuned/{setting}/{algorithm}.json" if workload.tuning_of(run_of(wc)) else []


def earlier_run(wc):
    """Summary of the run whose memberships a run starts from, if it does."""
    before = workload.predecessor(run_of(wc))
    return f"<results>/runs/{before.id}/summary.json" if before else []


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
        checkpoint=str(workload.config.checkpoint_seconds),
        gpu=GPU,
        runtime=workload.scale.limits.train.minutes,
        mem_mb=lambda wc, attempt: attempt * workload.scale.limits.train.memory_mb,
    params:
        job=job_options,
        checkpoint=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{variant}}/seed{{seed}}/checkpoint.pt",
        optima=f"{RESULTS}/optima/{{setting}}/seed{{seed}}",
    shell:
        job(
            "train",
            "--data {input.data:q} --partition {input.partition:q} --optima {params.optima:q} --tuned {input.tuned:q}"
            " --after {input.after:q} --out $(dirname {output.metrics:q}) --device {resources.device}"
            " --backend {resources.backend} --threads {threads} --checkpoint-seconds {resources.checkpoint}",
        )


def runs(wc):
    """What all runs of the setting have left, and what their losses are held against."""
    setting = workload.settings[wc.setting]
    clusters = range(setting.surrogate.clusters if setting.surrogate else 0)
    return [
        *(
            f"<results>/runs/{run.id}/{file}"
            for run in workload.runs_of(wc.setting)
            for file in ("metrics.parquet", "summary.json")
        ),
        *(
            f"<results>/optima/{wc.setting}/seed{seed}/client{k}.json"
            for seed in setting.seeds
            for k in range(setting.clients if setting.local_optimum else 0)
        ),
        *(
            f"<results>/surrogates/{wc.setting}/seed{seed}/cluster{cluster}.json"
            for seed in setting.seeds
            for cluster in clusters
        ),
    ]


rule collect:
    """All runs of a setting as two tables: final metrics, curves over rounds."""
    input:
        results=runs,
    output:
        final="<results>/tidy/{setting}.csv",
        rounds="<results>/tidy/{setting}.rounds.parquet",
    log:
        "<logs>/collect/{setting}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job(
            "collect",
            "--results $(dirname $(dirname {output.final:q})) --final {output.final:q} --rounds {output.rounds:q}",
        )
