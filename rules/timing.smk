# timing(setting): seconds of rounds, test passes and metrics on the machine at hand, all variants in turns.


rule timing:
    input:
        data=first_data,
        partition=first_partition,
        weights=timed_weights,
    output:
        "<results>/timed/{setting}.json",
    log:
        "<logs>/timing/{setting}.log",
    conda:
        "../envs/fairfl.yaml"
    # Other jobs would slow down what is measured. So this one takes all cores from them, though it computes with as many
    # threads as a training. A cluster gives each job cores of its own.
    threads: lambda wc: session.cores or workload.config.threads
    resources:
        device=workload.config.device,
        backend=workload.config.backend,
        cuda_graphs=workload.config.cuda_graphs,
        computing=str(workload.config.threads),
        gpu=session.gpus,
        seconds=requests.seconds("timing"),
        runtime=requests.minutes("timing"),
        mem_mb=requests.memory_mb("timing"),
    params:
        job=job_options,
        partition=path_of("partition"),
    shell:
        job(
            "timing",
            "--data {input.data:q} --partition {params.partition} --out {output:q} --device {resources.device}"
            " --backend {resources.backend} --cuda-graphs {resources.cuda_graphs}"
            " --threads {resources.computing}",
        )
