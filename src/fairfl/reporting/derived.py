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
from fairfl.judgement.cells import digits_of
from fairfl.judgement.measurements import (
    Count,
    count,
)
from fairfl.judgement.rows import ComparisonLine
from fairfl.judgement.units import printed_cell
from fairfl.recorded.record import FOLDER, settings
from fairfl.recorded.record import Record as Recorded
from fairfl.reporting.headlines import COLUMNS, lines_of, share
from fairfl.reporting.reproduction import Reproduction, markdown_table
from fairfl.reporting.tables.markup import MARKDOWN
from fairfl.reporting.tables.side_by_side import beside
from fairfl.runtime.errors import FairflError
from fairfl.values import tables

BEGIN, END = "<!-- derived", "<!-- end -->"
_BLOCK = re.compile(rf"^{BEGIN}\n(.*?)\n-->\n(?:(?!{BEGIN}).)*?^{END}$", re.M | re.S)
MEASURED = ("benchmarks/measured", "benchmarks/results")  # committed measurements
OWN = FOLDER / "own"  # tables and figures of experiments of one's own, as CSV


def filled(text: str, names: Mapping[str, Any], file: str) -> str:
    """A page with each block rebuilt. Raises FairflError if a comment has no end, or names what there is not."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )

    def made(block: re.Match[str]) -> str:
        try:
            made = re.sub(
                " +$", "", environment.from_string(block[1]).render(names).strip("\n"), flags=re.M
            )
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            line = text[: block.start()].count("\n") + 1
            raise FairflError(
                f"{file}: line {line}: the derived text cannot be made: {error}"
            ) from error
        return f"{BEGIN}\n{block[1]}\n-->\n{made}\n{END}"

    result, blocks = _BLOCK.subn(made, text)
    marks = re.findall(rf"^{BEGIN}$", text, re.M), re.findall(rf"^{END}$", text, re.M)
    if any(len(each) != blocks for each in marks):
        raise FairflError(
            f"{file}: each {BEGIN!r} needs a line '-->' and, below what is made, {END!r}"
        )
    return result


def vocabulary(root: Path, reproduction: Reproduction, own: Mapping[str, Paper]) -> dict[str, Any]:
    """What derived texts may name: the public methods of `Said`, `drawn` of experiments of one's `own`, and what
    the folders of MEASURED have by file."""

    def drawn(name: str) -> list[dict[str, str]]:
        """The lines of an artifact's CSV, each with the `title` of its algorithm; of claims.csv, with their `text`."""
        paper, _, artifact = name.partition("_")
        described = own[paper]
        with (root / OWN / paper / f"{artifact}.csv").open(encoding="utf-8") as file:
            tables.remarks_of(file)
            lines = list(csv.DictReader(file))
        for line in lines:
            if "claim" in line:
                stated = described.artifacts[line["artifact"].partition("_")[2]].claims
                line["text"] = next(claim.text for claim in stated if claim.id == line["claim"])
            elif "algorithm" in line:
                line["title"] = described.algorithms[line["algorithm"]].title
        return lines

    said = RecordQueries(root, reproduction)
    names = {name: getattr(said, name) for name in vars(RecordQueries) if name[0] != "_"} | {
        "drawn": drawn
    }
    return names | {
        path.stem.replace("-", "_"): json.loads(path.read_text(encoding="utf-8"))
        for folder in MEASURED
        for path in sorted((root / folder).glob("*.json"))
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
        """'Of 65 numbers 62 have been checked at full scale: 56 agree, 1 close, 2 differ, 3 inconclusive.'"""
        found = self.counted(*names)
        counts = f"{found.agree:,} agree, {found.close:,} close, {found.differ:,} differ"
        checked = f"{found.checked:,} have been checked at full scale"
        return f"Of {found.published:,} numbers {checked}: {counts}, {found.inconclusive:,} inconclusive."

    def table(self, name: str, metrics: list[str], rows: list[str]) -> str:
        """Some numbers of an artifact beside the paper's, in its layout; rows as selectors ('fedfv/alpha=0.1')."""
        paper, artifact = self._all.artifacts[name]
        described, variants = self._all.papers[paper], list(map(Variant.from_selector, rows))
        lines = [
            one for one in self._lines(name) if one.variant in variants and one.metric in metrics
        ]
        if len(lines) != len(metrics) * len(rows):
            raise LookupError(f"{name} has not all of {metrics} of {rows}")
        tables, sentences = beside(lines, artifact, described, described.settings)
        return "\n\n".join([*tables[MARKDOWN], " ".join(sentences)])

    def number(self, name: str, row: str, metric: str, side: str = "ours") -> str:
        """One number of an artifact as the paper prints such; 'not run' if there is none."""
        variant, (paper, _) = Variant.from_selector(row), self._all.artifacts[name]
        for line in self._all.numbers.get(name, ()):
            if (line.variant, line.metric) == (variant, metric):
                digits = digits_of(self._all.papers[paper].metrics)(metric)
                return printed_cell(getattr(line, side), line.unit, digits, missing="not run")
        raise LookupError(f"{name} has no {metric} of {row}")

    def recorded(self, setting: str) -> dict[str, float]:
        """How many trainings of a setting are recorded, and how many minutes they took on one core."""
        stored = setting in settings(self._root / FOLDER)
        entries = Recorded(setting, self._root / FOLDER).entries() if stored else []
        seconds = [entry.origin.seconds for job, entry in entries if job.startswith("train/")]
        return {"trainings": len(seconds), "minutes": sum(seconds) / 60}

    def paper_rows(self) -> str:
        """The table of README: a line for each paper, does it reproduce?"""
        lines = lines_of(self._all.papers, *self._all.counted(*self._all.papers))
        return markdown_table(list(COLUMNS), (line.cells for line in lines)).strip()

    def status(self) -> str:
        """'27 November 2026', the day of the newest entry of the record."""
        folder = self._root / FOLDER
        days = [
            entry.origin.date
            for name in settings(folder)
            for _, entry in Recorded(name, folder).entries()
        ]
        if not days:
            return "nothing is stored"
        day = date.fromisoformat(max(days))
        return f"{day.day} {day:%B %Y}"

    def artifacts(self, in_paper: bool = True) -> int:
        """How many tables and figures the papers have, or how many other interpretations of them."""
        return sum(artifact.in_paper == in_paper for _, artifact in self._all.artifacts.values())

    def _lines(self, *names: str) -> list[ComparisonLine]:
        """The numbers of papers, their own artifacts', or of artifacts; of all papers if none is named."""
        lines = []
        for name in names or self._all.papers:
            if name not in self._all.papers and name not in self._all.artifacts:
                raise LookupError(f"no paper or artifact {name!r}")
            lines += (
                self._all.counted(name)[0]
                if name in self._all.papers
                else self._all.numbers.get(name, [])
            )
        return lines
