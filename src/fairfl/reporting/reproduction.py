"""docs/papers/<paper>.md: how well one paper reproduces, on a page of at most 60 lines.

Made from results/recorded/*.csv, papers/*.yaml and papers/explanations/*.yaml alone.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from fairfl.experiments.config import VerdictConfig
from fairfl.experiments.explanations import Explanation, Explanations
from fairfl.experiments.paper import Artifact, Paper
from fairfl.experiments.variant import Variant
from fairfl.judgement.cells import DIVERGED, Cells, digits_of, metric_of
from fairfl.judgement.headlines import self_consistency
from fairfl.judgement.measurements import DIFFER, Count, count, count_claims, measurements
from fairfl.judgement.recorded import Line
from fairfl.judgement.rows import ClaimLine, ComparisonLine
from fairfl.judgement.units import printed_cell
from fairfl.reporting.headlines import COLUMNS, claims_text, lines_of, share_of_enough, with_itself, word_for
from fairfl.reporting.page.text import plain

LONGEST = 60  # lines of a page
_TABLES, _WORST, _OPEN = 6, 6, 3  # most artifacts and numbers; facts that the paper leaves open, at least
_OUTCOMES = ("explained", "fixed", "unresolved")
_TRIED = ["change", "where", "published", "before", "after", "outcome"]
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
        reported: Mapping[str, Cells],
    ) -> None:
        self.papers, self.tried, self.reported = papers, tried, reported
        self.artifacts: dict[str, tuple[str, Artifact]] = {
            f"{name}_{key}": (name, artifact)
            for name, paper in papers.items()
            for key, artifact in paper.artifacts.items()
        }
        self.numbers = _by_artifact(numbers, self.artifacts)
        self.claims = _by_artifact(claims, self.artifacts)

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
        return sorted((line for line, *_ in found if line.verdict in DIFFER), key=_badness, reverse=True)

    def _own(self, paper: str) -> list[str]:
        return [name for name, (owner, artifact) in self.artifacts.items() if owner == paper and artifact.in_paper]

    def _tried_on(self, line: ComparisonLine) -> list[Explanation]:
        """Hypotheses on a number."""
        explanations = self.tried[self.artifacts[line.artifact][0]]
        return list(explanations.on(line.artifact, line.setting, line.variant, line.metric))

    # -- all papers ----------------------------------------------------------------------------
    def repeated(self) -> str:
        """Whether our own runs, repeated with other seeds, fall within the noise that one of them is checked with."""
        found = [(self.papers[name].called, count(self.counted(name)[0])) for name in self.papers]
        parts = [
            f"{called} {100 * of.pairs_within / of.pairs:.0f} % of {of.pairs:,}" for called, of in found if of.pairs
        ]
        pairs, within = (sum(getattr(of, name) for _, of in found) for name in ("pairs", "pairs_within"))
        if not pairs:
            return "No number has several seeds and a noise that one is checked with."
        return (
            f"Of {pairs:,} pairs of a number's first seed and another, checked as if the first were alone, "
            f"{100 * within / pairs:.0f} % are within its noise ({', '.join(parts)}). "
            f"{100 * (1 - VerdictConfig().significance_level):.0f} % would be if the tolerances were right."
        )

    def headlines(self) -> str:
        """A line for each paper: does it reproduce?"""
        lines = lines_of(self.papers, *self.counted(*self.papers))
        return markdown_table(list(COLUMNS), (line.cells for line in lines))

    # -- one paper -----------------------------------------------------------------------------
    def page(self, name: str, status: str) -> str:
        """docs/papers/<paper>.md. Trials get the lines that the other sections leave."""
        sections = [self._result(name, status), self._claim(name), self._tables(name), self._differing(name)]
        below = [self._questions(name), _bibtex(name, self.papers[name])]
        trials = sum(len(one.tried) for _, one in self._hypotheses(name))
        left = LONGEST - _joined([*sections, *below]).count("\n")
        opened = self._open(name, max(_OPEN, left - trials - 6))
        return _joined([*sections, opened, self._tried(name, left - (len(opened) + 1) * bool(opened) - 1), *below])

    def _result(self, name: str, status: str) -> list[str]:
        paper, found = self.papers[name], count(self.counted(name)[0])
        told = (
            f" Of {found.conclusive:,} that can be distinguished from noise, "
            f"{share_of_enough(found)} agree or are close; "
            f"{found.inconclusive:,} are [inconclusive](../numbers.md#verdicts), {found.one_seed:,} rest "
            "on a single seed."
        )
        return [
            f"# {paper.called}",
            "<!-- made by `make report`, do not edit -->",
            "",
            f"**{paper.called} {_VERBS[word_for(found)]}** ({status}): "
            f"{found.checked:,} of {found.published:,} published "
            f"numbers have been checked at full scale.{told * bool(found.checked)}",
        ]

    def _claim(self, name: str) -> list[str]:
        paper = self.papers[name]
        (line,) = lines_of({name: paper}, *self.counted(name))
        said = f": {' '.join(paper.headline.source.split())}" if paper.headline else ""
        reprints = with_itself(self_consistency(name, paper, self.reported, VerdictConfig()))
        return [
            "## Main claim",
            f"- {plain(paper.title)}{said}",
            f"- **Published:** {line.main}: {line.published}",
            f"- **Reproduced:** {line.reproduced}",
            f"- **Claims:** {line.claims}. The paper with itself: {reprints}.",
        ]

    def _tables(self, name: str) -> list[str]:
        """The artifacts with most numbers that ran, and the others in one line."""
        counts = {artifact: count(self.numbers.get(artifact, ())) for artifact in self._own(name)}
        shown = sorted(
            (each for each, found in counts.items() if found.checked), key=lambda each: -counts[each].checked
        )
        shown = shown[: _TABLES - 1]
        rows = [
            [artifact, *_cells(found), claims_text(count_claims(self.claims.get(artifact, ())))]
            for artifact, found in counts.items()
            if artifact in shown
        ]
        if rest := [found for artifact, found in counts.items() if artifact not in shown]:
            every = [_cells(found) for found in rest]
            sums = [f"{sum(int(cells[at].replace(',', '')) for cells in every):,}" for at in range(len(every[0]))]
            rows.append([f"{len(rest)} {'others' if shown else 'not run'}", *sums, ""])
        header = ["", "published", "checked", "agree", "close", "differ", "inconclusive", "claims"]
        return ["## Tables and figures", *markdown_table(header, rows).splitlines()]

    def _differing(self, name: str) -> list[str]:
        differ = self.differences(name)
        if not differ:
            return []
        reached = Counter(_reached(self._tried_on(line)) for line in differ)
        header = ["where", "variant", "metric", "published", "reproduced", "tolerance", "seeds", "reason"]
        return [
            "## What differs",
            f"{len(differ):,} numbers differ (explained: {reached['explained']:,}; something was tried: "
            f"{reached['unresolved']:,}; openly unexplained: {reached['']:,}). The worst are below; all are in "
            "`results/recorded/differences.csv`.\n",
            *markdown_table(header, map(self._difference, differ[:_WORST])).splitlines(),
        ]

    def _difference(self, line: ComparisonLine) -> list[str]:
        paper = self.papers[self.artifacts[line.artifact][0]]
        digits, unit = digits_of(paper.metrics)(line.metric), line.unit
        described, title = metric_of(paper.metrics, line.metric), line.algorithm
        if title in paper.algorithms:
            title = paper.algorithms[title].title
        sides = ((line.reported, line.reported_spread), (line.ours, line.ours_std if line.seeds != 1 else None))
        numbers = [printed_cell(value, unit, digits, spread, missing=DIVERGED) for value, spread in sides]
        return [
            line.artifact,
            plain(Variant.from_csv("", line.hyperparameters).label(title)),
            plain(described.name) if described else line.metric,
            *numbers,
            "–" if line.tolerance is None or line.difference is None else f"{line.tolerance:.3g}",
            str(line.seeds),
            _reached(self._tried_on(line)) or "nothing tried yet",
        ]

    def _open(self, name: str, room: int) -> list[str]:
        """What the text does not state and moves numbers, in `room` lines: what concerns most settings first."""
        settings = self.papers[name].settings.values()
        chosen = Counter(
            (key, " ".join(text.removeprefix(_NOT_STATED).split()))
            for setting in settings
            for key, text in setting.sources.items()
            if text.startswith(_NOT_STATED) and key not in _MOVE_NOTHING
        )
        lines = [f"- `{key}` ({_settings(many)}): {why}" for (key, why), many in chosen.most_common()]
        searched = sorted({fact for setting in settings if setting.unstated for fact in setting.unstated.facts})
        if searched:
            facts = ", ".join(f"`{fact}`" for fact in searched)
            lines.insert(0, f"- Searched on FedAvg's row ([Calibration](../running.md#calibration)): {facts}")
        return [
            "## What the paper leaves open",
            *_shortened(lines, room, f"`papers/{name}.yaml` (`not stated`)"),
        ] if lines else []  # fmt: skip

    def _tried(self, name: str, room: int) -> list[str]:
        """A table of what was tried, in `room` lines with its heading: first rows of hypotheses before others."""
        hypotheses = self._telling_first(name)
        rows = [
            [trial.change, f"{place.removeprefix(f'{name}_')}: {trial.where}", *trial.values(), one.outcome]
            for number in range(max((len(one.tried) for _, one in hypotheses), default=0))
            for place, one in hypotheses
            for trial in one.tried[number : number + 1]
        ]
        if not rows:
            return []
        if len(rows) > (most := room - 3):  # without the heading and the head of the table
            more = f"{len(rows) - most + 1} more rows: `papers/explanations/{name}.yaml`"
            rows[most - 1 :] = [[more, *[""] * (len(_TRIED) - 1)]]
        return ["## What was tried on what differs", *markdown_table(_TRIED, rows).splitlines()]

    def _telling_first(self, name: str) -> list[tuple[str, Explanation]]:
        """Hypotheses with their place: by outcome, then by how many differing numbers only they are about so far."""
        left, seen, ordered = [], set[int](), []
        for place, one in self._hypotheses(name):
            about = {
                number
                for number, line in enumerate(self.differences(name))
                if place in (line.artifact, line.setting) and one.covers(line.variant, line.metric)
            }
            left.append((place, one, about))
        while left:
            left.sort(key=lambda each: (_OUTCOMES.index(each[1].outcome), -len(each[2] - seen)))
            place, one, about = left.pop(0)
            seen |= about
            ordered.append((place, one))
        return ordered

    def _hypotheses(self, name: str) -> Iterator[tuple[str, Explanation]]:
        return ((place, one) for place, some in self.tried[name].differences.items() for one in some)

    def _questions(self, name: str) -> list[str]:
        asked = self.tried[name].questions
        numbered = (f"{number}. {' '.join(text.split())}" for number, text in enumerate(asked, 1))
        return ["## Questions to the authors", *numbered] if asked else []


_VERBS = {
    "reproduces": "reproduces",
    "partly tested": "has been tested in part",
    "not tested": "has not been tested",
}


def _joined(sections: Iterable[list[str]]) -> str:
    """Markdown of sections, an empty line between two; sections without lines are left out."""
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _by_artifact(lines: Iterable[Line], known: dict[str, tuple[str, Artifact]]) -> dict[str, list[Line]]:
    """Rows of artifacts that there are."""
    groups = {name: list(group) for name, group in groupby(lines, key=lambda line: line.artifact)}
    return {name: groups[name] for name in known if name in groups}


def _badness(line: ComparisonLine) -> float:
    """Difference over tolerance; infinite for runs that diverged and where nothing may differ."""
    return abs(line.difference) / line.tolerance if line.difference is not None and line.tolerance else math.inf


def _cells(found: Count) -> list[str]:
    numbers = found.published, found.checked, found.agree, found.close, found.differ, found.inconclusive
    return [f"{number:,}" for number in numbers]


def _reached(tried: list[Explanation]) -> str:
    """'explained' if anything explains a number that differs, 'unresolved' if something was tried, else ''."""
    return "explained" if any(one.outcome == "explained" for one in tried) else "unresolved" if tried else ""


def _settings(many: int) -> str:
    return "1 setting" if many == 1 else f"{many} settings"


def _shortened(lines: list[str], most: int, where: str) -> Iterator[str]:
    """The first lines, and where the others are."""
    if len(lines) <= most:
        yield from lines
    else:
        yield from lines[: most - 1]
        yield f"- {len(lines) - most + 1} more: {where}"


def _bibtex(name: str, paper: Paper) -> list[str]:
    authors = paper.citation.partition(".")[0].replace(", ", " and ")
    fields = {"author": authors, "title": paper.title, "eprint": paper.arxiv or "", "archivePrefix": "arXiv"}
    entry = ", ".join(f"{key} = {{{value}}}" for key, value in fields.items() if value)
    return ["## Citation", "```bibtex", f"@misc{{{name}, {entry}}}", "```"]


def markdown_table(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
