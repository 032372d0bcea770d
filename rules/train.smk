# train(run): one job per algorithm x hyper-parameters x seed. The run id is the path.


def run_of(wc):
    return workload.run(wc.setting, wc.algorithm, wc.variant, int(wc.seed))


RUN = Recorded("runs/{setting}/{algorithm}/{variant}/seed{seed}")


rule train:
    input:
        RUN.reads(
            data=lambda wc: layout.data(wc.setting, int(wc.seed)),
            partition=lambda wc: layout.partition(wc.setting, int(wc.seed)),
            weights=lambda wc: layout.weights(wc.setting),
            optima=lambda wc: layout.optima_for(wc.algorithm, wc.setting, int(wc.seed)),
            tuned=lambda wc: layout.tuned_for(run_of(wc)),
            after=lambda wc: layout.after_for(run_of(wc)),
        ),
    output:
        metrics=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{variant}}/seed{{seed}}/metrics.parquet",
        summary=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{variant}}/seed{{seed}}/summary.json",
        model=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{variant}}/seed{{seed}}/model.safetensors",
    log:
        f"{LOGS}/runs/{{setting}}/{{algorithm}}/{{variant}}/seed{{seed}}.log",
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
        made=RUN.made,
        optima=f"{RESULTS}/optima/{{setting}}/seed{{seed}}",
    shell:
        job(
            "fairfl.jobs.train",
            "--data {input.data:q} --partition {input.partition:q} --optima {params.optima:q} --tuned {input.tuned:q}"
            " --after {input.after:q} --out $(dirname {output.metrics:q}) --device {resources.device}"
            " --backend {resources.backend} --threads {threads} --checkpoint-seconds {resources.checkpoint}",
        )


TIDY = Recorded("tidy/{setting}")


rule tidy:
    """All runs of a setting as two tables: final metrics, curves over rounds."""
    input:
        TIDY.reads(
            results=lambda wc: layout.tidy_inputs(wc.setting),
        ),
    output:
        final=f"{RESULTS}/tidy/{{setting}}.csv",
        rounds=f"{RESULTS}/tidy/{{setting}}.rounds.parquet",
    log:
        f"{LOGS}/tidy/{{setting}}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=TIDY.made,
    shell:
        job(
            "fairfl.jobs.collect",
            "--results $(dirname $(dirname {output.final:q})) --final {output.final:q} --rounds {output.rounds:q}",
        )
