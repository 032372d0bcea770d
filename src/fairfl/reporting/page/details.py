"""What the page shows of a number when asked: seeds, spread, tolerance, unit, source of its hyper-parameters, runs."""

from fairfl.experiments.described import Metric
from fairfl.judgement.cells import number_text
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import unit_words
from fairfl.reporting.footer import plural
from fairfl.reporting.page.text import readable


def sentences_on(
    line: ComparisonLine, title: str, metric: Metric | None, over: str, full: ComparisonLine | None
) -> list[str]:
    """Sentences on a row of comparison.csv, `full` at full scale.

    `title` is what its row is called, `over` what its mean is over ('seeds').
    """
    unit, seeds = unit_words(line.unit), plural(line.seeds, over.removesuffix("s"))
    ours = f"Ours: {seeds}"
    if line.seeds > 1:
        ours += f", standard deviation {_short(line.ours_std)}"
    if line.reported is not None:
        ours += f"; the paper's: {plural(line.reported_seeds, 'seed')}"
        if line.reported_spread is not None:
            ours += f", ± {number_text(line.reported_spread)}"
    verdict = VERDICTS[line.verdict][2].capitalize()
    if line.difference is not None:
        noise = f"tolerance {line.tolerance or 0:.3g}. Seed noise: {line.tolerance_source}"
        verdict += f": difference {line.difference:+.3g}, {noise}"
    stored = full and f"{_short(full.ours) or 'diverged'} ({plural(full.seeds, 'seed')})"
    meaning = f"{metric.name}: {metric.meaning}" if metric and metric.meaning else line.metric
    notes = {
        "Hyper-parameters": "" if line.provenance == "paper" else line.provenance,
        "Note": line.note,
        "On the paper's number": line.reported_note,
        "The paper contradicts itself": line.contradiction,
    }
    return [
        f"{title}, {line.setting}",
        f"{verdict}.",
        *([f"{ours}."] if line.seeds else []),
        *([f"Stored at full scale: {stored}, {full.verdict}."] if full else []),
        readable(meaning) + (f", in {unit}." if unit else "."),
        *(f"{name}: {text}." for name, text in notes.items() if text),
    ]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
