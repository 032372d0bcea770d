"""What the page says first: how what was checked came out, by paper, and which numbers are farthest from the
paper's."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fairfl.experiments.paper import Paper
from fairfl.judgement.cells import digits_of
from fairfl.judgement.measurements import DIFFER, Count, count, count_claims, measurements
from fairfl.judgement.ranking import RankingLine
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.reporting.compared import cell_view
from fairfl.reporting.inputs import rows_of
from fairfl.reporting.page.numbers import metric_name
from fairfl.reporting.page.text import readable

STATUS: dict[str, tuple[str, str]] = {
    "supported": ("good", "✓"),
    "inconclusive": ("near", "≈"),
    "refuted": ("bad", "✗"),
    "fitted": ("apart", "="),
    "not evaluated at this scale": ("apart", "≠"),
    "missing numbers": ("none", "?"),
    "not testable from printed numbers": ("none", "–"),
}
Shown = tuple[str, str, int, str]  # style, mark, how many, word


def numbers_counted(found: Count) -> dict[str, Any]:
    """How the published numbers came out."""
    counts: list[Shown] = [
        ("good", "✓", found.agree, "agree"),
        ("near", "≈", found.close, "close"),
        ("bad", "✗", found.differ, "differ"),
        ("open", "?", found.inconclusive, "inconclusive"),
    ]
    seeds = f"{found.one_seed:,} of them from one seed" if found.one_seed else ""
    return {"of": found, "conclusive": found.conclusive, "counts": counts, "seeds": seeds}


def claims_counted(claims: Iterable[ClaimLine]) -> dict[str, Any]:
    """Counts of checked claims that are supported and refuted; the others cannot be checked here."""
    found = count_claims(claims)
    words = ("supported", "inconclusive", "refuted")
    counts: list[Shown] = [(*STATUS[word], found.statuses[word], word) for word in words]
    others = found.statuses.total() - found.checked
    return {"checked": found.checked, "others": others, "counts": counts, "of": None, "seeds": ""}


def taus(rankings: Iterable[RankingLine]) -> str:
    """'+0.62 over 12 columns': mean of Kendall's tau over the columns that could be checked; '' without any."""
    values = [ranking.tau for ranking in rankings if ranking.tau is not None and ranking.checked]
    if not values:
        return ""
    return (
        f"{statistics.fmean(values) + 0.0:+.2f} over {len(values)} column{'s' * (len(values) > 1)}"
    )


def card(
    lines: Sequence[ComparisonLine], claims: Iterable[ClaimLine], rankings: Iterable[RankingLine]
) -> dict[str, Any]:
    """What is said of one paper, or of all, from one scale."""
    numbers = numbers_counted(count(lines))
    return {
        "numbers": numbers,
        "claims": claims_counted(claims),
        "tau": taus(rankings),
        "lines": len(lines),
    }


# -- farthest from the paper ------------------------------------------------------------------
def farthest(
    lines: Iterable[ComparisonLine],
    papers: Mapping[str, Paper],
    paper_of: Mapping[str, str],
    where: str,
) -> list[dict[str, Any]]:
    """The numbers that differ, each once; `where` says at which scale, `paper_of` knows the paper of each artifact.

    The largest |difference| / tolerance comes first. A tolerance whose seed noise is not known is rounding alone, so
    the numbers that have such a one come after all others.
    """
    views = []
    for line in (line for line, *_ in measurements(lines).values() if line.verdict in DIFFER):
        paper = papers[paper_of[line.artifact]]
        artifact = paper.artifacts[line.artifact.partition("_")[2]]
        titles = {name: algorithm.title for name, algorithm in paper.algorithms.items()}
        named = (row.label for row in rows_of(artifact, titles) if row.variant == line.variant)
        label = line.variant.label(titles.get(line.algorithm, line.algorithm))
        apart = math.inf if line.difference is None else abs(line.difference)
        views.append({
            "of": line,
            "paper": paper_of[line.artifact],
            "called": paper.called,
            "title": readable(artifact.title),
            "row": readable(next(named, label)),
            "metric": metric_name(paper.metrics, line.metric),
            "cell": cell_view(line, digits_of(paper.metrics)(line.metric), "∞", "∞"),
            "times": apart / line.tolerance if line.tolerance else None,
            "where": where,
        })  # fmt: skip
    return views


def ranked(views: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """From the farthest on; numbers whose seed noise is not known come last."""
    return sorted(views, key=lambda view: (view["of"].seed_std is None, -(view["times"] or 0.0)))
