"""What the page tells of a number when asked: seeds, spread, tolerance, unit, source of its hyper-parameters, runs.

Thousands of numbers share their sentences and runs. Both are kept once, and numbers point at them; the page's script
puts them together.
"""

from typing import Any

from fairfl.experiments.described import Metric
from fairfl.judgement.cells import number_text
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import unit_words
from fairfl.reporting.notes import plural
from fairfl.reporting.page.files import Files
from fairfl.reporting.page.text import readable


class Details:
    """Details of all numbers of a page."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._texts: dict[str, int] = {}
        self._runs: dict[str, tuple[int, str]] = {}  # id -> place, link
        self._numbers: list[tuple[list[int], list[int]]] = []

    def add(self, line: ComparisonLine, texts: list[str]) -> int:
        """Keep a row of comparison.csv with the sentences on it: its number."""
        names = line.runs.split(";") if line.runs else []
        places = [self._run(name) for name in names]
        self._numbers.append(
            ([self._texts.setdefault(text, len(self._texts)) for text in texts], places)
        )
        return len(self._numbers) - 1

    def _run(self, name: str) -> int:
        if name not in self._runs:
            # A training lies below runs/; a local optimum or a choice names its file itself.
            url = self._files.link(f"runs/{name}") or self._files.link(name)
            self._runs[name] = len(self._runs), url
        return self._runs[name][0]

    def data(self) -> dict[str, Any]:
        """For the page's script: sentences, runs as [id, link], and of each number which of both."""
        links = [[name, url] for name, (_, url) in self._runs.items()]
        return {"texts": list(self._texts), "runs": links, "numbers": self._numbers}


def sentences_on(
    line: ComparisonLine, title: str, metric: Metric | None, over: str, full: ComparisonLine | None
) -> list[str]:
    """What there is to say of a row of comparison.csv, `full` at full scale.

    `title` is what its row is called, `over` what its mean is over ('seeds').
    """
    unit, seeds = unit_words(line.unit), plural(line.seeds, over.removesuffix("s"))
    ours = f"Ours: {seeds}" + (
        f", standard deviation {_short(line.ours_std)}" if line.seeds > 1 else ""
    )
    theirs = f"the paper's: {plural(line.reported_seeds, 'seed')}"
    theirs += f", ± {number_text(line.reported_spread)}" if line.reported_spread is not None else ""
    verdict = VERDICTS[line.verdict][2].capitalize()
    if line.difference is not None:
        noise = f"tolerance {line.tolerance or 0:.3g}. Seed noise: {line.tolerance_source}"
        verdict += f": difference {line.difference:+.3g}, {noise}"
    meaning = readable(
        f"{metric.name}: {metric.meaning}" if metric and metric.meaning else line.metric
    )
    stored = (
        f"{_short(full.ours) or 'diverged'} ({plural(full.seeds, 'seed')}), {full.verdict}"
        if full
        else ""
    )
    texts = {
        f"{title}, ": line.setting,
        "": verdict + ".",
        f"{ours}; {theirs}" if line.reported is not None else ours: "." * (line.seeds > 0),
        "Stored at full scale: ": stored and f"{stored}.",
        f"{meaning}": f", in {unit}." if unit else ".",
        "Hyper-parameters: ": f"{line.provenance}." if line.provenance not in ("", "paper") else "",
        "Note: ": line.note and f"{line.note}.",
        "On the paper's number: ": line.reported_note and f"{line.reported_note}.",
        "The paper contradicts itself: ": line.contradiction and f"{line.contradiction}.",
    }
    return [before + text for before, text in texts.items() if text]


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
