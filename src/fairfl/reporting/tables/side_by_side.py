"""Tables side by side with the published numbers: 'ours / the paper's' in each cell of the paper's own layout, with the
verdict's sign."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fairfl.experiments.paper import Artifact, Paper
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import digits_of, metric_of
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import seeds_said
from fairfl.judgement.rows import ComparisonLine, records
from fairfl.judgement.units import endless
from fairfl.reporting.compared import cell_view, compared
from fairfl.reporting.facts import facts_of
from fairfl.reporting.marks import legend
from fairfl.reporting.notes import units
from fairfl.reporting.tables.markup import Markup, pages
from fairfl.reporting.tables.tabular import tabulars

_LEGEND = "Each cell: ours / the paper's, mean ± standard deviation over seeds."
_NONE = "–"


def tables_of(workload: Workload) -> dict[str, tuple[str, str, Artifact]]:
    """The tables of numbers among the selected artifacts."""
    return {name: entry for name, entry in workload.artifacts.items() if entry[2].kind == "table"}


def texts_of(workload: Workload, results: Path) -> list[str]:
    """Markdown and LaTeX of each of `tables_of`, in turn."""
    lines = records(results / "comparison.csv", "comparison", ComparisonLine)
    texts: list[str] = []
    for name, (paper, key, artifact) in tables_of(workload).items():
        texts += page(
            workload, paper, key, artifact, [line for line in lines if line.artifact == name]
        )
    return texts


def page(
    workload: Workload, paper: str, key: str, artifact: Artifact, lines: list[ComparisonLine]
) -> tuple[str, str]:
    """(Markdown, LaTeX) of one table."""
    facts = facts_of(workload, f"{paper}_{key}")
    texts, sentences = beside(lines, artifact, workload.papers[paper], workload.settings)
    title = f"{artifact.title}, side by side with the published numbers"
    titled = artifact.model_copy(update={"title": title})
    note = " ".join([*sentences, f"Scale: {facts.scale}."])
    return pages(paper, f"{key}.side_by_side", titled, facts, texts, note)


def beside(
    lines: list[ComparisonLine], artifact: Artifact, paper: Paper, settings: Mapping[str, Setting]
) -> tuple[dict[Markup, list[str]], list[str]]:
    """The tables of an artifact's numbers in each markup, and the sentences below them; `settings` as they ran."""
    pivots, known = compared(lines, artifact, paper)
    digits, lacking = digits_of(paper.metrics), False

    def number(line: ComparisonLine) -> tuple[str, str, str]:
        """Ours and the paper's number, and the verdict's sign."""
        nonlocal lacking
        ran = endless(line.metric, settings[line.setting].rounds)
        view = cell_view(line, digits(line.metric), ran, "∞")
        ours, theirs = (
            " ± ".join(filter(None, (view[side] or _NONE, view[side] and view[f"{side}_std"])))
            for side in ("ours", "reported")
        )
        lacking |= _NONE in (ours, theirs)
        return ours, theirs, VERDICTS[line.verdict][1] if line.verdict != "not reported" else ""

    def cell(markup: Markup, front: ComparisonLine, behind: ComparisonLine | None = None) -> str:
        ours, theirs, sign = number(front)
        if behind is not None:
            more = number(behind)
            ours, theirs, sign = f"{ours} ({more[0]})", f"{theirs} ({more[1]})", f"{sign}{more[2]}"
        return markup.number(f"{ours} / {theirs} {sign}".rstrip())

    labels: dict[str, str] = artifact.options.get("labels", {})
    texts = tabulars(pivots, labels, paper.metrics, known, cell)
    described = ((metric_of(paper.metrics, line.metric), line.unit) for line in lines)
    few = seeds_said(lines)
    sentences = [
        _LEGEND,
        *signs({line.verdict for line in lines}),
        f"{_NONE} no number: not run here, or not printed in the paper." if lacking else "",
        *legend({word for words in known.values() for word in words}),
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
