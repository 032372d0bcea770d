"""The papers in one line each, as README, docs/papers/ and the page have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairfl.experiments.paper import Headline, Paper
from fairfl.judgement.cells import digits_of, metric_of
from fairfl.judgement.headlines import Change, changes
from fairfl.judgement.measurements import ClaimCount, Count, count, count_claims
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed, unit_words
from fairfl.reporting.facts import data_name
from fairfl.reporting.page.text import readable
from fairfl.reporting.status import shares

COLUMNS = (
    "paper",
    "topic",
    "numbers run",
    "agreement",
    "main result",
    "published",
    "reproduced",
    "claims",
)
MIN_FOR_PERCENT = 20  # numbers, for a share of them in percent, and for a word
AGREEMENT = {0.9: "agrees", 0.5: "mostly agrees", 0.1: "mostly differs", 0.0: "differs"}


def coverage(found: Count) -> str:
    """'43 % run': how many of the published numbers have been run at full scale."""
    return f"{100 * found.checked / found.published:.0f} % run" if found.checked else "not run"


def agreement(found: Count) -> str:
    """A word of `AGREEMENT` by the share of conclusive numbers that agree or are close; 'too few to tell' below 20."""
    if found.conclusive < MIN_FOR_PERCENT:
        return "too few to tell"
    good = (found.agree + found.close) / found.conclusive
    return next(word for least, word in AGREEMENT.items() if good >= least)


def share(found: Count) -> str:
    """'62 %' of what was checked agrees or is close; '–' where nothing conclusive was."""
    of = found.conclusive
    return f"{100 * (found.agree + found.close) / of:.0f} %" if of else "–"


def claims_text(found: ClaimCount) -> str:
    """'3 of 76 supported, 1 refuted, 5 inconclusive': of all claims, whether or not they could be checked."""
    if not found.checked:
        return "–"
    rest = [(found.statuses[word], word) for word in ("refuted", "inconclusive")]
    supported = f"{found.statuses['supported']} of {found.statuses.total()} supported"
    return ", ".join([supported, *(f"{many} {word}" for many, word in rest if many)])


@dataclass(frozen=True)
class PaperLine:
    """A paper in one line."""

    key: str
    called: str
    topic: str
    found: Count  # of its published numbers
    main: (
        str  # its main result; then from the baseline to the method, as published and as reproduced
    )
    published: str
    reproduced: str
    claims: str

    @property
    def verdict(self) -> str:
        """'43 % run, mostly differs'."""
        return (
            f"{coverage(self.found)}, {agreement(self.found)}" if self.found.checked else "not run"
        )

    @property
    def agreeing(self) -> str:
        """The share of what was checked that agrees or is close, '2 of 3' of too few for a share."""
        found, of = self.found, self.found.conclusive
        few = 0 < of < MIN_FOR_PERCENT
        return f"{found.agree + found.close} of {of}" if few else share(found)

    @property
    def shares(self) -> dict[str, int]:
        """How many of its numbers agree, are close, differ, are inconclusive or were not run."""
        return shares(self.found)

    @property
    def cells(self) -> list[str]:
        """Cells of `COLUMNS`."""
        found = self.found
        run = f"{found.checked:,} of {found.published:,} ({coverage(found).partition(' run')[0]})"
        agreeing = f"{agreement(found)} ({self.agreeing} of {found.conclusive:,})"
        if found.conclusive < MIN_FOR_PERCENT:
            agreeing = f"{agreement(found)} ({self.agreeing})" if found.conclusive else "–"
        return [
            f"[{self.called}](docs/papers/{self.key}.md)",
            self.topic,
            run if found.checked else f"0 of {found.published:,}",
            agreeing,
            self.main,
            self.published,
            self.reproduced,
            self.claims,
        ]


def lines_of(
    papers: Mapping[str, Paper], numbers: Iterable[ComparisonLine], claims: Iterable[ClaimLine]
) -> list[PaperLine]:
    """A line for each paper, from rows of comparison.csv and claims.csv."""
    numbers, claims = list(numbers), list(claims)
    lines = []
    for name, paper in papers.items():
        own = {f"{name}_{key}" for key, artifact in paper.artifacts.items() if artifact.in_paper}
        mine = [line for line in numbers if line.artifact in own]
        ours = theirs = said = "–"
        if paper.headline:
            said = sentence(paper, paper.headline)
            both = changes(paper.headline, mine)
            ours, theirs = (
                written(both[side], paper, paper.headline) for side in ("ours", "reported")
            )
            here = both["ours"]
            fitted = "; fitted to these numbers: no evidence" if here.fitted else ""
            if ours != "–":
                ours += f" ({here.seeds} of {both['reported'].seeds} seeds{fitted})"
        decided = claims_text(count_claims(claim for claim in claims if claim.artifact in own))
        lines.append(
            PaperLine(name, paper.called, paper.topic, count(mine), said, theirs, ours, decided)
        )
    return lines


def _named(paper: Paper, metric: str) -> tuple[str, str, int]:
    """Name, unit and digits of a metric."""
    described = metric_of(paper.metrics, metric)
    name, unit = (readable(described.name), described.unit) if described else (metric, "")
    return name, unit, digits_of(paper.metrics)(metric)


def sentence(paper: Paper, headline: Headline) -> str:
    """'FedFV (α = 0.667) against FedAvg, Fashion-MNIST: Std. in percent'."""
    method, baseline = (
        readable(paper.algorithms[row.algorithm].title)
        for row in (headline.method, headline.baseline)
    )
    name, unit, _ = _named(paper, headline.fairness)
    data = data_name(paper.settings[headline.setting].data.label)
    return f"{method} against {baseline}, {data}: {name}" + (
        f" in {unit_words(unit)}" if unit_words(unit) else ""
    )


def written(change: Change, paper: Paper, headline: Headline) -> str:
    """'11.23 → 1.63, Ave. +0.13'; '–' where a number is missing."""
    if change.before is None or change.after is None:
        return "–"
    _, unit, digits = _named(paper, headline.fairness)
    text = " → ".join(printed(value, unit, digits) for value in (change.before, change.after))
    name, _, digits = _named(paper, headline.utility)
    return text if change.gain is None else f"{text}, {name} {change.gain + 0.0:+.{digits}f}"
