"""docs/papers/<paper>.md: how well one paper reproduces, on a page of at most 60 lines (paper.md.j2).

Made from results/recorded/*.csv, papers/*.yaml and papers/explanations/*.yaml alone.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from fairfl.experiments.config import VerdictConfig
from fairfl.experiments.explanations import Explanations
from fairfl.experiments.paper import Artifact, Paper
from fairfl.judgement.cells import DIVERGED, Cells, digits_of, metric_of
from fairfl.judgement.headlines import self_consistency
from fairfl.judgement.measurements import DIFFER, Count, count, count_claims, measurements
from fairfl.judgement.recorded import Line
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed_cell
from fairfl.reporting.headlines import claims_text, lines_of, with_itself
from fairfl.reporting.notes import plural
from fairfl.reporting.page.text import readable

_TABLES, _WORST, _TRIED = 5, 6, 5  # most artifacts, numbers and trials
_MOVE_NOTHING = {"evaluate_every", "evaluated_parts", "seeds"}
_NOT_STATED = "not stated: chosen because "
_VERBS = {"partly tested": "has been tested in part", "not tested": "has not been tested"}


class Reproduction:
    """Everything that the pages say. Other interpretations of a paper (`in_paper: false`) count in no sum."""

    def __init__(
        self,
        papers: dict[str, Paper],
        numbers: list[ComparisonLine],
        claims: list[ClaimLine],
        tried: dict[str, Explanations],
        reported: Mapping[str, Cells],
    ) -> None:
        self.papers, self.tried, self.reported = papers, tried, reported
        self.artifacts: dict[str, tuple[str, Artifact]] = {
            f"{name}_{key}": (name, artifact)
            for name, paper in papers.items()
            for key, artifact in paper.artifacts.items()
        }
        self.numbers, self.claims = _by_artifact(numbers), _by_artifact(claims)

    # -- which numbers -----------------------------------------------------------------------
    def counted(self, *papers: str) -> tuple[list[ComparisonLine], list[ClaimLine]]:
        """Numbers and claims of the papers' own artifacts."""
        own = [name for paper in papers for name in self._own(paper)]
        numbers = [line for name in own for line in self.numbers.get(name, ())]
        return numbers, [line for name in own for line in self.claims.get(name, ())]

    def differences(self, *papers: str) -> list[ComparisonLine]:
        """Each number that differs once, worst first: by its difference over its tolerance, diverged runs before
        all."""
        found = measurements(self.counted(*papers or self.papers)[0]).values()
        return sorted(
            (line for line, *_ in found if line.verdict in DIFFER), key=_badness, reverse=True
        )

    def _own(self, paper: str) -> list[str]:
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
        return _template().render(
            name=name,
            paper=paper,
            status=status,
            line=line,
            verb=_VERBS.get(line.verdict, line.verdict),
            reprints=with_itself(self_consistency(name, paper, self.reported, VerdictConfig())),
            tables=self._tables(name),
            differ=differ,
            reached=Counter(map(self._reached, differ)),
            worst=self._worst(paper, differ[:_WORST]),
            open=_open(paper),
            tried=self._trials(name),
            questions=self.tried[name].questions,
        )

    def _tables(self, name: str) -> str:
        """The artifacts with most numbers that ran, and the others in one line."""
        counts = {artifact: count(self.numbers.get(artifact, ())) for artifact in self._own(name)}
        ran = sorted(
            (each for each in counts if counts[each].checked),
            key=lambda each: -counts[each].checked,
        )
        shown = ran[:_TABLES]
        rows: list[list[str]] = []
        rest: list[ComparisonLine] = []
        for artifact, found in counts.items():
            if artifact in shown:
                claims = claims_text(count_claims(self.claims.get(artifact, ())))
                rows.append([artifact, *_cells(found), claims])
            else:
                rest += self.numbers.get(artifact, ())
        if rest:
            others = f"{len(counts) - len(shown)} {'others' if shown else 'not run'}"
            rows.append([others, *_cells(count(rest)), ""])
        header = ["published", "checked", "agree", "close", "differ", "inconclusive", "claims"]
        return markdown_table(["", *header], rows)

    def _worst(self, paper: Paper, differ: list[ComparisonLine]) -> str:
        """The numbers that are farthest off."""
        header = [
            "where",
            "variant",
            "metric",
            "published",
            "reproduced",
            "tolerance",
            "seeds",
            "reason",
        ]
        return markdown_table(header, [self._differing(paper, line) for line in differ])

    def _differing(self, paper: Paper, line: ComparisonLine) -> list[str]:
        """Cells of a number that is off."""
        digits, metric = (
            digits_of(paper.metrics)(line.metric),
            metric_of(paper.metrics, line.metric),
        )
        title = line.variant.label(paper.algorithms[line.algorithm].title)
        ours_std = line.ours_std if line.seeds != 1 else None
        apart = line.tolerance is not None and line.difference is not None
        return [
            line.artifact,
            readable(title),
            readable(metric.name) if metric else line.metric,
            *(
                printed_cell(value, line.unit, digits, spread, missing=DIVERGED)
                for value, spread in (
                    (line.reported, line.reported_spread),
                    (line.ours, ours_std),
                )
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


def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["plain"] = readable
    return environment.get_template("paper.md.j2")


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
    first = (
        [f"Searched on FedAvg's row ([Calibration](../running.md#calibration)): {facts}"]
        if facts
        else []
    )
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
