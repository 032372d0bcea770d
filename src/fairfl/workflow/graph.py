"""The jobs of a workload: what each is made from. Snakemake's rules and `plan` ask here, so they cannot disagree.

A job is named like its log: `runs/<run id>`, `partitions/<setting>/seed0`, `tidy/<setting>`, `eagle/table1`,
`data/mnist.fetched`. Its record (fairfl.runtime.records) is `records/<name>.json` beside the results.
"""

import hashlib
import importlib
import json
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.jobs import summary_spec
from fairfl.reporting.artifact import artifact_spec
from fairfl.runtime.fingerprint import canonical
from fairfl.runtime.records import nested_paths
from fairfl.workflow.code_hash import closure
from fairfl.workflow.paths import Layout

# Longest first: a setting's name may have dots.
_SUFFIXES = (".rounds.parquet", ".parquet", ".safetensors", ".json", ".csv", ".md", ".tex", ".pdf", ".png")


@dataclass(frozen=True)
class Job:
    """One job as of today: its canonical spec, the jobs and files that it reads, and the files that it leaves."""

    name: str
    spec: str
    inputs: tuple[str, ...]
    reads: tuple[str, ...]
    outputs: tuple[str, ...]
    checkpoint: str = ""  # where it may have stopped

    @cached_property
    def fingerprint(self) -> str:
        """Of the spec."""
        return hashlib.sha256(self.spec.encode()).hexdigest()[:16]

    @property
    def parsed(self) -> Any:
        """The spec as data."""
        return json.loads(self.spec)


class Graph:
    """Jobs by name, each made on first use."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.workload = layout, layout.workload
        self._jobs: dict[str, Job] = {}
        self._like: dict[tuple, dict[str, Any]] = {}

    def job(self, name: str) -> Job:
        """The job of this name. Raises KeyError or ValueError if the workload has none."""
        if name not in self._jobs:
            self._jobs[name] = self._made(name)
        return self._jobs[name]

    def record(self, name: str) -> str:
        """Path of the job's record. Prepared data are shared by all scales."""
        if name.startswith("data/"):
            return f"results/data/records/{name.removeprefix('data/')}.json"
        return f"{self.layout.results}/records/{name}.json"

    def producer(self, path: str) -> str | None:
        """Name of the job that leaves a file; None for files of the project."""
        for folder, prefix in ((f"{self.layout.results}/", ""), ("results/data/", "data/")):
            if path.startswith(folder):
                name = path.removeprefix(folder)
                if name.startswith("runs/"):
                    return name.rpartition("/")[0]
                if name == "index.html":
                    return "page"
                suffix = next(suffix for suffix in _SUFFIXES if name.endswith(suffix))
                return prefix + name.removesuffix(suffix)
        return None

    def below(self, names: Iterable[str]) -> Iterator[Job]:
        """These jobs and all that they need, each once, after what it reads."""
        done: set[str] = set()

        def visit(name: str) -> Iterator[Job]:
            if name not in done:
                done.add(name)
                for before in self.job(name).inputs:
                    yield from visit(before)
                yield self.job(name)

        for name in names:
            yield from visit(name)

    def everything(self) -> list[str]:
        """Names of the jobs that `snakemake all` asks for."""
        return list(dict.fromkeys(filter(None, map(self.producer, self.layout.outputs()))))

    def options(self, name: str) -> str:
        """Command-line options of fairfl.runtime.job: the spec, where to leave the record and which results to accept."""
        job = self.job(name)
        expected = {self.record(before): self.job(before).fingerprint for before in job.inputs}
        values = {"spec": job.spec, "record": self.record(name), "inputs": canonical(nested_paths(expected))}
        return " ".join(f"--{option} {shlex.quote(value)}" for option, value in values.items())

    # -- one method per kind of job -----------------------------------------------------------
    def _made(self, name: str) -> Job:
        kind, *rest = name.split("/")
        if kind in self.workload.papers:
            return self._collected(name, kind, rest[0])
        return getattr(self, f"_{kind}")(name, *rest)

    def _job(self, name: str, spec: Any, inputs: Iterable[str], outputs: Iterable[str], checkpoint: str = "") -> Job:
        reads = tuple(inputs)
        before = dict.fromkeys(filter(None, map(self.producer, reads)))
        return Job(name, canonical(spec), tuple(before), reads, tuple(outputs), checkpoint)

    def _data(self, name: str, *rest: str) -> Job:
        key = "/".join(rest)
        if key.endswith(".fetched"):
            return self._job(name, self._spec("fetch", key.removesuffix(".fetched")), (), (f"results/data/{key}.json",))
        return self._job(
            name, self._spec("prepare", key), self.layout.fetched(key), (f"results/data/{key}.safetensors",)
        )

    def _partitions(self, name: str, setting: str, seed: str) -> Job:
        at = setting, int(seed.removeprefix("seed"))
        outputs = self.layout.partition(*at), self.layout.statistics(*at)
        return self._job(name, self._spec("partition", setting, seed=at[1]), (self.layout.data(*at),), outputs)

    def _trained_on(self, setting: str, seed: int) -> list[str]:
        return [self.layout.data(setting, seed), self.layout.partition(setting, seed), *self.layout.weights(setting)]

    def _optima(self, name: str, setting: str, seed: str, client: str) -> Job:
        at = {"seed": int(seed.removeprefix("seed")), "client": int(client.removeprefix("client"))}
        spec = self._spec("local_optimum", setting, **at)
        return self._job(name, spec, self._trained_on(setting, at["seed"]), (f"{self.layout.results}/{name}.json",))

    def _surrogates(self, name: str, setting: str, seed: str, cluster: str) -> Job:
        at = {"seed": int(seed.removeprefix("seed")), "cluster": int(cluster.removeprefix("cluster"))}
        spec = self._spec("surrogate", setting, **at)
        path = f"{self.layout.results}/{name}"
        return self._job(name, spec, self._trained_on(setting, at["seed"]), (f"{path}.json",), f"{path}.checkpoint.pt")

    def _runs(self, name: str, setting: str, algorithm: str, variant: str, seed: str) -> Job:
        run = self.layout.workload.run(setting, algorithm, variant, int(seed.removeprefix("seed")))
        spec = self._spec("train", setting, algorithm, variant, seed=run.seed)
        inputs = [
            *self._trained_on(setting, run.seed),
            *self.layout.optima_for(algorithm, setting, run.seed),
            *self.layout.tuned_for(run),
            *self.layout.after_for(run),
        ]
        return self._job(
            name, spec, inputs, self.layout.run_files(run), f"{self.layout.results}/runs/{run.id}/checkpoint.pt"
        )

    def _spec(self, rule: str, *words: str, **numbers: int) -> dict[str, Any]:
        """`spec` of the job's module, with its code. Thousands differ in numbers only: the rest is made once."""
        if (rule, *words) not in self._like:
            self._like[rule, *words] = spec_of(self.workload, rule, *words)
        return self._like[rule, *words] | numbers

    def _tidy(self, name: str, setting: str) -> Job:
        path = f"{self.layout.results}/{name}"
        spec = self._spec("collect", setting)
        return self._job(name, spec, self.layout.tidy_inputs(setting), (f"{path}.csv", f"{path}.rounds.parquet"))

    def _tuned(self, name: str, setting: str, algorithm: str) -> Job:
        spec = self._spec("tune", setting, algorithm)
        return self._job(name, spec, self.layout.tune_inputs(setting), (self.layout.tuned(setting, algorithm),))

    def _timed(self, name: str, setting: str) -> Job:
        spec = self._spec("timing", setting)
        return self._job(name, spec, self.layout.timing_inputs(setting), (self.layout.timed(setting),))

    def _collected(self, name: str, paper: str, key: str) -> Job:
        if key.startswith("calibration_"):
            grid = key.removeprefix("calibration_")
            inputs = [
                f"{self.layout.results}/tidy/{point}.csv" for point in self.workload.calibration_grid(paper, grid)
            ]
            outputs = [f"{self.layout.results}/{name}.{suffix}" for suffix in ("csv", "md")]
            return self._job(name, self._spec("calibrate", paper, grid), inputs, outputs)
        artifact = f"{paper}_{key}"
        files = self.layout.artifact_inputs(artifact)
        plot = self.workload.artifacts[artifact][2].plot
        entries = ["fairfl.jobs.figure", f"fairfl.reporting.plots.{plot}"] if plot else ["fairfl.jobs.table"]
        made_from = artifact_spec(self.workload, artifact).model_dump(mode="json")
        spec = made_from | {"files": files, "code": closure(*entries)}
        inputs = [path for kind in files.values() for path in kind.values()]
        if "reported" in files:
            spec["reported"] = contents(files["reported"].values())
        return self._job(name, spec, inputs, self.layout.artifact_outputs(artifact))

    # -- what reads papers/*.yaml itself ------------------------------------------------------
    def _comparison(self, name: str) -> Job:
        return self._summary(name, "fairfl.jobs.comparison", self.layout.compared(), "comparison.csv")

    def _claims(self, name: str) -> Job:
        return self._summary(name, "fairfl.jobs.claims", self.layout.compared(), "claims.csv")

    def _page(self, name: str) -> Job:
        results = self.layout.results
        inputs = [*self.layout.all_artifacts(), f"{results}/comparison.csv", f"{results}/claims.csv"]
        return self._summary(name, "fairfl.jobs.page", inputs, "index.html")

    def _summary(self, name: str, module: str, inputs: Iterable[str], file: str) -> Job:
        spec = summary_spec.spec(self.workload)
        spec |= {"reported": contents(self.layout.reported()), "code": closure(module)}
        return self._job(name, spec, inputs, (f"{self.layout.results}/{file}",))


def spec_of(workload: Workload, rule: str, *words: str) -> dict[str, Any]:
    """What the result of a job depends on, code included; without the numbers among its wildcards."""
    module = importlib.import_module(f"fairfl.jobs.{rule}")
    spec = module.spec(workload, *words)
    if getattr(module, "HASHED", True):
        named = module.plugins(spec) if hasattr(module, "plugins") else []
        spec["code"] = closure(module.__name__, *(f"fairfl.{plugin}" for plugin in named))
    return spec


def contents(paths: Iterable[str]) -> dict[str, str]:
    """First 16 hex digits of the sha256 of files of the project."""
    return {path: hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] for path in paths}
