"""Where the files of a workload lie. Rules ask here, so that no rule file holds logic.

results/data/<key>.safetensors                       prepared data, shared by all scales
results/<scale>/partitions/<setting>/seed<s>.*       who owns which sample
results/<scale>/optima/<setting>/seed<s>/client<k>.json
results/<scale>/surrogates/<setting>/seed<s>/cluster<c>.json
results/<scale>/runs/<run id>/                       metrics.parquet summary.json model.safetensors
results/<scale>/tidy/<setting>.csv, .rounds.parquet
results/<scale>/tuned/<setting>/<algorithm>.json     values chosen on validation data
results/<scale>/timed/<setting>.json                 seconds that the machine at hand takes
results/<scale>/<paper>/<artifact>.*                 tables: csv md tex; figures: csv pdf png
results/<scale>/comparison.csv claims.csv index.html
results/<scale>/records/                             what each of these was made from (provenance.made)
"""

import importlib.util
import shlex
from pathlib import Path

from fairfl.data import pretrained, registry
from fairfl.experiments.declaration import declaration
from fairfl.experiments.paper import Artifact
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Run, Workload
from fairfl.jobs import summary_spec
from fairfl.runtime.fingerprint import canonical

RUN_FILES = ("metrics.parquet", "summary.json", "model.safetensors")


class Layout:
    """Paths and job specs by wildcard values, as Snakemake asks for them."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.results = f"results/{workload.scale.scale}"

    # -- data and partition -------------------------------------------------------------------
    def _settings(self) -> dict[str, Setting]:
        return self.workload.settings

    def data(self, setting: str, seed: int) -> str:
        return f"results/data/{self.workload.prepared(setting, seed)}.safetensors"

    def data_name(self, key: str) -> str:
        return self.workload.prepared_by(key)[0].name

    def fetched(self, key: str) -> list[str]:
        """Marker of the raw files, for data sets that have any."""
        data = self.workload.prepared_by(key)[0]
        return [f"results/data/{key}.fetched.json"] if registry.files(data.name, data.options) else []

    def sources(self) -> str:
        """Command-line options that say where raw files may come from."""
        mirrors = [f"--mirror {shlex.quote(mirror)}" for mirror in self.workload.config.mirrors]
        return " ".join([*mirrors, *(["--offline"] if self.workload.config.offline else [])])

    def data_options(self, key: str) -> str:
        return canonical(self.workload.prepared_by(key)[0].options)

    def weights(self, setting: str) -> list[str]:
        """Marker of the published weights that the setting's model starts from, if it does."""
        model = self._settings()[setting].model
        published = getattr(declaration("models", model.name), "PUBLISHED", None)
        asked = published and model.options.get("pretrained") == pretrained.IMAGENET
        return [f"results/data/weights/{published}.fetched.json"] if asked else []

    def partition(self, setting: str, seed: int) -> str:
        return f"{self.results}/partitions/{setting}/seed{seed}.parquet"

    def statistics(self, setting: str, seed: int) -> str:
        return self.partition(setting, seed).removesuffix("parquet") + "csv"

    # -- runs ---------------------------------------------------------------------------------
    def optima(self, setting: str, seed: int) -> list[str]:
        spec = self._settings()[setting]
        if not spec.local_optimum:
            return []
        folder = f"{self.results}/optima/{setting}/seed{seed}"
        return [f"{folder}/client{k}.json" for k in range(spec.clients)]

    def optima_for(self, algorithm: str, setting: str, seed: int) -> list[str]:
        """The local optima that a run reads while it trains."""
        return self.optima(setting, seed) if "val_best" in self.workload.declared(algorithm).measurements else []

    def surrogates(self, setting: str, seed: int) -> list[str]:
        """The surrogates that excess risks are taken from, one for each true cluster."""
        spec = self._settings()[setting].surrogate
        folder = f"{self.results}/surrogates/{setting}/seed{seed}"
        return [f"{folder}/cluster{c}.json" for c in range(spec.clusters)] if spec else []

    def tuned(self, setting: str, algorithm: str) -> str:
        """What the tuning chose."""
        return f"{self.results}/tuned/{setting}/{algorithm}.json"

    def tuned_for(self, run: Run) -> list[str]:
        """The choice that a run reads."""
        return [self.tuned(run.setting, run.algorithm)] if self.workload.tuning_of(run) else []

    def after_for(self, run: Run) -> list[str]:
        """The summary of the run that a run comes after."""
        before = self.workload.predecessor(run)
        return [f"{self.results}/runs/{before.id}/summary.json"] if before else []

    def tunings(self) -> list[str]:
        """Every choice that can be made."""
        return [
            self.tuned(name, algorithm)
            for name, setting in self._settings().items()
            if setting.tuning and self.workload.selected(name)
            for algorithm in setting.tuning.algorithms
        ]

    def tune_inputs(self, setting: str) -> list[str]:
        """Final metrics of the points of a tuning grid."""
        return [f"{self.results}/tidy/{point}.csv" for point in self.workload.tuning_grid(setting)]

    def timed(self, setting: str) -> str:
        """Seconds of rounds, test passes and metrics."""
        return f"{self.results}/timed/{setting}.json"

    def timing_inputs(self, setting: str) -> list[str]:
        """Data and partition of the first seed, if there is a variant to train."""
        seed = self._settings()[setting].seeds[0]
        timed = self.workload.timed_variants.get(setting)
        return [self.data(setting, seed), self.partition(setting, seed)] if timed else []

    def timing_options(self, setting: str) -> str:
        """Command-line options that name these files."""
        options = zip(("--data", "--partition"), self.timing_inputs(setting), strict=False)
        return " ".join(f"{option} {shlex.quote(path)}" for option, path in options)

    def run_files(self, run: Run) -> list[str]:
        return [f"{self.results}/runs/{run.id}/{name}" for name in RUN_FILES]

    def tidy_inputs(self, setting: str) -> list[str]:
        runs = self.workload.runs_of(setting)
        files = [file for run in runs for file in self.run_files(run)[:2]]
        for seed in self._settings()[setting].seeds:
            files += [*self.optima(setting, seed), *self.surrogates(setting, seed)]
        return files

    # -- artifacts ----------------------------------------------------------------------------
    def artifact_inputs(self, name: str) -> dict[str, dict[str, str]]:
        """Files that an artifact is made from, by kind, then by setting, run id or choice."""
        paper, _, spec = self.workload.artifacts[name]
        if spec.kind == "static_table":
            return {}
        needs = declaration("reporting/plots", spec.plot).NEEDS if spec.plot else spec.needs
        files: dict[str, dict[str, str]] = {kind: {} for kind in needs}
        for setting in spec.settings:
            seed = self._settings()[setting].seeds[0]
            if "tidy" in needs:
                files["tidy"][setting] = f"{self.results}/tidy/{setting}.csv"
            if "rounds" in needs:
                files["rounds"][setting] = f"{self.results}/tidy/{setting}.rounds.parquet"
            if "data" in needs:
                files["data"][setting] = self.data(setting, seed)
            if {"data", "partition"} & set(needs):
                files.setdefault("partition", {})[setting] = self.partition(setting, seed)
            if "statistics" in needs:
                files["statistics"][setting] = self.statistics(setting, seed)
            if "tuned" in needs:
                files["tuned"] |= self.choices(spec, setting)
            if "timed" in needs and setting in self.workload.seconds:
                files["timed"][setting] = self.timed(setting)
            if "model" in needs:
                for run in self.workload.runs_of(setting):
                    if run.seed == seed:
                        files["model"][run.id] = self.run_files(run)[2]
        if "reported" in needs:
            files["reported"] = {path.stem: str(path) for path in sorted(Path("papers/reported", paper).glob("*.csv"))}
        return files

    def choices(self, artifact: Artifact, setting: str) -> dict[str, str]:
        """The choices that an artifact prints for a setting, by <setting>/<algorithm>."""
        return {
            f"{setting}/{row.algorithm}": self.tuned(setting, row.algorithm)
            for row in artifact.rows_in(setting)
            if self.workload.tunes(setting, row.algorithm) and self.workload.wants(row.variant)
        }

    def artifact_input_list(self, name: str) -> list[str]:
        return sorted({path for kind in self.artifact_inputs(name).values() for path in kind.values()})

    def artifact_outputs(self, name: str) -> list[str]:
        paper, key, spec = self.workload.artifacts[name]
        suffixes = ("csv", "pdf", "png") if spec.plot else ("csv", "md", "tex")
        return [f"{self.results}/{paper}/{key}.{suffix}" for suffix in suffixes]

    def libraries(self) -> list[str]:
        """What the models of the workflow import beside torch, as far as it is installed: LIBRARIES in their files."""
        models = {self._settings()[run.setting].model.name for run in self.workload.runs}
        wanted = [name for model in models for name in getattr(declaration("models", model), "LIBRARIES", ())]
        return sorted(name for name in wanted if importlib.util.find_spec(name.partition(".")[0]))

    def ids(self, *kinds: str) -> str:
        """Regular expression of the ids of the selected artifacts of these kinds."""
        return "|".join(key for _, key, spec in self.workload.artifacts.values() if spec.kind in kinds) or "none"

    def reported(self) -> list[str]:
        """The papers' own numbers, as far as they are written down."""
        return sorted(map(str, Path("papers/reported").glob("*/*.csv")))

    def compared(self) -> list[str]:
        """What comparison and claims read of our own: numbers of runs, partitions, choices and drawings."""
        found: set[str] = set()
        for paper, key, artifact in self.workload.artifacts.values():
            for setting in artifact.settings:
                if artifact.rows and "tidy" in artifact.origins:
                    found.add(f"{self.results}/tidy/{setting}.csv")
                if "statistics" in artifact.origins:
                    found.add(self.statistics(setting, self._settings()[setting].seeds[0]))
                if "tuned" in artifact.origins:
                    found |= set(self.choices(artifact, setting).values())
                if "timed" in artifact.origins and setting in self.workload.seconds:
                    found.add(self.timed(setting))
            if artifact.drawing and artifact.claims:
                found.add(f"{self.results}/{paper}/{key}.csv")
        return sorted(found)

    def all_artifacts(self) -> list[str]:
        """Every table and figure."""
        return [path for name in self.workload.artifacts for path in self.artifact_outputs(name)]

    def outputs(self) -> list[str]:
        """Everything of `snakemake all`."""
        summaries = [f"{self.results}/{name}" for name in ("comparison.csv", "claims.csv", "index.html")]
        return [*self.all_artifacts(), *summaries]

    def config(self) -> str:
        """What to run, for jobs that read papers/*.yaml themselves."""
        return canonical(summary_spec.config(self.workload))
