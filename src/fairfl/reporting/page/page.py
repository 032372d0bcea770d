"""The report: one page with every artifact, verdict, claim and source.

Works from a file, without a network; its script shows one artifact at a time, finds and filters them, and without
scripts everything is there in one long page. It shows what comparison.csv and claims.csv say and links to the artifacts
beside it; a file that is not there is named as missing. Same inputs, same bytes.
"""

import statistics
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairfl.experiments.paper import Paper
from fairfl.experiments.workload import Workload
from fairfl.judgement.cells import metric_of
from fairfl.judgement.changes import changed_by_scale, original
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import (
    ClaimCount,
    Count,
    count,
    count_claims,
    readings_and_own,
)
from fairfl.judgement.ranking import RankingLine, ranking_lines
from fairfl.judgement.recorded import claims_by_name, ran_by_place, stored_numbers
from fairfl.judgement.rows import ClaimLine, ComparisonLine, records
from fairfl.judgement.sources import used_values
from fairfl.reporting.compared import differing, distance, metric_name, printed_number
from fairfl.reporting.footer import facts_of, plural
from fairfl.reporting.headlines import lines_of
from fairfl.reporting.marks import words_of
from fairfl.reporting.page.files import Files, embedded, template
from fairfl.reporting.page.made import (
    Summaries,
    describe_code,
    describe_runs,
    read_summaries,
    runs_of,
)
from fairfl.reporting.page.numbers import Details, table_views
from fairfl.reporting.page.settings import setting_view, values_in_rows
from fairfl.reporting.status import COLOURS

STYLES = ("good", "near", "bad", "open", "none")  # of the parts of a bar
# What a sign beside a number means, for those who do not see it.
SIGNS = {sign: words for _, sign, words in VERDICTS.values()} | {
    "≠": "not compared: other data, scale or hardware",
    "⚡": "the paper contradicts itself",
}
STATUS: dict[str, tuple[str, str]] = {
    "supported": ("good", "✓"),
    "inconclusive": ("open", "?"),
    "refuted": ("bad", "✗"),
    "fitted": ("apart", "="),
    "not evaluated at this scale": ("apart", "≠"),
    "missing numbers": ("none", "○"),
    "not testable from printed numbers": ("none", "–"),
}


# -- rows of files ----------------------------------------------------------------------------
@dataclass
class PageRows:
    """Rows of comparison.csv, claims.csv and ranking.csv, of a run or stored."""

    numbers: list[ComparisonLine]
    claims: list[ClaimLine]
    rankings: list[RankingLine]

    def of(self, artifacts: Collection[str]) -> "PageRows":
        """Rows of some artifacts."""
        parts = ([row for row in rows if row.artifact in artifacts] for rows in vars(self).values())
        return PageRows(*parts)

    @property
    def number_count(self) -> Count:
        return count(self.numbers)

    @property
    def claim_count(self) -> ClaimCount:
        return count_claims(self.claims)

    @property
    def tau(self) -> str:
        """'+0.62 over 12 columns': mean of Kendall's tau over the columns that could be checked; '' without any."""
        taus = [one.tau for one in self.rankings if one.tau is not None and one.checked]
        if not taus:
            return ""
        return f"{statistics.fmean(taus) + 0.0:+.2f} over {plural(len(taus), 'column')}"


def read_rows(workload: Workload, root: Path, folder: Path) -> tuple[PageRows, PageRows]:
    """Rows of the files in the page's folder, and stored ones below `root` if this is another scale than theirs."""
    here = PageRows(
        records(folder / "comparison.csv", "comparison", ComparisonLine),
        records(folder / "claims.csv", "claims", ClaimLine),
        records(folder / "ranking.csv", "ranking", RankingLine),
    )
    numbers, claims = stored_numbers(workload, root), claims_by_name(workload, root)
    own = (claims.get((claim.artifact, claim.claim)) for claim in here.claims)
    stored = PageRows(numbers, list(filter(None, own)), ranking_lines(numbers))
    return here.of(workload.artifacts), stored


def farthest(scales: Mapping[str, list[ComparisonLine]], papers: Mapping[str, Paper]) -> list[Any]:
    """(scale, paper, number, times its tolerance) of the numbers that differ, the farthest first.

    Without an estimate of seed noise the tolerance is rounding alone, so these numbers come after all others.
    """
    views = [
        (scale, paper, printed_number(line, paper), distance(line))
        for scale, lines in scales.items()
        for line in differing(lines)
        for paper in [papers[line.paper]]
    ]
    return sorted(views, key=lambda view: (view[2].line.seed_std is None, -view[3]))


def describe_changes(workload: Workload) -> dict[str, list[str]]:
    """Keys of settings -> what the scale replaced, 'rounds' -> ['100 -> 10 (2 settings)']; {} if nothing."""
    used = dict.fromkeys(
        chain(*(artifact.settings for *_, artifact in workload.artifacts.values()))
    )
    changes = {name: changed_by_scale(workload, name) for name in used}
    counts = Counter(change.partition(": ")[::2] for some in changes.values() for change in some)
    if not counts:
        return {}
    described: dict[str, list[str]] = {"data.name": [], "rounds": [], "seeds": []}
    for (key, values), many in counts.items():
        if key in described:
            described[key].append(f"{values} ({plural(many, 'setting')})")
    others = {key.partition(".")[0] for key, _ in counts} - {"data", *described}
    unchanged = [name for name, some in changes.items() if not some]
    return described | {"also changed": sorted(others), "as in the paper": unchanged}


# -- artifacts --------------------------------------------------------------------------------
def artifact_view(
    name: str,
    workload: Workload,
    here: PageRows,
    stored: PageRows,
    files: Files,
    details: Details,
    summaries: Summaries,
) -> dict[str, Any]:
    """Everything the template needs to show one artifact; rows are its own, `summaries` those of all runs."""
    paper, key, artifact = workload.artifacts[name]
    source, lines, path = workload.papers[paper], here.numbers, f"{paper}/{key}"
    rounds = {
        setting: (workload.settings[setting].rounds, original(workload, setting).rounds)
        for setting in dict.fromkeys(line.setting for line in lines)
    }
    runs = {run for line in lines for run in runs_of(line)}
    own = {run: summary for run, summary in summaries.items() if run in runs}
    owners = {tuple(summary.get("owners") or ()) for summary in own.values()}
    described = {
        metric: metric_here
        for metric in dict.fromkeys(line.metric for line in lines)
        if (metric_here := metric_of(source.metrics, metric, *owners if len(owners) == 1 else ()))
    }
    source = source.model_copy(update={"metrics": source.metrics | described})
    full, full_claims = ran_by_place(stored.numbers), {one.claim: one for one in stored.claims}
    used = used_values(workload, paper) if artifact.content == "used" else ()
    return {
        "name": name,
        "paper": source,
        "spec": artifact,
        "path": path,
        "facts": facts_of(workload, name),
        "failed": "",
        "footnote": files.remarks(f"{path}.csv") if artifact.plot else [],
        "tables": table_views(lines, source, artifact, details, rounds, full),
        "words": words_of(artifact, used),
        "claims": [(one, source, artifact, full_claims.get(one.claim)) for one in here.claims],
        "rankings": [(metric_name(source, one.metric), one) for one in here.rankings],
        "made": describe_runs(own),
        "here": here,
        "stored": stored,
        "best": count(full.get(line.place, line) for line in lines),
        **files.of(path, artifact),
    }


# -- the page ---------------------------------------------------------------------------------
def paper_view(
    key: str, workload: Workload, views: list[dict[str, Any]], here: PageRows, stored: PageRows
) -> dict[str, Any]:
    """A paper with its artifacts; rows are of all papers."""
    paper, own = workload.papers[key], here.of({view["name"] for view in views})
    # Our interpretations of unclear passages repeat its numbers.
    printed = {view["name"] for view in views if view["spec"].in_paper}
    used = dict.fromkeys(setting for view in views for setting in view["spec"].settings)
    return {
        "id": key,
        "spec": paper,
        "artifacts": views,
        "built": sum(not (view["missing"] or view["failed"]) for view in views),
        "here": own.of(printed),
        "stored": stored.of(printed),
        "settings": [
            setting_view(workload, name)
            for name in used
            if workload.sharing.builders(name)[0] == key
        ],
        "contradictions": [
            printed_number(line, paper) for line in own.numbers if line.contradiction
        ],
        "used": values_in_rows(paper.artifacts.values()),
    }


def render(
    workload: Workload,
    root: Path,
    results: Path,
    out: Path,
    failed: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page as HTML text; `out` decides how its links are written. Stored results lie below `root`.

    `failed`: tables and figures that could not be made, and why; older files of theirs are not shown. What belongs to a
    selection (comparison, claims, rankings, tables side by side) is in the page's folder, not in `results`.
    """
    here, stored = read_rows(workload, root, out.parent)
    files, summaries = Files(results, out), read_summaries(results, here.numbers)
    details: Details = []
    papers: dict[str, list[dict[str, Any]]] = {key: [] for key in workload.config.papers}
    for name, (paper, _, _) in workload.artifacts.items():
        rows = here.of({name}), stored.of({name})
        view = artifact_view(name, workload, *rows, files, details, summaries)
        if name in failed:
            view |= {"failed": failed[name], "links": {}, "copies": {}, "missing": []}
        papers[paper].append(view)
    views = list(chain(*papers.values()))
    readings, own = readings_and_own(workload.papers)
    printed = workload.artifacts.keys() - readings - own
    quoted = {key: paper for key, paper in workload.papers.items() if paper.sources == "quoted"}
    here_printed, stored_printed = here.of(printed), stored.of(printed)
    scales = {workload.scale.scale: here_printed.numbers, "full scale": stored_printed.numbers}
    main = stored_printed if stored.numbers else here_printed
    return template("page.html.j2").render(
        scale=workload.scale,
        papers=[paper_view(key, workload, some, here, stored) for key, some in papers.items()],
        here=here_printed,
        stored=stored_printed,
        own_claims=here.of(own).claim_count,
        farthest=farthest(scales, workload.papers),
        headlines=lines_of(quoted, main.numbers, main.claims),
        styles=dict(zip(COLOURS, STYLES, strict=True)),
        made=describe_code(root) | describe_runs(summaries),
        changes=describe_changes(workload),
        verdict=workload.config.verdict,
        claims=[claim for view in views for claim in view["claims"]],
        is_stored=bool(ran_by_place(stored.numbers)),
        verdicts=VERDICTS,
        signs=SIGNS,
        status=STATUS,
        data=embedded(files.describe(details)),
        copies=embedded({view["name"]: view["copies"] for view in views if view["copies"]}),
    )
