"""The spec of an artifact: all that a table or figure is made from, and the files that hold its numbers."""

from fairfl.experiments.artifact import SelectedArtifact
from fairfl.experiments.base import JobSpec
from fairfl.experiments.described import Metric
from fairfl.experiments.workload import Workload
from fairfl.judgement.sources import UsedValue, reconstructed, used_values
from fairfl.reporting.footer import Facts, facts_of


class ArtifactSpec(Facts, JobSpec):
    """Spec of a table or figure: its YAML without claims, titles of algorithms and metrics.

    Claims and the captions of figures stand on the page, so that another wording draws nothing again.
    """

    paper: str
    id: str
    artifact: SelectedArtifact
    metrics: dict[str, Metric]
    algorithms: dict[str, str]  # algorithm -> title
    reconstructed: list[str] = []  # algorithms without formulas in the paper
    used: list[UsedValue] = []  # hyper-parameters, for a table of them
    footnote: bool = True  # a figure says below its panels what it was made from
    # Kind -> setting, run, artifact or <setting>/<algorithm> -> path; every kind that is needed.
    files: dict[str, dict[str, str]]
    reported: dict[str, str] = {}  # content of the papers' numbers, by path

    @property
    def name(self) -> str:
        """'eagle_table8'."""
        return f"{self.paper}_{self.id}"


def artifact_spec(workload: Workload, name: str, files: dict[str, dict[str, str]]) -> ArtifactSpec:
    """The spec of a known artifact."""
    paper, key, artifact = workload.known[name]
    source = workload.papers[paper]
    algorithms = sorted({row.algorithm for row in artifact.rows})
    return ArtifactSpec(
        **dict(facts_of(workload, name)),
        paper=paper,
        id=key,
        artifact=artifact.model_copy(
            update={"claims": [], "assumed": {}, "notes": []}
            | ({"caption": ""} if artifact.plot else {})
        ),
        metrics={metric: source.metrics[metric] for metric in artifact.columns},
        algorithms={algorithm: source.algorithms[algorithm].title for algorithm in algorithms},
        reconstructed=list(filter(reconstructed, algorithms)),
        used=used_values(workload, paper) if artifact.content == "used" else [],
        footnote=workload.config.footnotes or not artifact.plot,
        files=files,
    )
