"""docs/tables/<paper>.md: every table and figure whose numbers are published, as text, ours next to the paper's.

Made from results/recorded/ alone, so that it can be read without installing anything.
"""

from collections.abc import Callable, Mapping
from itertools import groupby

from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import printed_cell, unit_words
from fairfl.reporting.page.text import readable
from fairfl.reporting.reproduction import Reproduction, markdown_table

MARKS = {
    "agrees": "✓",
    "close": "≈",
    "differs": "✗",
    "diverged": "✗",
    "inconclusive": "?",
    "fitted": "f",
}
_MADE = "<!-- made by `make report`, do not edit -->"
_LEGEND = (
    "Each cell has our number, then the paper's in brackets. ✓ agrees, ≈ close, ✗ differs or diverged, ? inconclusive "
    "(our seeds scatter too much to decide), f fitted (chosen to match, counts nowhere). Without a mark nothing is "
    "compared. – was not run. [How numbers are compared](../numbers.md)."
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
    parts = [f"# {paper.called}: published tables next to ours", _MADE, "", _LEGEND, ""]
    for artifact in reproduction.artifacts_of(name):
        lines = [
            line for line in reproduction.numbers.get(artifact, ()) if line.reported is not None
        ]
        if lines:
            parts += _artifact(artifact, paper, reproduction.artifacts[artifact][1], lines, stored)
    return "\n".join(parts)


def _artifact(
    name: str,
    paper: Paper,
    artifact: Artifact,
    lines: list[ComparisonLine],
    stored: Callable[[str], Mapping[str, float]],
) -> list[str]:
    parts = [
        f"## {name}",
        f"{artifact.title}. {readable(artifact.caption)}",
        "",
        f'`fairfl run --config scale=full "artifacts=[{name}]"` builds it.',
        "",
    ]
    for setting, found in groupby(lines, key=lambda line: line.setting):
        mine, cost = list(found), stored(setting)
        seeds = sorted({line.seeds for line in mine if line.seeds})
        ours = " to ".join(dict.fromkeys(map(str, seeds[:1] + seeds[-1:])))
        facts = [
            f"**{setting}**",
            f"{max(line.reported_seeds for line in mine)} seeds in the paper",
        ]
        facts.append(f"{ours} of ours" if ours else "not run")
        if cost["trainings"]:
            hours = f"{cost['minutes'] / 60:.1f} hours"
            facts.append(f"the setting's {cost['trainings']:.0f} stored trainings took {hours}")
        parts += ["; ".join(facts) + ".", "", _pivot(paper, artifact, mine), ""]
    return parts


def _pivot(paper: Paper, artifact: Artifact, lines: list[ComparisonLine]) -> str:
    """Variants x metrics."""
    metrics = list(dict.fromkeys(line.metric for line in lines))
    cells = {(line.variant, line.metric): line for line in lines}
    titles = {row.variant: row.title for row in artifact.rows}
    rows = []
    for variant in dict.fromkeys(line.variant for line in lines):
        described = paper.algorithms.get(variant.algorithm)  # none: a number of the data alone
        title = titles.get(variant) or (variant.label(described.title) if described else "data")
        found = (cells.get((variant, metric)) for metric in metrics)
        rows.append([readable(title), *(_cell(paper, line) for line in found)])
    return markdown_table(["", *(_head(paper, metric) for metric in metrics)], rows)


def _head(paper: Paper, metric: str) -> str:
    described = metric_of(paper.metrics, metric)
    unit = unit_words(described.unit) if described else ""
    return (readable(described.name) if described else metric) + (f" ({unit})" if unit else "")


def _cell(paper: Paper, line: ComparisonLine | None) -> str:
    """'81.00 ± 0.20 (80.28 ± 0.10) ✓'."""
    if line is None:
        return ""
    digits = digits_of(paper.metrics)(line.metric)
    ours = line.ours_std if line.seeds > 1 else None
    missing = "–" if line.verdict == "not run" else DIVERGED
    sides = ((line.ours, ours, missing), (line.reported, line.reported_spread, ""))
    text = "{} ({})".format(
        *(
            printed_cell(value, line.unit, digits, spread, missing=gap)
            for value, spread, gap in sides
        )
    )
    return f"{text} {MARKS.get(line.verdict, '')}".rstrip()
