# partition(setting, seed): which client owns which sample, and its cut into train, validation, test


rule partition:
    input:
        data=prepared_data,
    output:
        rows="<results>/partitions/{setting}/seed{seed}.parquet",
        statistics="<results>/partitions/{setting}/seed{seed}.csv",
    log:
        "<logs>/partition/{setting}/seed{seed}.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job(
            "partition",
            "--data {input.data:q} --out {output.rows:q} --statistics {output.statistics:q}",
        )
