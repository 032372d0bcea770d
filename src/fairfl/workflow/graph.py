"""The DAG: jobs, derived from the rules of the Snakefile (`snakemake --rulegraph --forceall | dot -Tsvg` draws them).

1. rules/*.smk declare each kind of job: path patterns of output, log and input, or functions that return input paths.
2. fairfl.workflow.snakemake hands the parsed rules to a `Graph`.
3. The producer of a file is the rule with an output pattern that the path matches; the match gives the wildcards.
4. With these, the rule's input gives the files that a job reads, and their producers the jobs that it needs.
5. What a job computes from is `spec(workload, ...)` of fairfl.jobs.<rule>, with wildcards as arguments, and code.

A job is named like its log, which begins with its rule: `table/eagle/table1` for instance. Its record
(fairfl.runtime.records) has the same name, in the folder `records` beside `logs`.
"""

import importlib.util
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import SimpleNamespace
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.runtime.errors import FairflError
from fairfl.runtime.fingerprint import canonical, digest
from fairfl.runtime.sealed import read_bytes
from fairfl.workflow.code_hash import closure

# Paths, by whatever name, or None; what a function of input may return.
Paths = str | Iterable[str] | Mapping[str, str] | None


@dataclass(frozen=True)
class Rule:
    """A rule as it was parsed. Patterns have wildcards, `{seed}`; `constraints` are regular expressions of these."""

    name: str
    outputs: tuple[str, ...]
    inputs: tuple[tuple[str, Paths | Callable[[Any], Paths]], ...]  # name, paths or what gives them
    log: str = ""
    checkpoint: str = ""
    constraints: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def matchers(self) -> list[tuple[str, re.Pattern[str]]]:
        """For each output: what a path begins with at least, and what it must match."""
        return [(pattern.partition("{")[0], self.matcher(pattern)) for pattern in self.outputs]

    @cached_property
    def named(self) -> re.Pattern[str]:
        """Matches the names of the rule's jobs."""
        return self.matcher(name_of(self.log))

    @property
    def record(self) -> str:
        """Pattern of the path of a job's record."""
        return re.sub(r"/logs/(.*)\.log$", r"/records/\1.json", self.log)

    def matcher(self, pattern: str) -> re.Pattern[str]:
        """A regular expression that gives the wildcards of a path, each equal wherever it stands."""
        seen: set[str] = set()
        text = ""
        for part in re.split(r"(\{\w+\})", pattern):
            if not part.startswith("{"):
                text += re.escape(part)
            elif part in seen:
                text += f"(?P={part[1:-1]})"
            else:
                seen.add(part)
                text += f"(?P<{part[1:-1]}>{self.constraints.get(part[1:-1], '.+')})"
        return re.compile(text)


@dataclass(frozen=True)
class Job:
    """One job as of today: its spec as data, the jobs and files that it reads, and the files that it leaves."""

    name: str
    rule: str
    parsed: dict[str, Any]
    inputs: tuple[str, ...]
    reads: dict[str, list[str] | str]  # by the name of the rule's input
    outputs: tuple[str, ...]
    record: str
    checkpoint: str = ""  # where it may have stopped; only jobs that may take hours have one

    @cached_property
    def spec(self) -> str:
        """The canonical text of the spec."""
        return canonical(self.parsed)

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of the spec."""
        return digest(self.spec.encode())

    @property
    def results(self) -> str:
        """The folder that its record and results lie in: results/full/."""
        return self.record.partition("records/")[0]

    @property
    def log(self) -> str:
        return f"{self.results}logs/{self.name}.log"


class Graph:
    """Jobs by name, each made on first use."""

    def __init__(
        self,
        workload: Workload,
        rules: Iterable[Rule],
        variables: Callable[[str], str],
        runs_here: bool = True,
    ) -> None:
        """`variables` replaces `<results>` and the like in paths that functions of input return; `runs_here`: jobs run
        on this machine, not on a cluster's.
        """
        self.workload, self.variables, self.runs_here = workload, variables, runs_here
        self.rules = {rule.name: rule for rule in rules}
        self._jobs: dict[str, Job] = {}
        self._producers: dict[str, str | None] = {}
        self._specs: dict[tuple, dict[str, Any]] = {}

    def job(self, name: str) -> Job:
        """The job of this name. Raises KeyError or ValueError if the workload has none."""
        if name not in self._jobs:
            rule = self.rules[name.partition("/")[0]]
            match = rule.named.fullmatch(name)
            if match is None:
                raise KeyError(name)
            self._jobs[name] = self._made(name, rule, match.groupdict())
        return self._jobs[name]

    def record(self, name: str) -> str:
        """Path of the job's record."""
        return self.job(name).record

    def producer(self, path: str) -> str | None:
        """Name of the job that leaves a file; None for files of the project."""
        if path not in self._producers:
            self._producers[path] = self._matching(path)
        return self._producers[path]

    def below(
        self, names: Iterable[str], is_leaf: Callable[[str], object] = lambda _: False
    ) -> Iterator[Job]:
        """These jobs and all that they need, each once, after what it reads; nothing below a leaf."""
        done: set[str] = set()

        def visit(name: str) -> Iterator[Job]:
            if name not in done:
                done.add(name)
                for before in () if is_leaf(name) else self.job(name).inputs:
                    yield from visit(before)
                yield self.job(name)

        for name in names:
            yield from visit(name)

    def everything(self) -> list[str]:
        """Names of the jobs that `snakemake all` asks for."""
        return self.wanted("all")

    def wanted(self, target: str) -> list[str]:
        """Names of the jobs that a target asks for: a file, a rule without output, or one without wildcards."""
        rule = self.rules.get(target)
        if rule is None:
            paths: Iterable[str] = [target]
        elif rule.outputs:
            return [] if "{" in rule.outputs[0] else [rule.name]
        else:
            paths = [path for _, _, paths in self._inputs(rule, {}) for path in paths]
        return list(dict.fromkeys(filter(None, map(self.producer, paths))))

    def _matching(self, path: str) -> str | None:
        for rule in self.rules.values():
            for start, matcher in rule.matchers:
                if path.startswith(start) and (match := matcher.fullmatch(path)):
                    return name_of(rule.log).format_map(match.groupdict())
        return None

    def _inputs(
        self, rule: Rule, wildcards: Mapping[str, str]
    ) -> Iterator[tuple[str, Paths, list[str]]]:
        """Inputs of a job: name of each, the paths as the rule gives them, and as a list."""
        values = SimpleNamespace(**wildcards)
        for name, item in rule.inputs:
            paths = _asked(rule, name, item, values) if callable(item) else item
            if paths is not None:
                listed = (
                    [paths]
                    if isinstance(paths, str)
                    else paths.values()
                    if isinstance(paths, Mapping)
                    else paths
                )
                yield name, paths, [self._path(path, wildcards) for path in listed]

    def _path(self, pattern: str, wildcards: Mapping[str, str]) -> str:
        path = self.variables(pattern) if "<" in pattern else pattern
        return path.format_map(wildcards) if "{" in path else path

    def _made(self, name: str, rule: Rule, wildcards: dict[str, str]) -> Job:
        reads: dict[str, list[str] | str] = {}
        read: list[str] = []
        files: dict[str, dict[str, str]] = {}
        for key, form, paths in self._inputs(rule, wildcards):
            reads[key] = paths[0] if isinstance(form, str) else paths
            read += paths
            if isinstance(form, Mapping):
                files[key] = dict(zip(form, paths, strict=True))
        numbers = {
            key: int(value)
            for key, value in wildcards.items()
            if rule.constraints.get(key) == r"\d+"
        }
        words = {key: value for key, value in wildcards.items() if key not in numbers}
        spec = with_numbers(self._spec(rule.name, words, files), numbers)
        producers = {path: self.producer(path) for path in read}
        if project := [path for path, producer in producers.items() if producer is None]:
            spec["reported"] = contents(project)
        before = tuple(dict.fromkeys(filter(None, producers.values())))
        outputs = tuple(pattern.format_map(wildcards) for pattern in rule.outputs)
        record, checkpoint = (
            pattern.format_map(wildcards) for pattern in (rule.record, rule.checkpoint)
        )
        return Job(name, rule.name, spec, before, reads, outputs, record, checkpoint)

    def _spec(
        self, rule: str, words: dict[str, str], files: dict[str, dict[str, str]]
    ) -> dict[str, Any]:
        """Thousands of specs differ in numbers only: the rest is made once."""
        key = rule, *words.values()
        if key not in self._specs:
            spec = spec_of(self.workload, rule, files=files, **words)
            self._specs[key] = json.loads(canonical(spec))
        return self._specs[key]


def _asked(rule: Rule, name: str, item: Callable[[Any], Paths], values: SimpleNamespace) -> Paths:
    """Return what a function of input does. Raises FairflError if the rule lacks a wildcard that it looks at."""
    try:
        return item(values)
    except AttributeError as error:
        if error.obj is not values:
            raise
        names = ", ".join(vars(values)) or "none"
        raise FairflError(
            f"rule {rule.name}: its input {name} needs a wildcard {{{error.name}}}, which its output and log do not "
            f"have (known: {names})"
        ) from None


def name_of(log: str) -> str:
    """results/quick/logs/train/x/seed0.log -> train/x/seed0"""
    return log.partition("/logs/")[2].removesuffix(".log")


def spec_of(workload: Workload, rule: str, files: Any = None, **words: str) -> dict[str, Any]:
    """Return what the result of a job depends on, code included; without the numbers among its wildcards.

    A `spec` that has a parameter `files` gets the paths of the inputs that come by name, {input: {name: path}}.
    """
    if not importlib.util.find_spec(f"fairfl.jobs.{rule}"):
        raise FairflError(
            f"rule {rule}: no src/fairfl/jobs/{rule}.py, which says what its jobs compute from"
        )
    module = importlib.import_module(f"fairfl.jobs.{rule}")
    spec = module.spec(workload, **words, **({"files": files} if _takes_files(module.spec) else {}))
    if getattr(module, "HASHED", True):
        plugins = module.plugins(spec) if hasattr(module, "plugins") else []
        spec["code"] = closure(module.__name__, *(f"fairfl.{plugin}" for plugin in plugins))
    return spec


def with_numbers(spec: dict[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    """The spec of one job, with the numbers among its wildcards. It does not say a `client_seed` that is the run's own
    seed: the run is the one without, so it stays valid when its setting begins or ends to share sampled clients.
    """
    spec = {**spec, **numbers}
    if "seed" in spec and spec.get("client_seed") == spec["seed"]:
        del spec["client_seed"]
    return spec


@cache
def _takes_files(spec: Callable[..., Any]) -> bool:
    return "files" in inspect.signature(spec).parameters


def contents(paths: Iterable[str]) -> dict[str, str]:
    """First 16 hex digits of the sha256 of files of the project."""
    return {path: digest(read_bytes(path)) for path in paths}
