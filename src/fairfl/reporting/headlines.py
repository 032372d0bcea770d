"""The papers in one line each, as README, docs/papers/ and the page have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairfl.experiments.paper import Paper
from fairfl.judgement.cells import digits_of, metric_of
from fairfl.judgement.headlines import Change, changes
from fairfl.judgement.measurements import ClaimCount, Count, count, count_claims
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed, unit_words
from fairfl.reporting.compared import metric_name
from fairfl.reporting.footer import data_name
from fairfl.reporting.page.text import readable
from fairfl.reporting.status import shares

MIN_FOR_PERCENT = 20  # numbers, for a share of them in percent, and for a word
AGREEMENT = {0.9: "agrees", 0.5: "mostly agrees", 0.1: "mostly differs", 0.0: "differs"}


def share(count: Count) -> str:
    """'62 %' of what was checked agrees or is close; '–' where nothing conclusive was."""
    of = count.conclusive
    return f"{100 * (count.agree + count.close) / of:.0f} %" if of else "–"


def claims_text(count: ClaimCount) -> str:
    """'3 of 76 supported, 1 refuted, 5 inconclusive': of all claims, whether or not they could be checked."""
    if not count.checked:
        return "–"
    rest = [(count.statuses[word], word) for word in ("refuted", "inconclusive")]
    supported = f"{count.statuses['supported']} of {count.statuses.total()} supported"
    return ", ".join([supported, *(f"{many} {word}" for many, word in rest if many)])


@dataclass(frozen=True)
class PaperLine:
    """A paper in one line: counts of its numbers, of its claims, and its main result from baseline to method."""

    paper: Paper
    count: Count
    claims: str
    main: str = "–"
    published: str = "–"
    reproduced: str = "–"

    @property
    def verdict(self) -> str:
        """'43 % run, mostly differs'."""
        count = self.count
        if not count.checked:
            return "not run"
        return f"{100 * count.checked / count.published:.0f} % run, {self.agreement}"

    @property
    def agreement(self) -> str:
        """A word of `AGREEMENT` by the share of conclusive numbers that agree or are close."""
        count = self.count
        if count.conclusive < MIN_FOR_PERCENT:
            return "too few to tell"
        good = (count.agree + count.close) / count.conclusive
        return next(word for least, word in AGREEMENT.items() if good >= least)

    @property
    def agreeing(self) -> str:
        """The share of conclusive numbers that agree or are close, '2 of 3' of too few for a share."""
        count, of = self.count, self.count.conclusive
        if 0 < of < MIN_FOR_PERCENT:
            return f"{count.agree + count.close} of {of}"
        return share(count)

    @property
    def shares(self) -> dict[str, int]:
        """Numbers that agree, are close, differ, are inconclusive or were not run."""
        return shares(self.count)


def lines_of(
    papers: Mapping[str, Paper], numbers: Iterable[ComparisonLine], claims: Iterable[ClaimLine]
) -> list[PaperLine]:
    """A line for each paper, from rows of comparison.csv and claims.csv."""
    numbers, claims = list(numbers), list(claims)
    lines = []
    for name, paper in papers.items():
        own = {f"{name}_{key}" for key, artifact in paper.artifacts.items() if artifact.in_paper}
        mine = [line for line in numbers if line.artifact in own]
        words = claims_text(count_claims(claim for claim in claims if claim.artifact in own))
        lines.append(PaperLine(paper, count(mine), words, *describe_headline(paper, mine)))
    return lines


def describe_headline(paper: Paper, lines: Iterable[ComparisonLine]) -> tuple[str, ...]:
    """('FedFV (α = 0.667) against FedAvg, Fashion-MNIST: Std. in percent', '11.23 → 1.63, Ave. +0.13', ours likewise
    with its seeds); () if the paper has no main result."""
    headline = paper.headline
    if headline is None:
        return ()
    method, baseline = (
        readable(paper.algorithms[row.algorithm].title)
        for row in (headline.method, headline.baseline)
    )
    metrics = []
    for name in (headline.fairness, headline.utility):
        metric = metric_of(paper.metrics, name)
        unit = metric.unit if metric else ""
        metrics.append((readable(metric_name(paper, name)), unit, digits_of(paper.metrics)(name)))
    (fairness, unit, digits), (utility, _, utility_digits) = metrics
    data = data_name(paper.settings[headline.setting].data.label)
    main = f"{method} against {baseline}, {data}: {fairness}"
    main += f" in {unit_words(unit)}" if unit_words(unit) else ""

    def written(change: Change) -> str:
        if change.before is None or change.after is None:
            return "–"
        text = f"{printed(change.before, unit, digits)} → {printed(change.after, unit, digits)}"
        gain = change.gain
        return text if gain is None else f"{text}, {utility} {gain + 0.0:+.{utility_digits}f}"

    both = changes(headline, lines)
    ours, theirs = written(both["ours"]), written(both["reported"])
    if ours != "–":
        fitted = "; fitted to these numbers: no evidence" if both["ours"].fitted else ""
        ours += f" ({both['ours'].seeds} of {both['reported'].seeds} seeds{fitted})"
    return main, theirs, ours
