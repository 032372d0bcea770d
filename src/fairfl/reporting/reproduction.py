"""docs/reproduction.md: per paper, table and figure what the record gives.

Made from results/recorded/*.csv, papers/*.yaml and papers/explanations/*.yaml alone.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby

from fairfl.experiments.config import Verdict
from fairfl.experiments.explanations import Explanation, Explanations
from fairfl.experiments.paper import Artifact, Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Cells, digits_of, metric_of
from fairfl.judgement.headlines import itself
from fairfl.judgement.measurements import DIFFER, Count, count, count_claims, measurements
from fairfl.judgement.order import order_lines
from fairfl.judgement.recorded import Line
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed, printed_spread
from fairfl.reporting.headlines import COLUMNS, claims_text, lines_of, share, with_itself
from fairfl.reporting.page.text import plain

_COLUMNS = (
    "to compare", "checked", "agree", "close", "differ", "inconclusive", "not run", "agree or close", "one seed",
)  # fmt: skip


def _cells(found: Count) -> list[str]:
    """Those of `_COLUMNS`."""
    how = found.agree, found.close, found.differ, found.inconclusive
    every = found.compared, found.ran, *how, found.compared - found.ran
    return [*(f"{number:,}" for number in every), share(found), f"{found.one_seed:,}"]


class Reproduction:
    """Everything that the page says. Other readings of a paper (`ours: true`) count in no sum."""

    def __init__(
        self,
        papers: dict[str, Paper],
        numbers: list[ComparisonLine],
        claims: list[ClaimLine],
        tried: dict[str, Explanations],
        reported: Mapping[str, Cells],
    ) -> None:
        self.papers, self.tried, self.reported = papers, tried, reported
        self.artifacts: dict[str, tuple[str, Artifact]] = {
            f"{name}_{key}": (name, artifact)
            for name, paper in papers.items()
            for key, artifact in paper.artifacts.items()
        }
        self.numbers = _by_artifact(numbers, self.artifacts)
        self.claims = _by_artifact(claims, self.artifacts)
        self.orders: dict[str, list[float]] = {}
        for line in order_lines([number for number in numbers if number.verdict != "fitted"]):
            if line.tau is not None:
                self.orders.setdefault(line.artifact, []).append(line.tau)

    # -- which numbers -----------------------------------------------------------------------
    def of(self, paper: str) -> list[str]:
        """Artifacts of a paper that have numbers to compare, or claims that were judged."""
        return [
            name
            for name, (owner, _) in self.artifacts.items()
            if owner == paper and (name in self.numbers or _claims(self.claims.get(name, ())) != ["–"])
        ]

    def counted(self, *papers: str) -> tuple[list[ComparisonLine], list[ClaimLine]]:
        """Numbers and claims of the papers' own artifacts."""
        own = [name for paper in papers for name in self.of(paper) if not self.artifacts[name][1].ours]
        numbers = [line for name in own for line in self.numbers.get(name, ())]
        return numbers, [line for name in own for line in self.claims.get(name, ())]

    def differing(self, name: str) -> list[ComparisonLine]:
        return [line for line in self.numbers.get(name, ()) if line.verdict in DIFFER]

    def missing_their_limit(self, name: str) -> list[ComparisonLine]:
        """Numbers that something was chosen by, which count in no sum, and that do not agree for all that."""
        fitted = (line for line in self.numbers.get(name, ()) if line.verdict == "fitted")
        return [line for line in fitted if line.difference is not None and abs(line.difference) > (line.limit or 0)]

    def tried_on(self, line: ComparisonLine) -> list[Explanation]:
        """What was tried to explain a number."""
        paper = self.artifacts[line.artifact][0]
        return list(self.tried[paper].on(line.artifact, line.setting, line.variant, line.metric))

    def unexplained(self) -> dict[str, int]:
        """Artifact -> differing numbers that nothing was tried on."""
        lacking = {
            name: sum(not (line.contradiction or self.tried_on(line)) for line in self.differing(name))
            for name in self.numbers
        }
        return {name: many for name, many in lacking.items() if many}

    # -- text ----------------------------------------------------------------------------------
    def page(self) -> str:
        """docs/reproduction.md."""
        numbers, _ = self.counted(*self.papers)
        parts = [
            "# Reproduction\n\n<!-- made by `make reproduction`, do not edit -->\n",
            "What the [recorded runs](record.md) give at the papers' own scale: their data, rounds and clients, "
            "as many seeds\nas are recorded. [Where numbers come from](numbers.md#verdicts) explains the verdicts. "
            "`make recorded` builds every table and figure\nfrom the record; `make reproduction` writes this page.\n",
            self.summary(),
            "*Order* is Kendall's τ of our numbers and the paper's over the variants of a column, the mean over so "
            "many\ncolumns. Runs that diverged differ. A number that several tables print counts once; numbers that "
            "the paper contradicts\nitself on (⚡), those that something was chosen by (‡), and other readings of a "
            "paper (†), count in no sum.\n",
            "*The paper with itself*: by the same rule, pairs of rows that are the same run but for its seeds "
            "(`alike` in its YAML, such as FedAvg and\nq-FFL with q = 0.001), and numbers that it prints more than "
            "once. A repetition can hardly agree with more.\n",
            "*Strictly*: with the limits that seeds alone give, of as many seeds as the paper's text states. The other "
            "share has wider limits, not better\nnumbers: a number of one or two seeds may miss by as much as it moves "
            "over the last evaluations of its own run, and where a paper's\ndigits show fewer seeds than its text "
            "says, its means are less sure. [Verdicts](numbers.md#verdicts) has both rules.\n",
            self.repeated(),
            self.unexplained_section(numbers),
            *(self.section(name) for name in self.papers),
        ]
        return "\n".join(parts)

    def summary(self) -> str:
        """A line for each paper, and their sum."""
        lines = []
        for name in self.papers:
            numbers, claims = self.counted(name)
            own = with_itself(itself(name, self.papers[name], self.reported, Verdict()))
            lines.append([self.papers[name].called, *_cells(count(numbers)), own, *_claims(claims)])
        numbers, claims = self.counted(*self.papers)
        lines.append(["all", *_cells(count(numbers)), "", *_claims(claims)])
        return markdown_table(["paper", *_COLUMNS, "the paper with itself", "claims"], lines)

    def repeated(self) -> str:
        """Whether our own runs, repeated with other seeds, fall within the noise that one of them is judged with."""
        found = [(self.papers[name].called, count(self.counted(name)[0])) for name in self.papers]
        parts = [
            f"{called} {100 * of.pairs_within / of.pairs:.0f} % of {of.pairs:,}" for called, of in found if of.pairs
        ]
        pairs, within = (sum(getattr(of, name) for _, of in found) for name in ("pairs", "pairs_within"))
        if not pairs:
            return "*Our runs with themselves*: no number has several seeds and a noise that one is judged with.\n"
        return (
            f"*Our runs with themselves*: of {pairs:,} pairs of a number's first seed and another, judged as if the "
            f"first were alone,\n{100 * within / pairs:.0f} % are within its noise ({', '.join(parts)}). "
            f"{100 * (1 - Verdict().level):.0f} % would be if the limits were right.\n"
        )

    def headlines(self) -> str:
        """A line for each paper: does it reproduce?"""
        lines = lines_of(self.papers, *self.counted(*self.papers))
        return markdown_table(list(COLUMNS), (list(cells) for _, *cells in lines))

    def unexplained_section(self, numbers: list[ComparisonLine]) -> str:
        differ = [line for line, *_ in measurements(numbers).values() if line.verdict in DIFFER]
        reached = Counter(_reached(self.tried_on(line)) for line in differ)
        text = "## What differs\n\n"
        if not differ:
            return text + "No recorded number differs.\n"
        text += (
            f"Of {len(differ):,} numbers that differ, {reached['explained']:,} are explained; on {reached['open']:,} "
            f"something was tried and the reason is still\nopen; {reached['']:,} are openly unexplained:\n\n"
        )
        rows = [[self._link(name), f"{many:,}"] for name, many in self.unexplained().items()]
        return text + (markdown_table(["openly unexplained", "numbers"], rows) if rows else "none.\n")

    def section(self, paper: str) -> str:
        """All artifacts of a paper, each number that differs, and what was tried."""
        rows = [
            [self._link(name), *_cells(count(self.numbers.get(name, ()))), *self._more(name)] for name in self.of(paper)
        ]
        text = f"## {self.papers[paper].called}\n\n{plain(self.papers[paper].title)}\n\n"
        text += markdown_table(["", *_COLUMNS, "order", "claims"], rows)
        others = [name for name, (owner, _) in self.artifacts.items() if owner == paper and name not in self.of(paper)]
        if others:
            text += f"\nNothing to compare yet: {', '.join(others)}.\n"
        tried = [(where, one) for where, every in self.tried[paper].differences.items() for one in every]
        if tried:
            text += f"\n### What was tried on {self.papers[paper].called}\n\n"
            text += "\n".join(_tried(number, where, one) for number, (where, one) in enumerate(tried, 1)) + "\n"
        index = {id(one): number for number, (_, one) in enumerate(tried, 1)}
        for name in self.of(paper):
            differing, fitted = self.differing(name), self.missing_their_limit(name)
            if differing or fitted:
                title = plain(self.artifacts[name][1].title)
                text += f"\n### {name}\n\n{title}: {_many(len(differing), len(fitted))}.\n\n"
                text += markdown_table(
                    ["setting", "variant", "metric", "ours", "the paper's", "difference", "limit", "seeds", "tried"],
                    [self._difference(line, index) for line in differing + fitted],
                )
        return text

    def _link(self, name: str) -> str:
        """An artifact, with a link to its differing numbers if it has any."""
        artifact = self.artifacts[name][1]
        text = f"[{name}](#{name})" if self.differing(name) or self.missing_their_limit(name) else name
        return text + " †" * artifact.ours

    def _more(self, name: str) -> list[str]:
        taus = self.orders.get(name, [])
        order = f"{statistics.fmean(taus) + 0.0:+.2f} ({len(taus)})" if taus else "–"
        return [order, *_claims(self.claims.get(name, []))]

    def _difference(self, line: ComparisonLine, index: dict[int, int]) -> list[str]:
        paper = self.papers[self.artifacts[line.artifact][0]]
        digits, unit = digits_of(paper.metrics)(line.metric), line.unit
        described, title = metric_of(paper.metrics, line.metric), line.algorithm
        if title in paper.algorithms:
            title = paper.algorithms[title].title
        numbers = []
        sides = ((line.ours, line.ours_std, line.seeds != 1), (line.reported, line.reported_spread, True))
        for (value, spread, several), lost in zip(sides, ("diverged", "–"), strict=True):
            text = _number(value, unit, digits) or lost
            within = (
                printed_spread(spread, unit, digits) if value is not None and spread is not None and several else ""
            )
            numbers.append(" ± ".join(filter(None, (text, within))))
        numbers[1] += " ⚡" * bool(line.contradiction) + " ‡" * (line.verdict == "fitted")
        name = described.name if described and described is paper.metrics.get(line.metric) else line.metric
        return [
            line.setting,
            plain(Variant.from_csv("", line.hyperparameters).label(title)),
            plain(name),
            *numbers,
            _short(line.difference),
            _short(line.limit) if line.difference is not None else "–",
            str(line.seeds),
            ", ".join(str(index[id(one)]) for one in self.tried_on(line)) or "nothing yet",
        ]


def _by_artifact(lines: Iterable[Line], known: dict[str, tuple[str, Artifact]]) -> dict[str, list[Line]]:
    """Rows of artifacts that there are."""
    groups = {name: list(group) for name, group in groupby(lines, key=lambda line: line.artifact)}
    return {name: groups[name] for name in known if name in groups}


def _reached(tried: list[Explanation]) -> str:
    """'explained' if anything explains a number that differs, 'open' if something was tried, else ''."""
    return "explained" if any(one.outcome == "explained" for one in tried) else "open" if tried else ""


def _claims(claims: Iterable[ClaimLine]) -> list[str]:
    return [claims_text(count_claims(claims))]


def _tried(number: int, where: str, one: Explanation) -> str:
    only = ", ".join([*(one.algorithms or ()), *(one.metrics or ())])
    place = f"`{where}`" + (f", only {only}" if only else "")
    outcome = f"*Outcome:* **{one.outcome}**."
    return f"{number}. {place}. {_line(one.hypothesis)}\n   *Evidence:* {_line(one.evidence)} {outcome}"


def _line(text: str) -> str:
    """One line, with a full stop."""
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _many(count: int, fitted: int) -> str:
    text = "one number differs" if count == 1 else f"{count:,} numbers differ"
    return text + (f", and {fitted:,} ‡ beyond the limit" if fitted else "")


def _number(value: float | None, unit: str, digits: int) -> str:
    if value is None:
        return ""
    return printed(value, unit, digits) if math.isfinite(value) else "∞"


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def markdown_table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
