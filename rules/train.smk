# train(run): one job per algorithm x hyper-parameters x seed. The run id is the path.


rule train:
    input:
        data=lambda wc: layout.data(wc.setting, int(wc.seed)),
        partition=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.parquet",
        weights=lambda wc: layout.weights(wc.setting),
        optima=lambda wc: layout.optima_for(wc.algorithm, wc.setting, int(wc.seed)),
        tuned=lambda wc: layout.tuned_for(wc.setting, wc.algorithm, wc.arm),
        after=lambda wc: layout.after_for(wc.setting, wc.algorithm, wc.arm, int(wc.seed)),
    output:
        metrics=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{arm}}/seed{{seed}}/metrics.parquet",
        summary=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{arm}}/seed{{seed}}/summary.json",
        model=f"{RESULTS}/runs/{{setting}}/{{algorithm}}/{{arm}}/seed{{seed}}/model.safetensors",
    log:
        f"{LOGS}/runs/{{setting}}/{{algorithm}}/{{arm}}/seed{{seed}}.log",
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
        spec=lambda wc: layout.train_spec(wc.setting, wc.algorithm, wc.arm, wc.seed),
        optima=f"{RESULTS}/optima/{{setting}}/seed{{seed}}",
        tuned=lambda wc: layout.tuned(wc.setting, wc.algorithm),
    shell:
        "python -m fairfl.start fairfl.train --spec {params.spec:q} --data {input.data:q}"
        " --partition {input.partition:q} --optima {params.optima:q} --tuned {params.tuned:q} --after {input.after:q}"
        " --out $(dirname {output.metrics:q}) --device {resources.device} --backend {resources.backend}"
        " --threads {threads} --checkpoint-seconds {resources.checkpoint} > {log:q} 2>&1"


rule tidy:
    """All runs of a setting as two tables: final metrics, curves over rounds."""
    input:
        lambda wc: layout.tidy_inputs(wc.setting),
    output:
        final=f"{RESULTS}/tidy/{{setting}}.csv",
        rounds=f"{RESULTS}/tidy/{{setting}}.rounds.parquet",
    log:
        f"{LOGS}/tidy/{{setting}}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.tidy_spec(wc.setting),
    shell:
        "python -m fairfl.start fairfl.tidy --spec {params.spec:q}"
        " --results $(dirname $(dirname {output.final:q})) --final {output.final:q}"
        " --rounds {output.rounds:q} > {log:q} 2>&1"
