"""The papers in one line each, as README, docs/papers/ and the page have them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairfl.experiments.paper import Paper
from fairfl.judgement.cells import digits_of, metric_of
from fairfl.judgement.headlines import Change, SelfConsistency, changes
from fairfl.judgement.measurements import ClaimCount, Count, count, count_claims
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed, unit_words
from fairfl.reporting.facts import data_name
from fairfl.reporting.page.text import plain
from fairfl.reporting.status import shares

COLUMNS = (
    "paper", "verdict", "numbers checked", "agree or close", "inconclusive", "single seed", "main result", "published",
    "reproduced", "claims",
)  # fmt: skip
ENOUGH = 20  # numbers, for a share of them in percent
MOST, FEW = 0.9, 0.1  # shares of numbers that make a word of `word_for`


def word_for(found: Count) -> str:
    """'reproduces', 'partly tested' or 'not tested', by how many numbers ran, and how many of them agree."""
    ran = found.checked / found.published if found.published else 0.0
    if ran < FEW:
        return "not tested"
    good = (found.conclusive - found.differ) / found.conclusive if found.conclusive else 0.0
    return "reproduces" if ran >= MOST and good >= MOST else "partly tested"


def share(found: Count) -> str:
    """'62 %' of what was checked agrees or is close, '62 % (46 %, strict rule)' where wider tolerances make a
    difference."""
    return _share(found.conclusive - found.differ, found.strict, found.conclusive) if found.conclusive else "–"


def share_of_enough(found: Count) -> str:
    """Likewise, but '2 of 3' of too few for a share."""
    few = 0 < found.conclusive < ENOUGH
    return f"{found.conclusive - found.differ} of {found.conclusive}" if few else share(found)


def _share(many: int, strict: int, of: int) -> str:
    here, strictly = (f"{number / of:.0%}".replace("%", " %") for number in (many, strict))
    return here if here == strictly else f"{here} ({strictly}, strict rule)"


def claims_text(found: ClaimCount) -> str:
    """'3 supported, 1 refuted', of those that could be checked."""
    counts = [(found.statuses[word], word) for word in ("supported", "inconclusive", "refuted")]
    return ", ".join(f"{many} {word}" for many, word in counts if many) or "–"


@dataclass(frozen=True)
class PaperLine:
    """A paper in one line."""

    key: str
    called: str
    found: Count  # of its published numbers
    main: str  # its main result; then from the baseline to the method, as published and as reproduced
    published: str
    reproduced: str
    claims: str

    @property
    def verdict(self) -> str:
        return word_for(self.found)

    @property
    def agreeing(self) -> str:
        return share_of_enough(self.found)

    @property
    def shares(self) -> dict[str, int]:
        """How many of its numbers agree, are close, differ, are inconclusive or were not run."""
        return shares(self.found)

    @property
    def cells(self) -> list[str]:
        """Those of `COLUMNS`."""
        found = self.found
        counts = [checked_of(found), self.agreeing, f"{found.inconclusive:,}", f"{found.one_seed:,}"]
        return [self.called, self.verdict, *counts, self.main, self.published, self.reproduced, self.claims]


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
            said = sentence(paper)
            both = changes(paper.headline, mine)
            ours, theirs = (written(both[side], paper) for side in ("ours", "reported"))
            ours += f" ({both['ours'].seeds} of {both['reported'].seeds} seeds)" if ours != "–" else ""
        decided = claims_text(count_claims(claim for claim in claims if claim.artifact in own))
        lines.append(PaperLine(name, paper.called, count(mine), said, theirs, ours, decided))
    return lines


def checked_of(found: Count) -> str:
    """'244 of 888 (27 %)'."""
    part = f" ({100 * found.checked / found.published:.0f} %)" if found.published else ""
    return f"{found.checked:,} of {found.published:,}{part}"


def with_itself(found: SelfConsistency) -> str:
    """How far a paper agrees with itself: in rows equal in effect, in numbers printed more than once."""
    text = f"{found.differ:,} of {found.reprints:,} reprints have other values, {found.near:,} of them near"
    if not found.differ:
        text = f"{found.reprints:,} reprints are equal" if found.reprints else "prints nothing twice"
    if not found.alike:
        return text
    shown = _share(found.alike_near, found.alike_strict, found.alike)
    return f"{shown} of {found.alike:,} pairs of rows equal in effect; {text}"


def sentence(paper: Paper) -> str:
    """'FedFV (α = 0.667) against FedAvg, Fashion-MNIST: Std. in percent'."""
    headline = paper.headline
    assert headline is not None
    titles = [plain(paper.algorithms[row.algorithm].title) for row in (headline.method, headline.baseline)]
    metric = metric_of(paper.metrics, headline.fairness)
    name, unit = (plain(metric.name), unit_words(metric.unit)) if metric else (headline.fairness, "")
    data = data_name(paper.settings[headline.setting].data.label)
    return f"{titles[0]} against {titles[1]}, {data}: {name}" + (f" in {unit}" if unit else "")


def written(change: Change, paper: Paper) -> str:
    """'11.23 → 1.63, Ave. +0.13'; '–' where a number is missing."""
    headline = paper.headline
    assert headline is not None
    if change.before is None or change.after is None:
        return "–"
    digits, metrics = digits_of(paper.metrics), paper.metrics
    described = metric_of(metrics, headline.fairness)
    unit = described.unit if described else ""
    text = " → ".join(printed(value, unit, digits(headline.fairness)) for value in (change.before, change.after))
    utility = metric_of(metrics, headline.utility)
    if change.gain is None or utility is None:
        return text
    return f"{text}, {plain(utility.name)} {change.gain + 0.0:+.{digits(headline.utility)}f}"
