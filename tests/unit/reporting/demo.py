"""What tests of artifacts share: a small valid setting, headers of CSVs, the spec of an artifact as its job gets it."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.setting import SOURCED
from fairfl.experiments.workload import Workload
from fairfl.reporting.artifact import ArtifactSpec
from fairfl.runtime.validation import checked

SETTING = {
    "data": {"name": "synthetic_gaussian"},
    "model": {"name": "logistic_regression"},
    "partition": {"name": "plain"},
    "clients": 3,
    "clients_per_round": 3,
    "split": {"train": 0.6, "validation": 0.2, "test": 0.2},
    "rounds": 100,
    "learning_rate": 0.1,
    "evaluate_every": 10,
    "seeds": [0, 1],
    "sources": dict.fromkeys(SOURCED, "paper section 4"),
}
TIDY = "setting,algorithm,hyperparameters,seed,metric,value,unit,data,rounds,run,fingerprint\n"
REPORTED = "artifact,setting,algorithm,hyperparameters,metric,value,spread,spread_kind,unit,note\n"
TITLES = {
    "fedavg": "FedAvg", "qffl": "q-FFL", "fedeba": "FedEBA", "fedeba_plus": "FedEBA+", "afl": "AFL", "term": "TERM",
    "fedfv": "FedFV", "propfair": "PropFair", "fedmgda_plus": "FedMGDA+", "eagle": "EAGLE", "focus": "FOCUS",
    "local_only": "Local training", "vred": "VRed", "semi_vred": "Semi-VRed",
}  # fmt: skip


PAPER = {"paper": "demo", "title": "A demo", "citation": "Nobody.", "arxiv": "0000.00000"}


def project(root: Path, paper: dict[str, Any], *patches: dict[str, Any]) -> None:
    """Files of a project with one paper and a scale 'tiny' that changes it; folders for numbers, theirs and ours."""
    for folder in (f"papers/reported/{paper['paper']}", "scales", "results/tidy"):
        (root / folder).mkdir(parents=True)
    (root / f"papers/{paper['paper']}.yaml").write_text(json.dumps(paper))
    scale = {"scale": "tiny", "description": "Small.", "patches": patches}
    (root / "scales/tiny.yaml").write_text(json.dumps(scale))


def tidy(path: Path, lines: list[tuple[Any, ...]]) -> str:
    """A tidy file of (setting, algorithm, hyper-parameters, seed, metric, value, unit); its path."""
    runs = (f"{setting}/{algorithm}/{hyper or 'default'}/seed{seed}" for setting, algorithm, hyper, seed, *_ in lines)
    rows = [(*line, "blobs", 9, run, "f" * 16) for line, run in zip(lines, runs, strict=True)]
    pd.DataFrame(rows, columns=TIDY.strip().split(",")).to_csv(path, index=False, na_rep="nan")
    return str(path)


def files_below(results: Path, workload: Workload) -> dict[str, dict[str, str]]:
    """All numbers of the workload's settings that lie there, as the rules name them to comparison and claims."""
    drawn = {name: f"{paper}/{key}.csv" for name, (paper, key, a) in workload.artifacts.items() if a.drawing}
    found: dict[str, dict[str, str]] = {
        "tidy": {path.stem: str(path) for path in results.glob("tidy/*.csv")},
        "statistics": {path.parent.name: str(path) for path in results.glob("partitions/*/seed0.csv")},
        "tuned": {f"{path.parent.name}/{path.stem}": str(path) for path in results.glob("tuned/*/*.json")},
        "timed": {path.stem: str(path) for path in results.glob("timed/*.json")},
        "drawn": {name: str(results / path) for name, path in drawn.items() if (results / path).is_file()},
    }
    known = workload.settings.keys() | drawn
    return {kind: {key: of[key] for key in sorted(of) if key.partition("/")[0] in known} for kind, of in found.items()}


def artifact(**given: Any) -> dict[str, Any]:
    """An artifact with its defaults filled in, as a job spec holds it."""
    return Artifact(**given).model_dump(mode="json", exclude={"claims", "assumed", "notes"})


def spec(name: str, files: Any = None, facts: Any = None, metrics: Any = None, **given: Any) -> dict[str, Any]:
    """The spec of 'eagle_figure9' from what its YAML says; `facts` of all of its settings."""
    paper, _, key = name.partition("_")
    title = re.sub(r"(?=\d)", " ", key.capitalize(), count=1)  # 'Figure 9'
    described = artifact(**{"title": title, "caption": "", "settings": [], "rows": []} | given)
    return {
        "paper": paper,
        "id": key,
        "artifact": described,
        "metrics": metrics or {},
        "algorithms": {row["algorithm"]: TITLES[row["algorithm"]] for row in described["rows"]},
        "scale": "quick",
        "settings": {
            setting: {"data": setting, "rounds": 9, "seeds": 2, "changed": []} | (facts or {})
            for setting in described["settings"]
        },
        "files": files or {},
    }


def parsed(spec: dict[str, Any]) -> ArtifactSpec:
    """The spec as its job reads it."""
    return checked(spec, ArtifactSpec, "--spec")
