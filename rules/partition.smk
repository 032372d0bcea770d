# partition(setting, seed): which client owns which sample, and its cut into train, validation, test


PARTITION = Recorded("partitions/{setting}/seed{seed}")


rule partition:
    input:
        PARTITION.reads(
            data=lambda wc: layout.data(wc.setting, int(wc.seed)),
        ),
    output:
        rows=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.parquet",
        statistics=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.csv",
    log:
        f"{LOGS}/partitions/{{setting}}/seed{{seed}}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=PARTITION.made,
    shell:
        job(
            "fairfl.jobs.partition",
            "--data {input.data:q} --out {output.rows:q} --statistics {output.statistics:q}",
        )
