# fairfl: five papers on fairness in federated learning as one build target. See README.md.
from snakemake.utils import min_version

min_version("9.19")


include: "rules/config.smk"


configfile: "config.yaml"


report: "rules/report/workflow.rst"


include: "rules/common.smk"
include: "rules/data.smk"
include: "rules/partition.smk"
include: "rules/optima.smk"
include: "rules/train.smk"
include: "rules/tune.smk"
include: "rules/timing.smk"
include: "rules/artifacts.smk"
include: "rules/report.smk"


rule all:
    default_target: True
    input:
        lambda wc: needed(layout.outputs()),


# One target per paper (`eagle`) and one per artifact (`eagle_table8`).
for _paper in workload.papers:

    rule:
        name:
            _paper
        input:
            lambda wc, wanted=_paper: needed(
                [
                    path
                    for name, (paper, _, _) in workload.artifacts.items()
                    if paper == wanted
                    for path in layout.artifact_outputs(name)
                ]
            ),


for _artifact in workload.artifacts:

    rule:
        name:
            _artifact
        input:
            lambda wc, wanted=_artifact: needed(layout.artifact_outputs(wanted)),
