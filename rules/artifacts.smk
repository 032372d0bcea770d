# table | figure (paper, artifact)


def ids(*kinds):
    """Regular expression of the ids of the selected artifacts of these kinds."""
    return "|".join(key for _, key, spec in workload.artifacts.values() if spec.kind in kinds) or "none"


def artifact_of(wc):
    return workload.artifacts[f"{wc.paper}_{wc.artifact}"][2]


def of_settings(pattern, *needs, only=lambda setting: True):
    """Function of wildcards: files of an artifact's settings, by setting, if it needs one of these kinds of files."""

    def files(wc):
        artifact = artifact_of(wc)
        if not set(needs) & set(workload.needs(artifact)):
            return None
        return {
            setting: pattern.format(
                setting=setting,
                seed=(seed := workload.settings[setting].seeds[0]),
                key=workload.prepared(setting, seed),
            )
            for setting in filter(only, artifact.settings)
        }

    return files


def choices(wc):
    """What tuning chose for the rows of an artifact, by <setting>/<algorithm>."""
    artifact = artifact_of(wc)
    if "tuned" not in workload.needs(artifact):
        return None
    return {choice: f"<results>/tuned/{choice}.json" for choice in workload.choices(artifact)}


def models(wc):
    """Final models of the first seed, by run id."""
    artifact = artifact_of(wc)
    if "model" not in workload.needs(artifact):
        return None
    return {
        run.id: f"<results>/runs/{run.id}/model.safetensors"
        for setting in artifact.settings
        for run in workload.runs_of(setting)
        if run.seed == workload.settings[setting].seeds[0]
    }


def printed_numbers(wc):
    """The paper's own numbers, as far as they are written down, by table."""
    if "reported" not in workload.needs(artifact_of(wc)):
        return None
    return {path.stem: str(path) for path in sorted(Path("papers/reported", wc.paper).glob("*.csv"))}


# What an artifact needs is said in its YAML or by its plot; other inputs are not there.
ARTIFACT_FILES = {
    "tidy": of_settings("<results>/tidy/{setting}.csv", "tidy"),
    "rounds": of_settings("<results>/tidy/{setting}.rounds.parquet", "rounds"),
    "data": of_settings("<data>/{key}.safetensors", "data"),
    "partition": of_settings("<results>/partitions/{setting}/seed{seed}.parquet", "partition", "data"),
    "statistics": of_settings("<results>/partitions/{setting}/seed{seed}.csv", "statistics"),
    "timed": of_settings("<results>/timed/{setting}.json", "timed", only=workload.seconds.__contains__),
    "tuned": choices,
    "model": models,
    "reported": printed_numbers,
}


rule table:
    input:
        **ARTIFACT_FILES,
    output:
        csv="<results>/{paper}/{artifact}.csv",
        md="<results>/{paper}/{artifact}.md",
        tex="<results>/{paper}/{artifact}.tex",
    log:
        "<logs>/table/{paper}/{artifact}.log",
    wildcard_constraints:
        artifact=ids("table", "static_table"),
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("table", "--csv {output.csv:q} --md {output.md:q} --tex {output.tex:q}")


rule figure:
    input:
        **ARTIFACT_FILES,
    output:
        csv="<results>/{paper}/{artifact}.csv",
        pdf="<results>/{paper}/{artifact}.pdf",
        png="<results>/{paper}/{artifact}.png",
    log:
        "<logs>/figure/{paper}/{artifact}.log",
    wildcard_constraints:
        artifact=ids("figure", "illustration"),
    conda:
        "../envs/fairfl.yaml"
    params:
        job=job_options,
    shell:
        job("figure", "--csv {output.csv:q} --pdf {output.pdf:q} --png {output.png:q}")


def artifact_outputs(*names):
    """Files of these artifacts."""
    return [
        f"<results>/{paper}/{key}.{suffix}"
        for paper, key, spec in map(workload.artifacts.__getitem__, names)
        for suffix in (("csv", "pdf", "png") if spec.plot else ("csv", "md", "tex"))
    ]
