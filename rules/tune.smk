# tune(setting, algorithm): a grid of runs on held-out training data -> the values that VRed's tables 4 and 5 report.


CHOICE = Recorded("tuned/{setting}/{algorithm}")


rule tune:
    input:
        CHOICE.reads(
            tidy=lambda wc: layout.tune_inputs(wc.setting),
        ),
    output:
        f"{RESULTS}/tuned/{{setting}}/{{algorithm}}.json",
    log:
        f"{LOGS}/tuned/{{setting}}/{{algorithm}}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=CHOICE.made,
    shell:
        job("fairfl.jobs.tune", "--tidy {input.tidy:q} --out {output:q}")


rule tuned:
    """Every choice that the papers' grids allow, needed by an artifact or not."""
    input:
        layout.tunings(),


# calibrate: tune facts that a paper leaves open, on FedAvg only, against its numbers for FedAvg.
# Not part of `all`: `snakemake calibrate` runs every grid.

GRIDS = {
    f"{paper}_{name}": workload.calibration_grid(paper, name)
    for paper, spec in workload.papers.items()
    for name in spec.calibrations
}


CALIBRATION = Recorded("{paper}/calibration_{name}")


rule calibration:
    input:
        CALIBRATION.reads(
            tidy=lambda wc: [f"{RESULTS}/tidy/{setting}.csv" for setting in GRIDS[f"{wc.paper}_{wc.name}"]],
        ),
    output:
        csv=f"{RESULTS}/{{paper}}/calibration_{{name}}.csv",
        md=f"{RESULTS}/{{paper}}/calibration_{{name}}.md",
    log:
        f"{LOGS}/{{paper}}/calibration_{{name}}.log",
    conda:
        "../envs/fairfl.yaml"
    params:
        made=CALIBRATION.made,
    shell:
        job("fairfl.jobs.calibrate", "--tidy {input.tidy:q} --csv {output.csv:q} --md {output.md:q}")


rule calibrate:
    input:
        [
            f"{RESULTS}/{paper}/calibration_{name}.md"
            for paper, spec in workload.papers.items()
            for name in spec.calibrations
        ],
