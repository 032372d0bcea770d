# partition(setting, seed): which client owns which sample, and its cut into train, validation, test


rule partition:
    input:
        lambda wc: layout.data(wc.setting, int(wc.seed)),
    output:
        rows=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.parquet",
        statistics=f"{RESULTS}/partitions/{{setting}}/seed{{seed}}.csv",
    log:
        f"{LOGS}/partitions/{{setting}}/seed{{seed}}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        spec=lambda wc: layout.partition_spec(wc.setting, wc.seed),
    shell:
        "python -m fairfl.start fairfl.partition --spec {params.spec:q} --data {input:q} --out {output.rows:q}"
        " --statistics {output.statistics:q} > {log:q} 2>&1"
