"""The spec of each job: one dictionary that holds all that its result depends on, code included.

Rules pass it as one canonical JSON string, both as `params:` (what Snakemake compares to decide on a
re-run) and on the command line (what the job reads). A job never reads config.yaml or papers/*.yaml,
so what triggers a job and what it computes from cannot drift apart.
"""

from typing import Any

from fairfl.data.registry import load
from fairfl.experiments.declaration import declaration
from fairfl.experiments.workload import Run, Workload
from fairfl.metrics.origin import EVALUATING, INFERENCE, TRAINING
from fairfl.reporting.artifact import artifact_spec
from fairfl.runtime.fingerprint import fingerprint
from fairfl.workflow.code_hash import closure

# Keys of a setting that decide who owns which sample.
_PARTITION_KEYS = ("data", "samples", "partition", "partition_seed", "label_noise", "clients", "split")


def data_key(workload: Workload, setting: str, seed: int) -> str:
    """Name of the prepared tensor file: data set, options that differ from default, seed if drawn anew."""
    data = workload.settings[setting].data
    module = load(data.name)
    changed = {key: value for key, value in data.options.items() if value != module.DEFAULTS[key]}
    suffix = f"-{fingerprint(changed)[:8]}" if changed else ""
    return f"{data.name}{suffix}" + (f"_seed{seed}" if module.PER_SEED else "")


def prepare(workload: Workload, setting: str, seed: int) -> dict[str, Any]:
    data = workload.settings[setting].data
    return {
        "name": data.name,
        "options": data.options,
        "seed": seed if load(data.name).PER_SEED else 0,
        "code": closure("fairfl.jobs.prepare", f"fairfl.data.{data.name}"),
    }


def partition(workload: Workload, setting: str, seed: int) -> dict[str, Any]:
    training = workload.settings[setting].training()
    method = training["partition"]["name"]
    return {
        **{key: training[key] for key in _PARTITION_KEYS},
        "seed": seed,
        "code": closure("fairfl.jobs.partition", f"fairfl.partition.{method}"),
    }


def optimum(workload: Workload, setting: str, seed: int, client: int) -> dict[str, Any]:
    training = workload.settings[setting].training()
    keys = ("data", "model", "loss", "learning_rate", "optimizer", "weight_decay", "batch_size", "local_optimum")
    return {
        **{key: training[key] for key in keys},
        "precision": workload.config.precision,
        "seed": seed,
        "client": client,
        "code": closure(
            "fairfl.jobs.local_optimum", f"fairfl.models.{training['model']['name']}", "fairfl.algorithms.local_only"
        ),
    }


def surrogate(workload: Workload, setting: str, seed: int, cluster: int) -> dict[str, Any]:
    spec = workload.settings[setting]
    training = spec.training()
    keys = ("data", "model", "loss", "optimizer", "weight_decay", "learning_rate", "batch_size", "evaluated_parts")
    asked = training["surrogate"]
    lengths = {"epochs": spec.rounds * spec.local_epochs, "every": spec.local_epochs}  # as long as federated training
    return {
        **{key: training[key] for key in keys},
        "surrogate": {**asked, **{key: asked[key] or length for key, length in lengths.items()}},
        "precision": workload.config.precision,
        "seed": seed,
        "cluster": cluster,
        "code": closure("fairfl.jobs.surrogate", f"fairfl.models.{training['model']['name']}"),
    }


def train(workload: Workload, run: Run) -> dict[str, Any]:
    training = train_keys(workload.settings[run.setting].training(), run.algorithm)
    # The first comes in as files (needs_optima), the others matter after training only.
    for key in ("local_optimum", "surrogate", "reported_part", "gap_part"):
        training.pop(key)
    return {
        "setting": run.setting,
        **training,
        "precision": workload.config.precision,
        "algorithm": run.algorithm,
        "variant": run.variant.folder,
        "hyperparameters": workload.hyperparameters(run),
        "modifiers": (modifiers := workload.modifiers(run)),
        **({"tuned": tuning.applies} if (tuning := workload.tuning_of(run)) else {}),
        "seed": run.seed,
        "code": closure(
            "fairfl.jobs.train",
            f"fairfl.models.{training['model']['name']}",
            f"fairfl.algorithms.{run.algorithm}",
            *(f"fairfl.modifiers.{name}" for name in modifiers),
        ),
    }


def timing(workload: Workload, setting: str) -> dict[str, Any]:
    """Spec of a measurement: the training jobs of its variants (first seed), how often what is repeated (0: never)."""
    spec, asked = workload.settings[setting], workload.seconds[setting]
    assert spec.timing is not None  # loading has looked
    variants, code = [], {}
    for variant in workload.timed_variants.get(setting, ()):
        training = train(workload, Run(setting, variant, spec.seeds[0]))
        code |= training.pop("code")
        variants.append({"shown": variant.csv, **training})
    return {
        "setting": setting,
        "clients": spec.clients,
        "variants": variants,
        "rounds": spec.timing.rounds if asked & {*TRAINING} else 0,
        "inferences": spec.timing.inferences if asked & {*INFERENCE} else 0,
        "metrics": spec.timing.metrics if asked & {*EVALUATING} else 0,
        "precision": workload.config.precision,
        "code": {**code, **closure("fairfl.jobs.timing")},
    }


def train_keys(training: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """What a setting says to one algorithm: its own learning rate, if it has one."""
    training.pop("hyperparameters")  # the run has its own, of which these may be a part
    rates = training.pop("learning_rates")
    return {**training, "learning_rate": rates.get(algorithm, training["learning_rate"])}


def needs_optima(algorithm: str) -> bool:
    """True if the algorithm uses L*_k while it trains (eagle); others meet it only in the metrics."""
    return "val_best" in declaration("algorithms", algorithm).measurements


def tidy(workload: Workload, setting: str) -> dict[str, Any]:
    spec = workload.settings[setting]
    return {
        "setting": setting,
        "data": spec.data.label,
        "rounds": spec.rounds,
        "reported_part": spec.reported_part,
        "baseline": workload.baseline(setting),
        "gap_part": spec.gap_part or spec.reported_part,
        "runs": [
            {
                "id": run.id,
                "algorithm": run.algorithm,
                "hyperparameters": run.variant.csv,
                "seed": run.seed,
            }
            for run in workload.runs_of(setting)
        ],
        "local_only": any(v.algorithm == "local_only" for v in workload.variants.get(setting, {})),
        "seeds": spec.seeds,
        "optima_seeds": spec.seeds if spec.local_optimum else [],
        "surrogates": spec.surrogate.clusters if spec.surrogate else 0,
        "loss_unit": "mse" if spec.loss == "squared_error" else "nats",
        "clients": spec.clients,
        "code": closure("fairfl.jobs.collect"),
    }


def artifact(workload: Workload, name: str) -> dict[str, Any]:
    """Spec of a table or figure: its YAML without caption and claims, titles of algorithms and metrics, code."""
    plot = workload.artifacts[name][2].plot
    entry = ("fairfl.jobs.figure", f"fairfl.reporting.plots.{plot}") if plot else ("fairfl.jobs.table",)
    return {**artifact_spec(workload, name), "code": closure(*entry)}


def calibration(workload: Workload, paper: str, name: str) -> dict[str, Any]:
    """Spec of a calibration report: grid points by setting id, targets, algorithm."""
    spec = workload.papers[paper].calibrations[name]
    points = {
        setting: {key: _at(workload.settings[setting].training(), key) for key in spec.grid}
        for setting in workload.calibration_grid(paper, name)
    }
    return {
        "name": name,
        "points": points,
        "algorithm": spec.algorithm,
        "targets": [target.model_dump(mode="json") for target in spec.targets],
        "why": spec.why,
        "data": workload.settings[spec.setting].data.label,
        "code": closure("fairfl.jobs.calibrate"),
    }


def tune(workload: Workload, setting: str, algorithm: str) -> dict[str, Any]:
    """Spec of a choice: the points of the grid and how they are scored."""
    base = workload.settings[setting]
    points = []
    for name in workload.tuning_grid(setting):
        training = train_keys(workload.settings[name].training(), algorithm)
        points += [
            {
                "setting": name,
                "shown": variant.csv,
                "learning_rate": training["learning_rate"],
                "batch_size": training["batch_size"],
                "hyperparameters": dict(variant.values),
            }
            for variant in workload.variants[name]
            if variant.algorithm == algorithm
        ]
    assert base.tuning is not None  # tuning_grid has looked
    return {
        "setting": setting,
        "algorithm": algorithm,
        "data": base.data.label,
        **base.tuning.model_dump(mode="json", include={"metric", "direction", "seeds"}),
        "points": points,
        "code": closure("fairfl.jobs.tune"),
    }


def _at(tree: Any, key: str) -> Any:
    for part in key.split("."):
        tree = tree[part]
    return tree
