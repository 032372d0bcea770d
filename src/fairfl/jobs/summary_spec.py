"""What comparison, claims and page depend on beside the results that they read: they read papers/*.yaml themselves."""

from typing import TYPE_CHECKING, Any

from fairfl.runtime.fingerprint import fingerprint

if TYPE_CHECKING:
    from fairfl.experiments.workload import Workload


def config(workload: "Workload") -> dict[str, Any]:
    """What to run, not how (device, threads, folders)."""
    what = {"scale", "papers", "artifacts", "settings", "algorithms", "seeds", "tuned", "verdict"}
    return workload.config.model_dump(mode="json", include=what)


def spec(workload: "Workload") -> dict[str, Any]:
    """Fingerprints of all papers and of the scale, and the configuration."""
    return {
        "papers": {key: fingerprint(paper.model_dump(mode="json")) for key, paper in workload.papers.items()},
        "scale": fingerprint(workload.scale.model_dump(mode="json")),
        "config": config(workload),
    }
