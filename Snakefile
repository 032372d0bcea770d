# fairfl: five papers on fairness in federated learning as one build target. See README.md.
from snakemake.utils import min_version

min_version("9.19")


include: "rules/config.smk"


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/data.smk"
include: "rules/partition.smk"
include: "rules/optima.smk"
include: "rules/train.smk"
include: "rules/tune.smk"
include: "rules/timing.smk"
include: "rules/artifacts.smk"
include: "rules/report.smk"
include: "rules/record.smk"


rule all:
    default_target: True
    input:
        artifact_outputs(*workload.artifacts),
        side_by_side_tables(),
        "<summaries>/comparison.csv",
        "<summaries>/claims.csv",
        "<summaries>/index.html",


# One target per paper (`eagle`) and one per artifact (`eagle_table8`), those on request (`opt_in`) too.
for _paper in workload.config.papers:

    rule:
        name:
            _paper
        input:
            artifact_outputs(*(name for name, (paper, _, _) in workload.artifacts.items() if paper == _paper)),


for _artifact in workload.known:

    rule:
        name:
            _artifact
        input:
            artifact_outputs(_artifact),


graph = session.plan()
