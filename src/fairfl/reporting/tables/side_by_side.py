"""Tables side by side with the published numbers: 'ours / the paper's' in each cell of the paper's own layout, with the
verdict's sign."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.paper import Paper
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import metric_of
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import seeds_said
from fairfl.judgement.rows import ComparisonLine, records
from fairfl.judgement.units import endless
from fairfl.reporting.compared import MISSING, PrintedNumber, pivots_of_lines
from fairfl.reporting.footer import facts_of, units
from fairfl.reporting.marks import legend
from fairfl.reporting.tables.markup import Markup, pages
from fairfl.reporting.tables.tabular import tabulars

_LEGEND = "Each cell: ours / the paper's, mean ± standard deviation over seeds."


def tables_of(workload: Workload) -> dict[str, tuple[str, str, Artifact]]:
    """The tables of numbers among the selected artifacts."""
    return {name: entry for name, entry in workload.artifacts.items() if entry[2].kind == "table"}


def texts_of(workload: Workload, results: Path) -> list[str]:
    """Markdown and LaTeX of each of `tables_of`, in turn."""
    lines = records(results / "comparison.csv", "comparison", ComparisonLine)
    texts: list[str] = []
    for name, (paper, key, artifact) in tables_of(workload).items():
        own = [line for line in lines if line.artifact == name]
        tables, notes = beside(own, artifact, workload.papers[paper], workload.settings)
        facts = facts_of(workload, name)
        title = f"{artifact.title}, side by side with the published numbers"
        titled = artifact.model_copy(update={"title": title})
        note = " ".join([*notes, f"Scale: {facts.scale}."])
        texts += pages(paper, f"{key}.side_by_side", titled, facts, tables, note)
    return texts


def beside(
    lines: list[ComparisonLine], artifact: Artifact, paper: Paper, settings: Mapping[str, Setting]
) -> tuple[dict[Markup, list[str]], list[str]]:
    """The tables of an artifact's numbers in each markup, and the sentences below them; `settings` as they ran."""
    pivots, provenances = pivots_of_lines(
        lines,
        artifact,
        paper,
        lambda line: (endless(line.metric, settings[line.setting].rounds), "∞"),
    )

    def cell(markup: Markup, front: PrintedNumber, behind: PrintedNumber | None = None) -> str:
        (ours, theirs), sign = front.both, front.sign
        if behind is not None:
            more = behind.both
            ours, theirs, sign = f"{ours} ({more[0]})", f"{theirs} ({more[1]})", sign + behind.sign
        return markup.number(f"{ours} / {theirs} {sign}".rstrip())

    labels: dict[str, str] = artifact.options.get("labels", {})
    texts = tabulars(pivots, labels, paper.metrics, provenances, cell)
    is_lacking = any(MISSING in one.both for pivot in pivots for one in pivot.numbers["number"])
    described = ((metric_of(paper.metrics, line.metric), line.unit) for line in lines)
    few = seeds_said(lines)
    sentences = [
        _LEGEND,
        *signs({line.verdict for line in lines}),
        f"{MISSING} no number: not run here, or not printed in the paper." if is_lacking else "",
        *legend({word for words in provenances.values() for word in words}),
        f"{few[:1].upper()}{few[1:]}." if few else "",
        units((metric.name, unit) for metric, unit in described if metric),
    ]
    return texts, list(filter(None, sentences))


def signs(verdicts: Iterable[str]) -> list[str]:
    """'✓ agrees.', '≠ not checked: other scale, stand-in data.' for each sign in use."""
    meanings: dict[str, list[str]] = {}
    for verdict, (_, sign, words) in VERDICTS.items():
        if verdict in verdicts and verdict != "not reported":
            meanings.setdefault(sign, []).append(f"not checked, {words}" if sign == "≠" else words)
    return [f"{sign} {', or '.join(words)}." for sign, words in meanings.items()]
