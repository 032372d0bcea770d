# Which files the rules read and write, where that depends on the experiments: functions of wildcards.
from fairfl.experiments.declaration import declaration
from fairfl.experiments.strict import csv_files
from fairfl.jobs import collect, fetch, reproduction, trials, tune
from fairfl.judgement.recorded import CLAIMS, stored_comparison
from fairfl.planning import downloads


# several rules
def prepared_data(wc):
    """The tensors of the setting's data set, drawn anew for each seed where the data set says so."""
    return f"<data>/{workload.prepared(wc.setting, int(wc.seed))}.safetensors"


def published_weights(wc):
    """Marker of the published weights that the setting's model starts from, if it does."""
    name = downloads.published_weights(workload, wc.setting)
    return f"<data>/weights/{name}.fetched.json" if name else []


def timed_weights(wc):
    """The same, if there is a variant to train."""
    return published_weights(wc) if wc.setting in workload.timed_variants else []


def local_optima(wc):
    """L*_k of every client, where the setting measures against them."""
    setting = workload.settings[wc.setting]
    clients = range(setting.clients if setting.local_optimum else 0)
    return [f"<results>/optima/{wc.setting}/seed{wc.seed}/client{k}.json" for k in clients]


# calibrate
def calibration_points(wc):
    """Final metrics of FedAvg at each point, by setting."""
    return {name: f"<results>/tidy/{name}.csv" for name in workload.calibration_grid(wc.setting)}


def reported_by_paper(wc):
    """The numbers of the setting's paper, by table."""
    return csv_files(Path("papers/reported", workload.paper_of[wc.setting]))


# fetch, prepare
def raw_files(wc):
    """Marker of the raw files, for data sets that have any."""
    return "<data>/{key}.fetched.json" if fetch.spec(workload, wc.key)["files"] else []


# train, collect
def optima_to_train_with(wc):
    """The local optima, for algorithms that use them while they train (eagle)."""
    return (
        local_optima(wc)
        if "local_optimum_loss" in declaration("algorithms", wc.algorithm).measurements
        else []
    )


def run_of(wc):
    return workload.run(wc.setting, wc.algorithm, wc.variant, int(wc.seed))


def tuned_values(wc):
    """The choice that a run takes its values from, if it does."""
    return "<results>/tuned/{setting}/{algorithm}.json" if workload.tuning_of(run_of(wc)) else []


def earlier_run(wc):
    """Summary of the run whose memberships a run starts from, if it does."""
    before = workload.predecessor(run_of(wc))
    return f"<results>/runs/{before.id}/summary.json" if before else []


def collected(spec):
    """What the runs have left that fairfl.judgement.collection reads, and what their losses are held against."""
    return [
        *(
            f"<results>/runs/{run['id']}/{file}"
            for run in spec["runs"]
            for file in ("metrics.parquet", "summary.json")
        ),
        *(
            f"<results>/optima/{spec['setting']}/seed{seed}/client{k}.json"
            for seed in spec["optima_seeds"]
            for k in range(spec["clients"])
        ),
        *(
            f"<results>/surrogates/{spec['setting']}/seed{seed}/cluster{cluster}.json"
            for seed in spec["seeds"]
            for cluster in range(spec["surrogates"])
        ),
    ]


def runs(wc):
    """Those of the setting."""
    return collected(collect.spec(workload, wc.setting))


# trials
def runs_of_trials(wc):
    """Those of an algorithm at each point of the setting's grid."""
    points = trials.spec(workload, wc.setting, wc.algorithm)["points"]
    return [path for point in points for path in collected(point)]


def trials_to_choose_by(wc):
    """Trials of the grid's points; none of an only one."""
    points = tune.spec(workload, wc.setting, wc.algorithm)["points"]
    return rules.trials.output if len(points) > 1 else []


# timing
def first_data(wc):
    """Data of the first seed, if there is a variant to train."""
    seed = workload.settings[wc.setting].seeds[0]
    return (
        f"<data>/{workload.prepared(wc.setting, seed)}.safetensors"
        if wc.setting in workload.timed_variants
        else []
    )


def first_partition(wc):
    seed = workload.settings[wc.setting].seeds[0]
    return (
        f"<results>/partitions/{wc.setting}/seed{seed}.parquet"
        if wc.setting in workload.timed_variants
        else []
    )


# table, figure
def ids(*kinds):
    """Regular expression of the ids of the known artifacts of these kinds."""
    return "|".join(key for _, key, spec in workload.known.values() if spec.kind in kinds) or "none"


def artifact_of(wc):
    return workload.known[f"{wc.paper}_{wc.artifact}"][2]


def first_seed(setting):
    return workload.settings[setting].seeds[0]


def has_samples(setting):
    """True if data and partition of the first seed may be made, or are in the record."""
    drawn = not fetch.spec(workload, workload.prepared(setting, first_seed(setting)))["files"]
    return drawn or workload.has("partition", f"{setting}/seed{first_seed(setting)}")


def is_timed(setting):
    return setting in workload.seconds and workload.has("timing", setting)


def of_settings(pattern, *needs, only=lambda setting: True):
    """Function of wildcards: files of an artifact's settings, by setting, if it needs one of these kinds of files."""

    def files(wc):
        artifact = artifact_of(wc)
        if not set(needs) & set(artifact.needs):
            return None
        return {
            setting: pattern.format(
                setting=setting,
                seed=first_seed(setting),
                key=workload.prepared(setting, first_seed(setting)),
            )
            for setting in filter(only, artifact.settings)
        }

    return files


def choices(wc):
    """What tuning chose for the rows of an artifact, by <setting>/<algorithm>."""
    artifact = artifact_of(wc)
    if "tuned" not in artifact.needs:
        return None
    return {choice: f"<results>/tuned/{choice}.json" for choice in known_choices(artifact)}


def known_choices(artifact):
    return [choice for choice in workload.choices(artifact) if workload.has("tune", choice)]


def models(wc):
    """Final models of the first seed, by run id."""
    artifact = artifact_of(wc)
    if "model" not in artifact.needs:
        return None
    return {
        run.id: f"<results>/runs/{run.id}/model.safetensors"
        for setting in artifact.settings
        for run in workload.runs_of(setting)
        if run.seed == first_seed(setting)
    }


def printed_numbers(wc):
    """The paper's own numbers, as far as they are written down, by table."""
    if "reported" not in artifact_of(wc).needs:
        return None
    return csv_files(Path("papers/reported", wc.paper))


def artifact_outputs(*names):
    """Files of these artifacts."""
    return [
        f"<results>/{paper}/{key}.{suffix}"
        for paper, key, spec in map(workload.known.__getitem__, names)
        for suffix in (("csv", "pdf", "png") if spec.plot else ("csv", "md", "tex"))
    ]


# side_by_side, page
def side_by_side_tables():
    """Files of the tables that have the paper's numbers in their cells."""
    return [
        f"<summaries>/{paper}/{key}.side_by_side.{suffix}"
        for paper, key, artifact in workload.artifacts.values()
        if artifact.kind == "table"
        for suffix in ("md", "tex")
    ]


# comparison, claims
def of_shown(pattern, kind, only=lambda setting: True):
    """Function of wildcards: files by setting, of those that a selected artifact shows such numbers of."""

    def files(wc):
        return {
            setting: pattern.format(setting=setting, seed=first_seed(setting))
            for _, _, artifact in workload.artifacts.values()
            if kind in artifact.origins and (artifact.rows or kind != "tidy")
            for setting in filter(only, artifact.settings)
        }

    return files


def choices_shown(wc):
    """What tuning chose for the rows of all selected artifacts, by <setting>/<algorithm>."""
    return {
        choice: f"<results>/tuned/{choice}.json"
        for _, _, artifact in workload.artifacts.values()
        if "tuned" in artifact.origins
        for choice in known_choices(artifact)
    }


def drawings(wc):
    """What illustrations with claims draw, by artifact."""
    return {
        name: f"<results>/{paper}/{key}.csv"
        for name, (paper, key, artifact) in workload.artifacts.items()
        if artifact.drawing and artifact.claims
    }


# comparison, claims, page
def reported(wc):
    """The papers' own numbers, as far as they are written down."""
    return [
        path for folder in sorted(Path("papers/reported").iterdir()) for path in csv_files(folder).values()
    ]


# page
def recorded_numbers(wc):
    """What the record says at full scale, to stand beside the numbers of another one."""
    numbers = stored_comparison(workload, Path("."))
    return [str(path) for path in (numbers, CLAIMS) if path and path.is_file()] if numbers else []


def summary(name):
    """Command of a job that reads config and papers/*.yaml itself."""
    results = shlex.quote(RESULTS)
    return job(name, f"--config {{params.config:q}} --root . --results {results} --out {{output:q}}")


# reproduction
def own_artifacts(wc):
    """Tables and figures of experiments of one's own of which something is recorded."""
    names = reproduction.own(workload)
    return [f"<results>/{paper}/{key}.csv" for paper, key, _ in workload.artifacts.values() if paper in names]
