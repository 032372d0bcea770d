"""The report: one page with every artifact, verdict, claim and source.

Works from a file, without a network; its script shows one artifact at a time, finds and filters them, and without
scripts everything is there in one long page. It shows what comparison.csv and claims.csv say and links to the artifacts
beside it; a file that is not there is named as missing. Same inputs, same bytes.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fairfl.experiments.paper import Artifact, Paper
from fairfl.experiments.workload import Workload
from fairfl.judgement.arithmetic import describe_numerics
from fairfl.judgement.cells import metric_of
from fairfl.judgement.changes import changed_by_scale, original
from fairfl.judgement.comparison import VERDICTS
from fairfl.judgement.measurements import count, readings_and_own
from fairfl.judgement.ranking import RankingLine, ranking_lines
from fairfl.judgement.recorded import Place, claims_by_name, ran_by_place, stored_numbers
from fairfl.judgement.rows import ClaimLine, ComparisonLine, records
from fairfl.judgement.sources import used_values
from fairfl.reporting.facts import facts_of
from fairfl.reporting.headlines import lines_of
from fairfl.reporting.marks import USED_HEADER, legend, printed_values, used_lines
from fairfl.reporting.notes import condensed
from fairfl.reporting.page.details import Details
from fairfl.reporting.page.files import Files, embedded, template
from fairfl.reporting.page.made import made_from, runs_of
from fairfl.reporting.page.numbers import contradictions_view, metric_name, table_views
from fairfl.reporting.page.overview import (
    STATUS,
    card,
    claims_counted,
    farthest,
    numbers_counted,
    ranked,
)
from fairfl.reporting.page.settings import algorithm_view, setting_view
from fairfl.reporting.page.text import readable
from fairfl.reporting.status import COLOURS

STYLES = ("good", "near", "bad", "open", "none")  # of the parts of a bar
# What a sign beside a number means, for those who do not see it.
SIGNS = {sign: words for _, sign, words in VERDICTS.values()} | {
    "≠": "not compared: other data, scale or hardware",
    "⚡": "the paper contradicts itself",
}


# -- what the scale replaced ------------------------------------------------------------------
def substitutions(workload: Workload) -> list[tuple[str, str]]:
    """(what, sentence) for data, rounds, seeds and the rest; empty if everything is as in the papers."""
    artifacts = [artifact for _, _, artifact in workload.artifacts.values()]
    used = list(dict.fromkeys(name for artifact in artifacts for name in artifact.settings))
    facts: dict[str, Counter[str]] = {"Data": Counter(), "Rounds": Counter(), "Seeds": Counter()}
    others: set[str] = set()
    for name in used:
        here, paper = workload.settings[name], original(workload, name)
        if here.data.stands_in_for:
            facts["Data"][f"{here.data.name} stands in for {here.data.stands_in_for}"] += 1
        if here.rounds != paper.rounds:
            facts["Rounds"][f"{here.rounds:,} instead of {paper.rounds:,}"] += 1
        if here.seeds != paper.seeds:
            facts["Seeds"][f"{len(here.seeds)} instead of {len(paper.seeds)}"] += 1
        others |= {
            change.partition(":")[0].partition(".")[0]
            for change in changed_by_scale(workload, name)
        }
    sentences = [
        (
            what,
            "; ".join(f"{text} ({count} of {len(used)} settings)" for text, count in counts.items())
            + ".",
        )
        for what, counts in facts.items()
        if counts
    ]
    if rest := sorted(others - {"data", "rounds", "seeds"}):
        sentences.append(
            ("Also changed", ", ".join(rest) + ". Every value is listed under Settings.")
        )
    same = [name for name in used if not changed_by_scale(workload, name)]
    return sentences + ([("As in the paper", ", ".join(same) + ".")] if sentences and same else [])


# -- artifacts --------------------------------------------------------------------------------
@dataclass
class Summaries:
    """What the files beside the page say, and the record where this is another scale."""

    lines: list[ComparisonLine]
    claims: list[ClaimLine]
    rankings: list[RankingLine]
    full: list[ComparisonLine]  # the numbers of the record
    recorded: dict[Place, ComparisonLine]  # those of them that ran
    recorded_claims: dict[tuple[str, str], ClaimLine]

    @classmethod
    def read(cls, workload: Workload, root: Path, folder: Path) -> "Summaries":
        """From the folder of the page; the record lies below `root`."""
        full = stored_numbers(workload, root)
        return cls(
            records(folder / "comparison.csv", "comparison", ComparisonLine),
            records(folder / "claims.csv", "claims", ClaimLine),
            records(folder / "ranking.csv", "ranking", RankingLine),
            full,
            ran_by_place(full),
            claims_by_name(workload, root),
        )

    def of(self, artifacts: Collection[str]) -> "Summaries":
        """Summaries of some artifacts."""
        parts: dict[str, Any] = {
            name: [line for line in getattr(self, name) if line.artifact in artifacts]
            for name in ("lines", "claims", "rankings", "full")
        }
        return replace(self, **parts)

    @property
    def full_claims(self) -> list[ClaimLine]:
        names = ((claim.artifact, claim.claim) for claim in self.claims)
        return [self.recorded_claims[name] for name in names if name in self.recorded_claims]

    @property
    def best(self) -> list[ComparisonLine]:
        """Each number as recorded, else as it came out here."""
        return [self.recorded.get(line.place, line) for line in self.lines]

    def counts(self) -> dict[str, Any]:
        """How the published numbers came out here, as recorded, and as recorded else here."""
        scales = {"here": self.lines, "full": self.full, "best": self.best}
        return {scale: numbers_counted(count(lines)) for scale, lines in scales.items()}

    def cards(self) -> dict[str, Any]:
        """What came out here, and what is recorded at full scale; None if nothing is."""
        full = self.full
        return {
            "here": card(self.lines, self.claims, self.rankings),
            "full": card(full, self.full_claims, ranking_lines(full)) if full else None,
        }


def artifact_view(
    name: str,
    workload: Workload,
    summaries: Summaries,
    files: Files,
    details: Details,
    made: dict[str, Any],
) -> dict[str, Any]:
    """Everything the template needs to show one artifact; `summaries` are its own, `made` is each run's arithmetic."""
    paper, key, artifact = workload.artifacts[name]
    source, lines, path = workload.papers[paper], summaries.lines, f"{paper}/{key}"
    rounds = {
        setting: (workload.settings[setting].rounds, original(workload, setting).rounds)
        for setting in dict.fromkeys(line.setting for line in lines)
    }
    facts, runs = facts_of(workload, name), {run for line in lines for run in runs_of(line)}
    owners = {tuple(of) for run, of in made["owners_of"].items() if run in runs}
    described = {
        metric: found
        for metric in dict.fromkeys(line.metric for line in lines)
        if (found := metric_of(source.metrics, metric, *owners if len(owners) == 1 else ()))
    }
    source = source.model_copy(update={"metrics": source.metrics | described})
    stand_ins = [setting.stand_in for setting in facts.settings.values()]
    return {
        "name": name,
        "paper": paper,
        "spec": artifact,
        "path": path,
        "facts": facts,
        "only_stand_ins": bool(stand_ins) and all(stand_ins),
        **_files_view(files, path, artifact),
        "failed": "",
        "footnote": files.remarks(f"{path}.csv") if artifact.plot else [],
        **_made_view(made, runs),
        **summaries.counts(),
        "tables": table_views(lines, source, artifact, details, rounds, summaries.recorded),
        "words": words_view(workload, paper, artifact) if artifact.kind == "static_table" else None,
        "own": source.sources == "own",
        "over": "repetitions" if artifact.origins == ("timed",) else "seeds",
        "claims": [claim_view(one, summaries.recorded_claims, source) for one in summaries.claims],
        "rankings": [(metric_name(source.metrics, one.metric), one) for one in summaries.rankings],
    }


def _made_view(made: dict[str, Any], runs: Collection[str]) -> dict[str, Any]:
    """Arithmetic, data and partitions of some runs, in words."""
    arithmetic, data = (
        [of for run, of in made[kind].items() if run in runs]
        for kind in ("arithmetic_of", "data_of")
    )
    return {
        "arithmetic": describe_numerics(arithmetic),
        "sources": condensed(source for source, _ in data),
        "partitions": [text for text in dict.fromkeys(text for _, text in data) if text],
    }


def _files_view(files: Files, path: str, artifact: Artifact) -> dict[str, Any]:
    """Links to the files of an artifact, the files that are not there, and what may be copied."""
    endings = ["pdf", "png", "csv"] if artifact.plot else ["csv", "md", "tex"]
    endings += ["side_by_side.md", "side_by_side.tex"] * (artifact.kind == "table")
    links = {ending: files.link(f"{path}.{ending}") for ending in endings}
    missing = [f"{path}.{ending}" for ending, url in links.items() if not url]
    if svg := files.link(f"{path}.svg") if artifact.plot else "":
        links["svg"] = svg
    copied = [ending for ending in ("tex", "md") if links.get(ending) and not artifact.plot]
    copies = {ending: files.text(f"{path}.{ending}") for ending in copied}
    return {"links": links, "missing": missing, "copies": copies}


def claim_view(
    claim: ClaimLine, recorded: dict[tuple[str, str], ClaimLine], paper: Paper
) -> dict[str, Any]:
    """A claim, here and as recorded at full scale."""
    artifact = paper.artifacts[claim.artifact.partition("_")[2]]
    full = recorded.get((claim.artifact, claim.claim))
    return {
        "of": claim,
        "called": paper.called,
        "artifact_title": readable(artifact.title),
        "full": full,
    }


def words_view(workload: Workload, paper: str, artifact: Artifact) -> dict[str, Any]:
    """Header, lines and legend of a static table."""
    if artifact.content != "used":
        return {"header": artifact.header, "lines": artifact.content, "legend": []}
    values = printed_values(used_values(workload, paper), artifact.options.get("printed", []))
    lines = [
        (title, "; ".join(f"{key}: {shown}" for key, shown in of))
        for title, of in used_lines(values)
    ]
    return {
        "header": USED_HEADER,
        "lines": lines,
        "legend": legend((used.provenance for used in values), "value"),
    }


# -- the page ---------------------------------------------------------------------------------
def paper_view(
    key: str, workload: Workload, views: list[dict[str, Any]], summaries: Summaries
) -> dict[str, Any]:
    """A paper with its artifacts; `summaries` of all papers."""
    paper = workload.papers[key]
    printed = {
        view["name"] for view in views if view["spec"].in_paper
    }  # our readings repeat its numbers
    every = summaries.of({view["name"] for view in views})
    used = dict.fromkeys(setting for view in views for setting in view["spec"].settings)
    settings = [name for name in used if workload.sharing.builders(name)[0] == key]
    return {
        "id": key,
        "spec": paper,
        "artifacts": views,
        "built": sum(not (view["missing"] or view["failed"]) for view in views),
        "cards": summaries.of(printed).cards(),
        "settings": [setting_view(workload, name) for name in settings],
        "contradictions": contradictions_view(every.lines, paper.metrics),
        "algorithms": [
            algorithm_view(*item, paper.artifacts.values()) for item in paper.algorithms.items()
        ],
    }


def render(
    workload: Workload,
    root: Path,
    results: Path,
    out: Path,
    failed: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """The page as HTML text; `out` decides how its links are written. The record lies below `root`.

    `failed`: tables and figures that could not be made, and why; older files of theirs are not shown. What is said of a
    selection (comparison, claims, rankings, tables side by side) is in the page's folder, not in that of all `results`.
    """
    summaries = Summaries.read(workload, root, out.parent).of(workload.artifacts)
    files = Files(results, out)
    details = Details(files)
    made = made_from(root, results, summaries.lines)
    views = {
        name: artifact_view(name, workload, summaries.of({name}), files, details, made)
        for name in workload.artifacts
    }
    for name, why in failed.items():
        views[name] |= {"failed": why, "links": {}, "copies": {}, "missing": []}
    papers: dict[str, list[dict[str, Any]]] = {key: [] for key in workload.config.papers}
    for view in views.values():
        papers[view["paper"]].append(view)
    return template("page.html.j2").render(
        **overview(workload, summaries),
        scale=workload.scale,
        papers=[paper_view(key, workload, own, summaries) for key, own in papers.items()],
        made=made | {"arithmetic": describe_numerics(made["arithmetic_of"].values())},
        substitutions=substitutions(workload),
        verdict=workload.config.verdict,
        claims=[claim for view in views.values() for claim in view["claims"]],
        recorded=bool(summaries.recorded),
        verdicts=VERDICTS,
        signs=SIGNS,
        status=STATUS,
        data=embedded(details.data()),
        copies=embedded({name: view["copies"] for name, view in views.items() if view["copies"]}),
    )


def overview(workload: Workload, summaries: Summaries) -> dict[str, Any]:
    """What stands above the papers: how all came out, their main results, what is farthest from them."""
    readings, own = readings_and_own(workload.papers)
    printed = summaries.of(workload.artifacts.keys() - readings - own)
    paper_of = {name: paper for name, (paper, _, _) in workload.artifacts.items()}
    quoted = {key: paper for key, paper in workload.papers.items() if paper.sources == "quoted"}
    full = bool(printed.full)
    numbers = (printed.full, printed.full_claims) if full else (printed.lines, printed.claims)
    return {
        "own_claims": claims_counted(summaries.of(own).claims),
        "cards": printed.cards(),
        "found": count(printed.lines),
        "farthest": ranked(
            farthest(printed.lines, workload.papers, paper_of, workload.scale.scale)
            + farthest(printed.full, workload.papers, paper_of, "full scale")
        ),
        "headlines": {
            "styles": dict(zip(COLOURS, STYLES, strict=True)),
            "lines": lines_of(quoted, *numbers),
            "recorded": full,
        },
    }
