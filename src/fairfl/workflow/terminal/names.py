"""Jobs as a person says them."""

import re
from collections.abc import Mapping
from pathlib import Path

from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload

# Rule -> what one of its jobs is called, in the order of the DAG.
KINDS = {
    "fetch": "download",
    "prepare": "data set",
    "partition": "partition",
    "local_optimum": "local optimum",
    "surrogate": "surrogate model",
    "train": "training",
    "timing": "timing",
    "collect": "summary of a setting",
    "trials": "set of trials",
    "tune": "hyper-parameter choice",
    "calibrate": "calibration",
    "table": "table",
    "figure": "figure",
    "comparison": "comparison",
    "claims": "list of claims",
    "ranking": "ranking",
    "side_by_side": "set of side-by-side tables",
    "page": "page",
}
_PLURALS = {"local optimum": "local optima", "summary of a setting": "summaries of settings"}


def called(rule: str, number: int = 2) -> str:
    """'trainings', 'training' of one; a rule that has no word here is called by its own name: 'my_rule jobs'."""
    one = KINDS.get(rule, f"{rule} job")
    if number == 1:
        return one
    return _PLURALS.get(one) or re.sub(r"(?= of |$)", "s", one, count=1)


def counted(rule: str, number: int) -> str:
    """'929 trainings'"""
    return f"{number:,} {called(rule, number)}"


def describe_job(workload: Workload, rule: str, wildcards: Mapping[str, str]) -> str:
    """train, {...} -> 'FedFV alpha=0.1, fedfv_cifar10, seed 0'; any job by its rule and wildcards."""
    names = dict(wildcards)
    setting, artifact = names.pop("setting", ""), names.pop("artifact", "")
    parts = []
    if "algorithm" in names:
        variant = Variant.from_folder(names.pop("algorithm"), names.pop("variant", "default"))
        usage = workload.sharing.usage(setting, variant.algorithm)
        parts.append(
            f"{usage.title if usage else variant.algorithm} {variant.csv.replace(',', ', ')}".strip()
        )
    if artifact:
        paper = workload.papers[names.pop("paper")]
        parts.append(f"{paper.paper} {paper.artifacts[artifact].title}")
    parts += [part for part in (setting, names.pop("key", "")) if part]
    parts += [f"{name} {value}" for name, value in names.items()]
    kind = {"train": "", "table": "", "figure": ""}.get(
        rule, rule.replace("_", " ") if rule in KINDS else rule
    )
    return " ".join(filter(None, (kind, ", ".join(parts)))) or rule


def located(workload: Workload, results: Path, target: str) -> list[Path]:
    """List where a target may lie: a table as Markdown, a figure as PDF, a paper's folder, else a file of that name."""
    if target in workload.known:
        paper, key, _ = workload.known[target]
        return [Path(results, paper, f"{key}.{ending}") for ending in ("md", "pdf")]
    return [Path(results, target) if target in workload.config.papers else Path(target)]
