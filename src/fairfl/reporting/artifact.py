"""The spec of an artifact: all that a table or figure is made from but its files."""

import math
from typing import Any

from fairfl.experiments.workload import Workload
from fairfl.metrics.configuration import configured
from fairfl.reporting.changes import changed_by_scale
from fairfl.reporting.sources import reconstructed, unprinted, used_values

# Keys of a setting that matter to numbers of these origins only.
_ALSO = {"tuned": "tuning", "timed": "timing"}


def artifact_spec(workload: Workload, name: str) -> dict[str, Any]:
    """Spec of a table or figure: its YAML without caption and claims, titles of algorithms and metrics.

    Captions and claims stand on the page, so that another wording draws nothing again.
    """
    paper, key, spec = workload.artifacts[name]
    source = workload.papers[paper]
    algorithms = {row.algorithm for row in spec.rows}
    return {
        "paper": paper,
        "id": key,
        "artifact": spec.model_dump(mode="json", exclude={"caption", "claims", "assumed", "notes"}),
        "metrics": {m: source.metrics[m].model_dump(mode="json") for m in spec.columns},
        "algorithms": {a: source.algorithms[a].title for a in sorted(algorithms)},
        "reconstructed": sorted(filter(reconstructed, algorithms)),
        **({"used": used_values(workload, paper)} if spec.content == "used" else {}),
        "scale": workload.scale.scale,
        "settings": {
            name: {
                "data": workload.settings[name].data.label,
                "rounds": workload.settings[name].rounds,
                "seeds": len(workload.settings[name].seeds),
                "changed": changed_by_scale(workload, name, *(_ALSO[kind] for kind in spec.origins if kind in _ALSO)),
                "tuned": tuning.applies
                if workload.config.tuned and (tuning := workload.settings[name].tuning)
                else None,
                **({"says": _configured(workload, name)} if "setting" in spec.origins else {}),
                "unprinted": unprinted(workload.papers[workload.paper_of[name]].settings[name]),
            }
            for name in spec.settings
        },
    }


def _configured(workload: Workload, setting: str) -> dict[str, float | None]:
    """What a setting says about itself, by metric id; null is without limit, for which JSON has no number."""
    values = configured(workload.settings[setting].training())
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
