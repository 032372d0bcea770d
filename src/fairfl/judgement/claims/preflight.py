"""What the last jobs of a workflow would refuse, refused before the first one runs: options of plots, claims."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from fairfl.experiments.declaration import declaration, parameters
from fairfl.experiments.origin import owner
from fairfl.experiments.paper import Paper
from fairfl.experiments.plugins import PACKAGE
from fairfl.experiments.setting import Setting
from fairfl.experiments.variant import Variant
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import metric_of
from fairfl.judgement.claims.contradictions import contradictions
from fairfl.judgement.claims.grammar import ClaimError, Speaking, nodes
from fairfl.judgement.claims.judging import parsed
from fairfl.judgement.required import missing, unknown_metrics
from fairfl.judgement.results import results_of
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import SpecError, nearest


def check(workload: Workload) -> None:
    """Raises FairflError with paper, artifact and key.

    For an unknown plot, an option that it does not take, an artifact that names nothing to show or what its settings do
    not measure, a claim that cannot be read, and one that names a metric, an algorithm, a setting or a row that the
    paper does not have.
    """
    contradictions(workload.papers, {})  # reads the relations between the papers' numbers
    if faults := list(_faults(workload)):
        raise SpecError("\n".join(f"papers/{fault}" for fault in faults))
    for name, (of, _, artifact) in workload.artifacts.items():
        paper = workload.papers[of]
        parts = paper.artifacts.values()
        variants = {row.variant for part in parts for row in (*part.rows, part.baseline) if row}
        for claim, statement in parsed(workload, name):
            if artifact.drawing:  # compares what it draws, under names of its own
                continue
            speaking = (node for node, _ in nodes(statement) if isinstance(node, Speaking))
            for fault in _unknown(speaking, paper, variants):
                raise ClaimError(f"papers/{of}.yaml: {name}: claim {claim.id}: {fault}")


def check_printed(workload: Workload) -> None:
    """Raises SpecError with the paper, then file and line, for printed numbers that cannot be read."""
    numbers = results_of(workload, Path("."), {})
    for name in numbers.files["reported"]:
        try:
            numbers.read_reported(name)
        except FairflError as error:
            raise SpecError(f"papers/{name.partition('_')[0]}.yaml: {error}") from None


def _faults(workload: Workload) -> Iterator[str]:
    """Faults of metrics, settings and artifacts. Raises SpecError for a plot that cannot be made."""
    for name, paper in workload.papers.items():
        for fault in unknown_metrics(paper):
            yield f"{name}.yaml: {fault}"
    for setting in workload.variants:
        if fault := _clusters(workload.settings[setting]):
            where = f"{workload.paper_of[setting]}.yaml: settings.{setting}"
            yield f"{where}.surrogate.clusters: {fault}"
    for of, key, artifact in workload.artifacts.values():
        if artifact.plot is not None:
            file, where = f"papers/{of}.yaml", f"artifacts.{key}"
            parameters("reporting/plots", artifact.plot, artifact.options, file, f"{where}.options")
        for fault in missing(workload, of, key, artifact):
            yield f"{of}.yaml: artifacts.{key}: {fault}"


def _clusters(setting: Setting) -> str:
    """Reason why the clients cannot have as many true clusters as there are to be surrogates; "" if they can."""
    if setting.surrogate is None or setting.surrogate.clusters == 1:
        return ""
    asked, partition, options = setting.surrogate.clusters, setting.partition, setting.data.options
    config = declaration("partition", partition.name).Config.model_validate(partition.options)
    if hasattr(config, "true_clusters"):
        count = config.true_clusters()
        fault = f"{asked}: partition {partition.name} has {count} true clusters: expected {count}"
        return "" if count == asked else fault
    source = PACKAGE / "data" / f"{setting.data.name}.py"
    has_clusters = (
        options["cluster"] is not None
        if "cluster" in options
        else b"clusters" in source.read_bytes()
    )
    fault = f"{asked}: neither partition {partition.name} nor the owners in {setting.data.name} have true clusters"
    return "" if has_clusters else f"{fault}: expected 1, one surrogate for all"


def _unknown(speaking: Iterable[Speaking], paper: Paper, variants: set[Variant]) -> Iterator[str]:
    for node in speaking:
        for metric in node.metrics:
            if metric_of(paper.metrics, metric) is None:
                yield f"no metric {metric!r}{nearest(metric, paper.metrics)}"
        for name in node.algorithms:
            if name not in paper.algorithms:
                yield f"no algorithm {name!r}{nearest(name, paper.algorithms)}"
        # A choice belongs to an algorithm and a count to a setting, whichever rows there are.
        if owner(node.metrics[0]) == "variant" and not any(map(node.has, variants)):
            yield f"no row of the paper is {node}{nearest(str(node), variants)}"
