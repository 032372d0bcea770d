"""What the page says first: how what was judged came out, by paper, and which numbers are farthest from the paper's."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import Record, digits_of, metric_of
from fairfl.judgement.order import order_lines
from fairfl.judgement.recorded import DIFFER, JUDGED
from fairfl.reporting.compared import cell_view
from fairfl.reporting.inputs import rows_of
from fairfl.reporting.page.numbers import column_view
from fairfl.reporting.page.text import readable

STATUS: dict[str, tuple[str, str]] = {
    "holds": ("good", "✓"),
    "within noise": ("near", "≈"),
    "fails": ("bad", "✗"),
    "not judged here": ("apart", "≠"),
    "undecidable": ("none", "?"),
    "untestable": ("none", "–"),
}
Count = tuple[str, str, int, str]  # style, mark, how many, word


def numbers_counted(lines: Iterable[Record]) -> dict[str, Any]:
    """Of the numbers that were judged, how many agree, are close, differ; a run that diverged differs."""
    verdicts = Counter(line["verdict"] for line in lines)
    counts: list[Count] = [
        ("good", "✓", verdicts["agrees"], "agree"),
        ("near", "≈", verdicts["close"], "close"),
        ("bad", "✗", sum(verdicts[word] for word in DIFFER), "differ"),
    ]
    judged = sum(verdicts[word] for word in JUDGED)
    return {"judged": judged, "others": verdicts.total() - judged, "counts": counts}


def claims_counted(statuses: Iterable[str]) -> dict[str, Any]:
    """Of the claims that were judged, how many hold and fail; the others cannot be decided here."""
    rows = Counter(statuses)
    words = {"holds": "hold", "within noise": "within noise", "fails": "fail"}
    counts: list[Count] = [(*STATUS[status], rows[status], word) for status, word in words.items()]
    judged = sum(rows[status] for status in words)
    return {"judged": judged, "others": rows.total() - judged, "counts": counts}


def taus(orders: Iterable[Record]) -> str:
    """'+0.62 over 12 columns': mean of Kendall's tau over the columns that could be judged; '' without any."""
    values = [float(order["tau"]) for order in orders if order["tau"] and order["judged"] == "True"]
    if not values:
        return ""
    return f"{statistics.fmean(values) + 0.0:+.2f} over {len(values)} column{'s' * (len(values) > 1)}"


def recorded_orders(lines: Iterable[Record]) -> list[Record]:
    """Rows of order.csv from numbers that are recorded at the papers' own scale."""
    return [{"artifact": line.artifact, "tau": line.tau, "judged": str(line.judged)} for line in order_lines(lines)]


def card(lines: Iterable[Record], statuses: Iterable[str], orders: Iterable[Record]) -> dict[str, Any]:
    """What is said of one paper, or of all, from one scale."""
    return {"numbers": numbers_counted(lines), "claims": claims_counted(statuses), "tau": taus(orders)}


# -- farthest from the paper ------------------------------------------------------------------
def farthest(
    lines: Iterable[Record], papers: Mapping[str, Paper], paper_of: Mapping[str, str], where: str
) -> list[dict[str, Any]]:
    """The numbers that differ; `where` says at which scale, `paper_of` knows the paper of each artifact.

    The largest |difference| / limit comes first. A limit whose seed noise is not known is rounding alone, so the
    numbers that have such a one come after all others.
    """
    views = []
    for line in lines:
        if line["verdict"] not in DIFFER:
            continue
        paper = papers[paper_of[line["artifact"]]]
        metric = metric_of(paper.metrics, line["metric"])
        variant = Variant.from_csv(line["algorithm"], line["hyperparameters"])
        artifact = paper.artifacts[line["artifact"].partition("_")[2]]
        titles = {name: algorithm.title for name, algorithm in paper.algorithms.items()}
        row = next((row.label for row in rows_of(artifact, titles) if row.variant == variant), "")
        cell = cell_view(
            {"note": "", "reported_note": "", **line}, digits_of(paper.metrics)(line["metric"]), "", "∞", "∞"
        )
        apart, limit = abs(float(line["difference"] or "inf")), float(line["limit"] or 0)
        views.append({
            "artifact": line["artifact"],
            "paper": paper_of[line["artifact"]],
            "title": readable(artifact.title),
            "row": readable(row or variant.label(titles.get(line["algorithm"], line["algorithm"]))),
            "algorithm": line["algorithm"],
            "setting": line["setting"],
            "metric": column_view(line["metric"], metric)["name"],
            "cell": cell,
            "difference": line["difference"],
            "times": apart / limit if limit else None,
            "known": bool(line["seed_std"]),
            "where": where,
        })  # fmt: skip
    return views


def ranked(views: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """From the farthest on; numbers whose seed noise is not known come last."""
    return sorted(views, key=lambda view: (not view["known"], -(view["times"] or 0.0)))
