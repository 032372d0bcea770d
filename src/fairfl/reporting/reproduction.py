"""Stored results in docs/: a page for each paper (page/paper.md.j2), its tables as text (page/tables.md.j2), and what
derived texts name (fairfl.reporting.derived).

Made from results/recorded/, papers/*.yaml and papers/explanations/*.yaml alone.
"""

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.explanations import load_explanations
from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.measurements import CHECKED, Count, count, count_claims, measurements
from fairfl.judgement.recorded import Line, recorded_claims, recorded_numbers
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.recorded import FOLDER
from fairfl.recorded.record import Record as Recorded
from fairfl.recorded.record import settings
from fairfl.reporting.compared import PrintedNumber, differing, printed_number
from fairfl.reporting.footer import plural
from fairfl.reporting.headlines import PaperLine, claims_text, lines_of, share
from fairfl.reporting.page.files import template
from fairfl.reporting.tables.markup import MARKDOWN
from fairfl.reporting.tables.side_by_side import beside
from fairfl.values import tables

OWN = FOLDER / "own"  # tables and figures of your own experiments, as CSV
_MOVE_NOTHING = {"evaluate_every", "evaluated_parts", "seeds"}
_NOT_STATED = "not stated: chosen because "


class StoredResults:
    """Stored numbers and claims of papers; its public methods are the words of derived texts.

    Papers and artifacts are named as 'fedfv', 'fedfv_table3'; a paper's name stands for its artifacts without other
    interpretations (`in_paper: false`), which count in no sum. All papers are meant if none is named.
    """

    def __init__(self, root: Path, papers: dict[str, Paper]) -> None:
        self._root, self._all = root, papers
        self.papers = {
            name: paper for name, paper in sorted(papers.items()) if paper.sources == "quoted"
        }
        self.tried = load_explanations(root, self.papers)
        self.numbers = _by_artifact(recorded_numbers(root))
        self.claims = _by_artifact(recorded_claims(root))

    # -- which numbers ---------------------------------------------------------------------------
    def names_of(self, *names: str) -> list[str]:
        """Names of artifacts. Raises LookupError for what is neither paper nor artifact."""
        artifacts = []
        for name in names or self.papers:
            if name in self.papers:
                every = self.papers[name].artifacts.items()
                artifacts += [f"{name}_{key}" for key, artifact in every if artifact.in_paper]
            else:
                self._described(name)
                artifacts.append(name)
        return artifacts

    def lines(self, *names: str) -> list[ComparisonLine]:
        """Numbers of papers or artifacts."""
        return [line for name in self.names_of(*names) for line in self.numbers[name]]

    def claim_lines(self, *names: str) -> list[ClaimLine]:
        """Claims of papers or artifacts."""
        return [line for name in self.names_of(*names) for line in self.claims[name]]

    def counted(self, *names: str) -> Count:
        """Counts of the numbers of papers or artifacts."""
        return count(self.lines(*names))

    def share(self, *names: str) -> str:
        """'62 %' of the checked numbers agree or are close."""
        return share(self.counted(*names))

    def artifacts(self, in_paper: bool = True) -> int:
        """Number of tables and figures that papers have, or of other interpretations of them."""
        every = (
            artifact for paper in self.papers.values() for artifact in paper.artifacts.values()
        )
        return sum(artifact.in_paper == in_paper for artifact in every)

    def _described(self, name: str) -> tuple[Paper, Artifact]:
        paper, _, key = name.partition("_")
        if paper not in self.papers or key not in self.papers[paper].artifacts:
            raise LookupError(f"no paper or artifact {name!r}")
        return self.papers[paper], self.papers[paper].artifacts[key]

    # -- in words --------------------------------------------------------------------------------
    def say(self, *names: str) -> str:
        """'Of 65 numbers 62 have been checked at full scale: 56 agree, 1 close, 2 differ, 3 inconclusive.'"""
        numbers = self.counted(*names)
        counts = f"{numbers.agree:,} agree, {numbers.close:,} close, {numbers.differ:,} differ"
        checked = f"{numbers.checked:,} have been checked at full scale"
        return f"Of {numbers.published:,} numbers {checked}: {counts}, {numbers.inconclusive:,} inconclusive."

    def table(self, name: str, metrics: list[str], rows: list[str]) -> str:
        """Some numbers of an artifact with the published ones, in its layout; rows as selectors ('fedfv/alpha=0.1')."""
        variants = list(map(Variant.from_selector, rows))
        lines = [
            line for line in self.lines(name) if line.variant in variants and line.metric in metrics
        ]
        if len(lines) != len(metrics) * len(rows):
            raise LookupError(f"{name} has not all of {metrics} of {rows}")
        return self._beside(name, lines)

    def _beside(self, name: str, lines: list[ComparisonLine], *more: str) -> str:
        paper, artifact = self._described(name)
        texts, sentences = beside(lines, artifact, paper, paper.settings)
        return "\n\n".join([*texts[MARKDOWN], " ".join([*sentences, *more])])

    def recorded(self, setting: str) -> dict[str, float]:
        """Number of a setting's stored trainings, and the minutes they took on one core."""
        seconds = [
            entry.origin.seconds
            for job, entry in self._entries(setting)
            if job.startswith("train/")
        ]
        return {"trainings": len(seconds), "minutes": sum(seconds) / 60}

    def status(self) -> str:
        """'27 November 2026', the day of the newest stored result."""
        every = (self._entries(setting) for setting in settings(self._root / FOLDER))
        days = [entry.origin.date for entries in every for _, entry in entries]
        if not days:
            return "nothing is stored"
        day = date.fromisoformat(max(days))
        return f"{day.day} {day:%B %Y}"

    def _entries(self, setting: str) -> list[Any]:
        folder = self._root / FOLDER
        return list(Recorded(setting, folder).entries()) if setting in settings(folder) else []

    def drawn(self, name: str) -> list[dict[str, str]]:
        """Lines of the CSV of your own artifact with their algorithms' `title`; of claims.csv with their `text`."""
        paper, _, artifact = name.partition("_")
        described = self._all[paper]
        with (self._root / OWN / paper / f"{artifact}.csv").open(encoding="utf-8") as file:
            tables.remarks_of(file)
            lines = list(csv.DictReader(file))
        for line in lines:
            if "claim" in line:
                claims = described.artifacts[line["artifact"].partition("_")[2]].claims
                line["text"] = next(claim.text for claim in claims if claim.id == line["claim"])
            elif "algorithm" in line:
                line["title"] = described.algorithms[line["algorithm"]].title
        return lines

    def paper_lines(self, *papers: str) -> list[PaperLine]:
        """A line for each paper."""
        chosen = {name: self.papers[name] for name in papers or self.papers}
        return lines_of(chosen, self.lines(*papers), self.claim_lines(*papers))

    def paper_rows(self) -> str:
        """The table of README: does each paper reproduce?"""
        return template("papers.md.j2", autoescape=False).render(lines=self.paper_lines()).strip()

    # -- pages -----------------------------------------------------------------------------------
    def differences(self) -> list[ComparisonLine]:
        """Each number that differs once, the farthest first."""
        return differing(self.lines())

    def paper_page(self, name: str) -> str:
        """docs/papers/<paper>.md."""
        paper = self.papers[name]
        groups: dict[tuple[str, ...], list[PrintedNumber]] = {}
        reasons: Counter[str] = Counter()
        for line in differing(self.lines(name)):
            reasons[reason := self._reason(line)] += 1
            key = (line.artifact, line.setting, line.metric, reason)
            groups.setdefault(key, []).append(printed_number(line, paper))
        trials = [
            (number, one.outcome, place.removeprefix(f"{name}_"), trial)
            for place, hypotheses in self.tried[name].differences.items()
            for one in hypotheses
            for number, trial in enumerate(one.tried)
        ]
        return template("paper.md.j2", autoescape=False).render(
            name=name,
            paper=paper,
            status=self.status(),
            line=self.paper_lines(name)[0],
            tables=self._counts(name),
            reasons=reasons,
            groups=sorted(groups.items(), key=lambda group: len(group[1]), reverse=True),
            open=list_open_facts(paper),
            trials=sorted(trials, key=lambda trial: trial[:2]),  # first rows of hypotheses first
            explanations=self.tried[name],
        )

    def _counts(self, name: str) -> list[tuple[str, Count, int, str]]:
        """(artifact, counts, reprints, claims) of each artifact that ran, of the others together, and of all.

        A number counts where it is printed first and is a reprint elsewhere, so that columns add up.
        """
        places = measurements(self.lines(name)).values()
        first = _by_artifact(line for line, *_ in places)
        again = Counter(line.artifact for _, *reprints in places for line in reprints)
        rows, rest = [], []
        for artifact in self.names_of(name):
            if any(line.verdict in CHECKED for line in self.numbers[artifact]):
                claims = claims_text(count_claims(self.claims[artifact]))
                rows.append((artifact, count(first[artifact]), again[artifact], claims))
            elif first[artifact] or again[artifact]:
                rest.append(artifact)
        if rest:
            names = ", ".join(artifact.removeprefix(f"{name}_") for artifact in rest)
            left = count(line for artifact in rest for line in first[artifact])
            rows.append((f"not run: {names}", left, sum(again[each] for each in rest), ""))
        return [*rows, ("all, each number once", self.counted(name), again.total(), "")]

    def _reason(self, line: ComparisonLine) -> str:
        """'explained' if anything explains a number that differs, 'unresolved' if something was tried, else ''."""
        explanations = self.tried[line.paper]
        outcomes = {
            one.outcome
            for one in explanations.on(line.artifact, line.setting, line.variant, line.metric)
        }
        return "explained" if "explained" in outcomes else "unresolved" if outcomes else ""

    def tables_page(self, name: str = "") -> str:
        """docs/tables/<paper>.md, or index.md without a paper."""
        parts = []
        for key in self.names_of(name) if name else ():
            lines = [line for line in self.numbers[key] if line.reported is not None]
            artifact = self._described(key)[1]
            costs = {setting: self.recorded(setting) for setting in artifact.settings if lines}
            hours = [
                f"Stored trainings of {setting}: {cost['trainings']:.0f}, {cost['minutes'] / 60:.1f} hours."
                for setting, cost in costs.items()
                if cost["trainings"]
            ]
            if lines:
                parts.append((key, artifact, self._beside(key, lines, *hours)))
        page = template("tables.md.j2", autoescape=False)
        return page.render(papers=self.papers, paper=self.papers.get(name), parts=parts)


def list_open_facts(paper: Paper) -> list[str]:
    """Facts that the text does not state and that move numbers, most settings first."""
    chosen: Counter[tuple[str, str]] = Counter()
    searched: set[str] = set()
    for setting in paper.settings.values():
        searched |= set(setting.unstated.facts if setting.unstated else ())
        for key, text in setting.sources.items():
            if text.startswith(_NOT_STATED) and key not in _MOVE_NOTHING:
                chosen[key, " ".join(text.removeprefix(_NOT_STATED).split())] += 1
    facts = ", ".join(f"`{fact}`" for fact in sorted(searched))
    where = (
        "[Calibration](../running.md#tuning-and-calibration); papers/explanations/calibrations.md"
    )
    return ([f"Searched on FedAvg's row ({where}): {facts}"] if facts else []) + [
        f"`{key}` ({plural(many, 'setting')}): {why}" for (key, why), many in chosen.most_common()
    ]


def _by_artifact(lines: Iterable[Line]) -> defaultdict[str, list[Line]]:
    groups: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        groups[line.artifact].append(line)
    return groups
