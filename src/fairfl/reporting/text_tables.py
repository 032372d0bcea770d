"""docs/tables/<paper>.md: every table and figure whose numbers are published, as text, ours next to the paper's.

Made from results/recorded/ alone, so that it can be read without installing anything.
"""

from collections.abc import Callable, Mapping

from fairfl.experiments.paper import Paper
from fairfl.reporting.page.text import readable
from fairfl.reporting.reproduction import Reproduction
from fairfl.reporting.tables.markup import MARKDOWN
from fairfl.reporting.tables.side_by_side import beside

_MADE = "<!-- made by `make report`, do not edit -->"
_LEGEND = (
    "The paper's own tables, our number first in each cell. "
    "[How numbers are compared](../numbers.md)."
)


def index_page(papers: Mapping[str, Paper]) -> str:
    """docs/tables/index.md: a line for each paper."""
    lines = [f"- [{paper.called}]({name}.md): {paper.title}" for name, paper in papers.items()]
    return "\n".join(["# Published tables next to ours", _MADE, "", _LEGEND, "", *lines, ""])


def paper_page(
    name: str, reproduction: Reproduction, stored: Callable[[str], Mapping[str, float]]
) -> str:
    """docs/tables/<paper>.md. `stored`: setting -> number of its stored `trainings` and their `minutes`."""
    paper = reproduction.papers[name]
    parts = [f"# {paper.called}: published tables next to ours\n{_MADE}", _LEGEND]
    for key in reproduction.artifacts_of(name):
        lines = [line for line in reproduction.numbers.get(key, ()) if line.reported is not None]
        if lines:
            artifact = reproduction.artifacts[key][1]
            tables, sentences = beside(lines, artifact, paper, paper.settings)
            costs = {setting: stored(setting) for setting in artifact.settings}
            sentences += [
                f"Stored trainings of {setting}: {cost['trainings']:.0f}, {cost['minutes'] / 60:.1f} hours."
                for setting, cost in costs.items()
                if cost["trainings"]
            ]
            parts += [
                f"## {key}\n{artifact.title}. {readable(artifact.caption)}",
                f'`fairfl run --config scale=full "artifacts=[{key}]"` builds it.',
                *tables[MARKDOWN],
                " ".join(sentences),
            ]
    return "\n\n".join(parts) + "\n"
