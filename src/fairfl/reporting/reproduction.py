"""docs/papers/<paper>.md: how well one paper reproduces, on a page of at most 60 lines (page/paper.md.j2).

Made from results/recorded/*.csv, papers/*.yaml and papers/explanations/*.yaml alone.
"""

import math
from collections import Counter
from collections.abc import Iterable

from fairfl.experiments.explanations import Explanations
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED, digits_of, metric_of
from fairfl.judgement.measurements import (
    CHECKED,
    DIFFER,
    Count,
    count,
    count_claims,
    measurements,
)
from fairfl.judgement.recorded import Line
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed_cell
from fairfl.reporting.headlines import claims_text, lines_of
from fairfl.reporting.notes import plural
from fairfl.reporting.page.files import template
from fairfl.reporting.page.text import readable

_GROUPS, _TRIED = 8, 5  # most groups of numbers that differ, and trials
_MOVE_NOTHING = {"evaluate_every", "evaluated_parts", "seeds"}
_NOT_STATED = "not stated: chosen because "


class Reproduction:
    """Everything that the pages say. Other interpretations of a paper (`in_paper: false`) count in no sum."""

    def __init__(
        self,
        papers: dict[str, Paper],
        numbers: list[ComparisonLine],
        claims: list[ClaimLine],
        tried: dict[str, Explanations],
    ) -> None:
        self.papers, self.tried = papers, tried
        self.artifacts: dict[str, tuple[str, Artifact]] = {
            f"{name}_{key}": (name, artifact)
            for name, paper in papers.items()
            for key, artifact in paper.artifacts.items()
        }
        self.numbers, self.claims = _by_artifact(numbers), _by_artifact(claims)

    # -- which numbers -----------------------------------------------------------------------
    def counted(self, *papers: str) -> tuple[list[ComparisonLine], list[ClaimLine]]:
        """Numbers and claims of the papers' own artifacts."""
        own = [name for paper in papers for name in self.artifacts_of(paper)]
        numbers = [line for name in own for line in self.numbers.get(name, ())]
        return numbers, [line for name in own for line in self.claims.get(name, ())]

    def differences(self, *papers: str) -> list[ComparisonLine]:
        """Each number that differs once, worst first: by its difference over its tolerance, diverged runs before
        all."""
        found = measurements(self.counted(*papers or self.papers)[0]).values()
        return sorted(
            (line for line, *_ in found if line.verdict in DIFFER), key=_badness, reverse=True
        )

    def artifacts_of(self, paper: str) -> list[str]:
        """A paper's own artifacts, without other interpretations of it."""
        return [
            name
            for name, (owner, artifact) in self.artifacts.items()
            if owner == paper and artifact.in_paper
        ]

    # -- one paper -----------------------------------------------------------------------------
    def page(self, name: str, status: str) -> str:
        """docs/papers/<paper>.md."""
        paper, differ = self.papers[name], self.differences(name)
        (line,) = lines_of({name: paper}, *self.counted(name))
        return template("paper.md.j2", autoescape=False).render(
            name=name,
            paper=paper,
            status=status,
            line=line,
            tables=self._tables(name),
            differ=differ,
            reached=Counter(map(self._reached, differ)),
            worst=self._worst(paper, differ),
            open=_open(paper),
            tried=self._trials(name),
            explanations=self.tried[name],
        )

    def _tables(self, name: str) -> str:
        """Each artifact that ran; the others by name. A number counts where it is printed first, and is a reprint in
        other places, so that columns add up to the paper's count.
        """
        places = measurements(self.counted(name)[0]).values()
        first = _by_artifact(line for line, *_ in places)
        again = Counter(line.artifact for _, *reprints in places for line in reprints)
        rows: list[list[str]] = []
        rest: list[str] = []
        for artifact in self.artifacts_of(name):
            found = count(first.get(artifact, ()))
            if found.checked or any(
                line.verdict in CHECKED for line in self.numbers.get(artifact, ())
            ):
                claims = claims_text(count_claims(self.claims.get(artifact, ())))
                rows.append([artifact, *_cells(found), f"{again[artifact]:,}", claims])
            elif found.published or again[artifact]:
                rest.append(artifact)
        if rest:
            left = count(line for artifact in rest for line in first.get(artifact, ()))
            names = ", ".join(artifact.removeprefix(f"{name}_") for artifact in rest)
            rows.append(
                [f"not run: {names}", *_cells(left), f"{sum(again[each] for each in rest):,}", ""]
            )
        total = count(self.counted(name)[0])
        rows.append(["all, each number once", *_cells(total), f"{again.total():,}", ""])
        header = [
            "",
            "published",
            "run",
            "agree",
            "close",
            "differ",
            "inconclusive",
            "reprints",
            "claims",
        ]
        return markdown_table(header, rows)

    def _worst(self, paper: Paper, differ: list[ComparisonLine]) -> str:
        """Numbers that differ, by artifact, setting, metric and cause: the largest groups, of each the worst number."""
        groups: dict[tuple[str, ...], list[ComparisonLine]] = {}
        for line in differ:
            key = (line.artifact, line.setting, line.metric, self._reached(line))
            groups.setdefault(key, []).append(line)
        largest = sorted(groups.values(), key=len, reverse=True)
        header = [
            "where",
            "metric",
            "numbers",
            "the worst of them",
            "published",
            "reproduced",
            "tolerance",
            "seeds",
            "reason",
        ]
        rows = [self._differing(paper, group) for group in largest[:_GROUPS]]
        if more := sum(map(len, largest[_GROUPS:])):
            rows.append([f"{len(largest) - _GROUPS} other groups", "", str(more), *[""] * 6])
        return markdown_table(header, rows)

    def _differing(self, paper: Paper, group: list[ComparisonLine]) -> list[str]:
        """Cells of a group of numbers that differ, the worst first."""
        line = group[0]
        digits, metric = (
            digits_of(paper.metrics)(line.metric),
            metric_of(paper.metrics, line.metric),
        )
        title = line.variant.label(paper.algorithms[line.algorithm].title)
        ours_std = line.ours_std if line.seeds != 1 else None
        apart = line.tolerance is not None and line.difference is not None
        setting = line.setting.removeprefix(f"{paper.paper}_")
        several = len(self.artifacts[line.artifact][1].settings) > 1
        sides = ((line.reported, line.reported_spread), (line.ours, ours_std))
        return [
            f"{line.artifact} ({setting})" if several else line.artifact,
            readable(metric.name) if metric else line.metric,
            str(len(group)),
            readable(title),
            *(
                printed_cell(value, line.unit, digits, spread, missing=DIVERGED)
                for value, spread in sides
            ),
            f"{line.tolerance:.3g}" if apart else "–",
            str(line.seeds),
            self._reached(line) or "nothing tried yet",
        ]

    def _reached(self, line: ComparisonLine) -> str:
        """'explained' if anything explains a number that differs, 'unresolved' if something was tried, else ''."""
        explanations = self.tried[self.artifacts[line.artifact][0]]
        outcomes = {
            one.outcome
            for one in explanations.on(line.artifact, line.setting, line.variant, line.metric)
        }
        return "explained" if "explained" in outcomes else "unresolved" if outcomes else ""

    def _trials(self, name: str) -> str:
        """A table of what was tried: the first rows of hypotheses that led to something come first."""
        hypotheses = [
            (place, one) for place, some in self.tried[name].differences.items() for one in some
        ]
        rows = []
        for place, one in sorted(hypotheses, key=lambda each: each[1].outcome):
            for number, trial in enumerate(one.tried):
                where = f"{place.removeprefix(f'{name}_')}: {trial.where}"
                rows.append((number, [trial.change, where, *trial.values(), one.outcome]))
        shown = [row for _, row in sorted(rows, key=lambda row: row[0])]
        header = ["change", "where", "published", "before", "after", "outcome"]
        if more := len(shown[_TRIED:]):
            shown[_TRIED:] = [[f"{more} more rows: `papers/explanations/{name}.yaml`", *[""] * 5]]
        return markdown_table(header, shown) if shown else ""


def _open(paper: Paper) -> list[str]:
    """What the text does not state and moves numbers: what concerns most settings first."""
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
    first = [f"Searched on FedAvg's row ({where}): {facts}"] if facts else []
    return first + [
        f"`{key}` ({plural(many, 'setting')}): {why}" for (key, why), many in chosen.most_common()
    ]


def _by_artifact(lines: Iterable[Line]) -> dict[str, list[Line]]:
    groups: dict[str, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.artifact, []).append(line)
    return groups


def _badness(line: ComparisonLine) -> float:
    """Difference over tolerance; infinite for runs that diverged and where nothing may differ."""
    return (
        abs(line.difference) / line.tolerance
        if line.difference is not None and line.tolerance
        else math.inf
    )


def _cells(found: Count) -> list[str]:
    numbers = (
        found.published,
        found.checked,
        found.agree,
        found.close,
        found.differ,
        found.inconclusive,
    )
    return [f"{number:,}" for number in numbers]


def markdown_table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )
