# tune(setting, algorithm): a grid of runs on held-out training data -> the values that VRed's tables 4 and 5 report.
# calibration(paper, name): facts that a paper leaves open, on FedAvg only, against its numbers for FedAvg.


rule tune:
    input:
        tidy=lambda wc: grid(workload.tuning_grid(wc.setting)),
    output:
        "<results>/tuned/{setting}/{algorithm}.json",
    log:
        "<logs>/tune/{setting}/{algorithm}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("tune", "--tidy {input.tidy:q} --out {output:q}")


rule tuned:
    """Every choice that the papers' grids allow, needed by an artifact or not."""
    input:
        [
            f"<results>/tuned/{name}/{algorithm}.json"
            for name, setting in workload.settings.items()
            if setting.tuning and workload.selected(name)
            for algorithm in setting.tuning.algorithms
        ],


rule calibration:
    input:
        tidy=lambda wc: grid(workload.calibration_grid(wc.paper, wc.name)),
    output:
        csv="<results>/{paper}/calibration_{name}.csv",
        md="<results>/{paper}/calibration_{name}.md",
    log:
        "<logs>/calibration/{paper}/{name}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("calibration", "--tidy {input.tidy:q} --csv {output.csv:q} --md {output.md:q}")


rule calibrate:
    """Every calibration. Not part of `all`."""
    input:
        [
            f"<results>/{paper}/calibration_{name}.md"
            for paper, spec in workload.papers.items()
            for name in spec.calibrations
        ],
