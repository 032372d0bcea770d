# trials(setting, algorithm): a grid of runs on held-out training data -> tune(setting, algorithm): VRed's tables 4 and 5.
# calibrate(setting): facts that a paper leaves open, by a grid of FedAvg runs and the paper's numbers for FedAvg.


rule trials:
    """Final metrics of an algorithm at every point of a setting's grid."""
    input:
        runs=runs_of_trials,
    output:
        "<results>/trials/{setting}/{algorithm}.csv",
    log:
        "<logs>/trials/{setting}/{algorithm}.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("trials", "--results $(dirname $(dirname $(dirname {output:q}))) --out {output:q}")


rule tune:
    input:
        trials=trials_to_choose_by,
    output:
        "<results>/tuned/{setting}/{algorithm}.json",
    log:
        "<logs>/tune/{setting}/{algorithm}.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("tune", "--trials {input.trials:q} --out {output:q}")


rule tuned:
    """Every choice that the papers' grids allow, needed by an artifact or not."""
    input:
        [
            f"<results>/tuned/{name}/{algorithm}.json"
            for name, setting in workload.settings.items()
            if setting.tuning and workload.selected(name)
            for algorithm in setting.tuning.algorithms
        ],


rule calibrate:
    """The best point of a grid of facts that the paper leaves open, by FedAvg's reported row, and the fit of each."""
    input:
        tidy=calibration_points,
        reported=reported_by_paper,
    output:
        json="<results>/calibrated/{setting}.json",
        md="<results>/calibrated/{setting}.md",
    log:
        "<logs>/calibrate/{setting}.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("calibrate", "--out {output.json:q} --md {output.md:q}")


rule calibrated:
    """Print the choice for every selected setting that has `unstated` facts, as YAML to paste. Not part of `all`."""
    input:
        [f"<results>/calibrated/{setting}.md" for setting in workload.open],
    log:
        "<logs>/calibrated.log",
    localrule: True
    conda:
        "../envs/fairfl.yaml"
    shell:
        "cat {input:q} /dev/null | tee {log:q}"
