"""Sentences with numbers in the documentation: `make report` writes them from what is measured, nobody by hand.

A page has, as a comment, how they are made (jinja2); what that gives stands below it:

    <!-- derived
    {{ say("fedfv_table3") }}
    -->
    Of 65 numbers 62 agree, 1 is close, 2 differ.
    <!-- end -->

The names in there are those of `vocabulary`: counts and numbers of the record, times and speed of committed files.
"""

import csv
import json
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import jinja2

from fairfl.experiments.paper import Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.measurements import (
    CHECKED,
    DIFFER,
    INCONCLUSIVE,
    Count,
    by_tolerance_alone,
    count,
    count_claims,
    measurements,
)
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed_cell
from fairfl.recorded.record import FOLDER, settings
from fairfl.recorded.record import Record as Recorded
from fairfl.reporting.headlines import claims_text, share
from fairfl.reporting.page.text import plain
from fairfl.reporting.reproduction import Reproduction, markdown_table
from fairfl.runtime import tables
from fairfl.runtime.errors import FairflError

BEGIN, END = "<!-- derived", "<!-- end -->"
_BLOCK = re.compile(rf"^{BEGIN}\n(.*?)\n-->\n(?:(?!{BEGIN}).)*?^{END}$", re.M | re.S)
MEASURED = Path("benchmarks/measured")  # committed measurements
OWN = FOLDER / "own"  # tables and figures of experiments of one's own, as CSV


def filled(text: str, names: Mapping[str, Any], file: str) -> str:
    """A page with each block made anew. Raises FairflError if a comment has no end, or names what there is not."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)

    def made(block: re.Match[str]) -> str:
        try:
            made = re.sub(" +$", "", environment.from_string(block[1]).render(names).strip("\n"), flags=re.M)
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            line = text[: block.start()].count("\n") + 1
            raise FairflError(f"{file}: line {line}: the derived text cannot be made: {error}") from error
        return f"{BEGIN}\n{block[1]}\n-->\n{made}\n{END}"

    result, blocks = _BLOCK.subn(made, text)
    marks = re.findall(rf"^{BEGIN}$", text, re.M), re.findall(rf"^{END}$", text, re.M)
    if any(len(each) != blocks for each in marks):
        raise FairflError(f"{file}: each {BEGIN!r} needs a line '-->' and, below what is made, {END!r}")
    return result


def vocabulary(root: Path, reproduction: Reproduction, own: Mapping[str, Paper]) -> dict[str, Any]:
    """What derived texts may name: the public methods of `Said`, `drawn` of experiments of one's `own`, and what
    benchmarks/measured has by file."""

    def drawn(name: str) -> list[dict[str, str]]:
        """The lines of an artifact's CSV, each with the `title` of its algorithm; of claims.csv, with their `text`."""
        paper, _, artifact = name.partition("_")
        described = own[paper]
        with (root / OWN / paper / f"{artifact}.csv").open(encoding="utf-8") as file:
            tables.remarks_of(file)
            lines = list(csv.DictReader(file))
        for line in lines:
            if "algorithm" in line:
                line["title"] = described.algorithms[line["algorithm"]].title
            if "claim" in line:
                stated = described.artifacts[line["artifact"].partition("_")[2]].claims
                line |= next({"text": claim.text} for claim in stated if claim.id == line["claim"])
        return lines

    said = RecordQueries(root, reproduction)
    names = {name: getattr(said, name) for name in vars(RecordQueries) if name[0] != "_"} | {"drawn": drawn}
    return names | {
        path.stem.replace("-", "_"): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted((root / MEASURED).glob("*.json"))
    }


class RecordQueries:
    """What the record says of papers and artifacts, by their names ('fedfv', 'fedfv_table3')."""

    def __init__(self, root: Path, reproduction: Reproduction) -> None:
        self._root, self._all = root, reproduction

    def counted(self, *names: str) -> Count:
        """Numbers of papers (their own artifacts) or of artifacts; of all papers if none is named."""
        return count(self._lines(*names))

    def share(self, *names: str) -> str:
        """'62 %' of what was checked agrees or is close."""
        return share(self.counted(*names))

    def say(self, *names: str) -> str:
        """'Of 65 numbers 62 agree, 1 is close, 2 differ.'; those inconclusive and those not run are said, too."""
        found = self.counted(*names)
        rest = found.published - found.checked
        more = f"; {rest:,} {'was' if rest == 1 else 'were'} not run" if rest else ""
        if found.inconclusive:
            more = f"; {found.inconclusive:,} more {'is' if found.inconclusive == 1 else 'are'} inconclusive{more}"
        if not found.conclusive:
            only = more if found.inconclusive else ""
            return f"None of {found.published:,} numbers has been checked at full scale{only}."
        parts = [f"{found.agree:,} agree{'s' * (found.agree == 1)}"]
        parts += [f"{found.close:,} {'is' if found.close == 1 else 'are'} close"] * bool(found.close)
        parts += [f"{found.differ:,} differ{'s' * (found.differ == 1)}"] * bool(found.differ)
        strictly = (
            f" ({found.strict:,} agree or are close by the strict rule)"
            if found.strict != found.conclusive - found.differ
            else ""
        )
        return f"Of {found.conclusive:,} numbers {', '.join(parts)}{strictly}{more}."

    def rules(self) -> str:
        """A table of the papers' numbers: by their tolerances alone, and with those apart that cannot tell."""
        rows = []
        for name, paper in self._all.papers.items():
            lines = self._lines(name)
            alone, found = count(map(by_tolerance_alone, lines)), count(lines)
            if found.checked:
                before, after = ([of.agree, of.close, of.differ, share(of)] for of in (alone, found))
                before[-1] = share(alone).partition(" (")[0]  # strict verdicts are by this rule
                rows.append([paper.called, *map(str, [*before, *after[:3], found.inconclusive, after[3]])])
        words = ["agree", "close", "differ", "agree or close"]
        here = [*words[:3], "inconclusive", words[3]]
        return markdown_table(["paper", *(f"{word}, by tolerance alone" for word in words), *here], rows).strip()

    def repeated(self) -> str:
        """How often our own runs, repeated with other seeds, fall within the noise that one of them is checked with."""
        return self._all.repeated().strip()

    def beyond(self) -> int:
        """How many inconclusive numbers lie beyond their tolerance."""
        places = measurements(self._lines()).values()
        return sum(one.verdict == INCONCLUSIVE and by_tolerance_alone(one).verdict != "agrees" for one, *_ in places)

    def seeds(self, *names: str) -> str:
        """'73 of 140 rest on one seed where the paper has several.', '' if none does."""
        found = self.counted(*names)
        verb = "rests" if found.one_seed == 1 else "rest"
        return f"{found.one_seed:,} of {found.checked:,} {verb} on one seed." if found.one_seed else ""

    def differing(self, name: str) -> str:
        """'Mean of FedMGDA+ ε = 0.1 (80.70; the paper has 79.33)' of each number of an artifact that differs."""
        paper, _ = self._all.artifacts[name]
        lines = [line for line in self._lines(name) if line.verdict in DIFFER and not line.contradiction]
        return "; ".join(
            f"{self._metric(paper, line.metric)} of {self._variant(paper, line)} "
            f"({self._shown(paper, line, 'ours')}; the paper has {self._shown(paper, line, 'reported')})"
            for line in lines
        )

    def claims(self, *names: str) -> str:
        """'6 supported, 1 inconclusive' of papers or artifacts."""
        return claims_text(count_claims(self._claims(*names)))

    def decided(self, *names: str) -> str:
        """A list of the claims that were checked, with what came out."""
        said = []
        for line in self._claims(*names):
            if line.status in ("supported", "inconclusive", "refuted"):
                _, artifact = self._all.artifacts[line.artifact]
                text = next((claim.text for claim in artifact.claims if claim.id == line.claim), line.claim)
                said.append(f"- {artifact.title}: {plain(text)}: **{line.status}**")
        return "\n".join(said)

    def table(self, name: str, metrics: list[str], rows: list[str] | None = None, setting: str | None = None) -> str:
        """An artifact's numbers, ours and the paper's in brackets; rows as selectors ('fedfv/alpha=0.1'), None: all."""
        paper, artifact = self._all.artifacts[name]
        place = setting or artifact.settings[0]
        lines = {(line.variant, line.metric): line for line in self._all.numbers.get(name, ()) if line.setting == place}
        wanted = (
            [Variant.from_selector(row) for row in rows] if rows else list(dict.fromkeys(each for each, _ in lines))
        )
        titles = {row.variant: row.title for row in artifact.rows if row.title}
        body = []
        for variant in wanted:
            cells = []
            for metric in metrics:
                line = lines.get((variant, metric))
                ours = self._shown(paper, line, "ours") if line else "–"
                theirs = self._shown(paper, line, "reported") if line else "–"
                cells.append(f"{ours} ({theirs})" if line else "–")
            known = next((line for (each, _), line in lines.items() if each == variant), None)
            title = titles.get(variant) or (self._variant(paper, known) if known else str(variant))
            body.append([plain(title), *cells])
        return markdown_table(
            ["ours (the paper's)", *(self._metric(paper, metric) for metric in metrics)], body
        ).strip()

    def number(self, name: str, row: str, metric: str, side: str = "ours") -> str:
        """One number of an artifact as the paper prints such; 'not run' if there is none of ours."""
        variant, (paper, _) = Variant.from_selector(row), self._all.artifacts[name]
        for line in self._all.numbers.get(name, ()):
            if (line.variant, line.metric) == (variant, metric):
                return self._shown(paper, line, side) if getattr(line, side) is not None else "not run"
        raise LookupError(f"{name} has no {metric} of {row}")

    def recorded(self, setting: str) -> dict[str, float]:
        """How many trainings of a setting are recorded, and how many minutes they took on one core."""
        if setting not in settings(self._root / FOLDER):
            return {"trainings": 0, "minutes": 0.0}
        entries = Recorded(setting, self._root / FOLDER).entries()
        jobs = {job: entry for job, entry in entries if job.startswith("train/")}
        return {"trainings": len(jobs), "minutes": sum(entry.origin.seconds for entry in jobs.values()) / 60}

    def paper_rows(self) -> str:
        """The table of README: a line for each paper."""
        return self._all.headlines().strip()

    def status(self) -> str:
        """'27 November 2026, commit 1a2b3c4' of the newest entry of the record."""
        folder = self._root / FOLDER
        newest = max(
            (entry.origin for name in settings(folder) for _, entry in Recorded(name, folder).entries()),
            key=lambda origin: (origin.date, origin.commit),
            default=None,
        )
        if newest is None:
            return "nothing is stored"
        day = date.fromisoformat(newest.date)
        return f"{day.day} {day:%B %Y}" + (f", commit {newest.commit[:7]}" if newest.commit else "")

    def artifacts(self, paper: str | None = None, in_paper: bool = True) -> int:
        """How many tables and figures the papers have, or how many other interpretations of them."""
        return sum(
            artifact.in_paper == in_paper for name, artifact in self._all.artifacts.values() if name == (paper or name)
        )

    def _lines(self, *names: str) -> list[ComparisonLine]:
        return [line for name in names or self._all.papers for line in self._of(name, 0, self._all.numbers)]

    def _claims(self, *names: str) -> list[ClaimLine]:
        return [line for name in names or self._all.papers for line in self._of(name, 1, self._all.claims)]

    def _of(self, name: str, which: int, every: Mapping[str, list[Any]]) -> list[Any]:
        """The numbers (0) or claims (1) of a paper, its own artifacts', or of an artifact."""
        if name in self._all.papers:
            return self._all.counted(name)[which]
        if name not in self._all.artifacts:
            raise LookupError(f"no paper or artifact {name!r}")
        return every.get(name, [])

    def _metric(self, paper: str, name: str) -> str:
        described = metric_of(self._all.papers[paper].metrics, name)
        return plain(described.name) if described else name

    def _variant(self, paper: str, line: ComparisonLine) -> str:
        title = self._all.papers[paper].algorithms[line.algorithm].title
        return plain(Variant.from_csv("", line.hyperparameters).label(title))

    def _shown(self, paper: str, line: ComparisonLine, side: str) -> str:
        digits = digits_of(self._all.papers[paper].metrics)(line.metric)
        missing = DIVERGED if side == "ours" and line.verdict in CHECKED else "–"
        return printed_cell(getattr(line, side), line.unit, digits, missing=missing)
