"""papers/explanations/<paper>.yaml: where our numbers differ from a paper's, what was tried to find out why, and what
remains to ask the authors."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fairfl.experiments.base import DISTINCT, Strict
from fairfl.experiments.paper import Paper
from fairfl.experiments.reading import called_like_file
from fairfl.experiments.strict import load, yaml_files
from fairfl.experiments.variant import Variant, names_of, selected_by
from fairfl.runtime.plain_data import shown
from fairfl.runtime.validation import SpecError, check, nearest

FOLDER = Path("papers/explanations")
MOST_WORDS = 30  # of a conclusion
APART = " / "  # between the values of several metrics


def _check_length(text: str) -> str:
    if (words := len(text.split())) > MOST_WORDS:
        raise ValueError(
            f"{words} words. Expected at most {MOST_WORDS}. Try: numbers as rows of `tried`"
        )
    return text


def _check_question(text: str) -> str:
    if not text.endswith("?") or text.count("?") > 1:
        raise ValueError(f"{shown(text)} is not a question. Expected one sentence that ends in '?'")
    return text


Names = Annotated[list[str], Field(min_length=1), DISTINCT]
Sentence = Annotated[str, Field(min_length=1)]
Words = Annotated[str, Field(min_length=1, max_length=100)]
Value = Annotated[str, Field(min_length=1, max_length=60)]
Question = Annotated[str, AfterValidator(_check_question)]


def family(metric: str) -> str:
    """gap_client_3 -> gap_client_k"""
    return re.sub(r"_\d+$", "_k", metric)


class Trial(Strict):
    """One change that tested a hypothesis, with the numbers before and after it.

    Numbers are texts, so that 0.780 keeps its digits. Several metrics' are joined by ` / `.
    """

    change: Words = Field(description="what was changed, in a few words")
    where: Words = Field(
        description="variant or setting, with the metrics, such as FedAvg (mean / variance)"
    )
    published: Value | None = None
    before: Value | None = Field(None, description="reproduced without the change")
    after: Value | None = Field(None, description="reproduced with the change")
    seeds: int | list[int] | None = Field(
        None, description="ids as a list, or the number of seeds if ids are not noted"
    )

    def values(self) -> list[str]:
        """Published, before and after; – where one is missing."""
        return [value or "–" for value in (self.published, self.before, self.after)]

    @model_validator(mode="after")
    def _check_counts(self) -> Self:
        numbers = {
            key: getattr(self, key)
            for key in ("published", "before", "after")
            if getattr(self, key)
        }
        if not numbers:
            raise ValueError("no number. Expected at least one of published, before, after")
        several = {key: value.count(APART) + 1 for key, value in numbers.items() if APART in value}
        if len(set(several.values())) > 1:
            counts = ", ".join(f"{key} has {many}" for key, many in several.items())
            raise ValueError(
                f"{counts} values. Expected as many in each, joined by {APART!r}. Try: – where one is missing"
            )
        return self


class Explanation(Strict):
    """One hypothesis on why numbers of an artifact or a setting differ, and what became of it."""

    hypothesis: Sentence
    tried: list[Trial] = Field(
        min_length=1, description="what was run or read to test it, the most telling row first"
    )
    conclusion: Annotated[Sentence, AfterValidator(_check_length)] | None = Field(
        None, description="what the rows show beyond their numbers, in at most 30 words"
    )
    outcome: Literal["explained", "unresolved", "fixed"] = Field(
        description="explained: it is the reason; unresolved: it is not, or cannot be decided; fixed: it was the reason"
    )
    algorithms: Names | None = Field(
        None, description="null: all; else algorithms, or variants such as qffl/q=0.1"
    )
    metrics: Names | None = Field(None, description="null: all; else ids such as var_acc")

    def covers(self, variant: Variant, metric: str) -> bool:
        """True if it is about a number of this variant and metric."""
        named = self.algorithms is None or not {variant.algorithm, variant}.isdisjoint(
            map(selected_by, self.algorithms)
        )
        return named and (
            self.metrics is None or not {metric, family(metric)}.isdisjoint(self.metrics)
        )


class Explanations(Strict):
    """papers/explanations/<paper>.yaml."""

    paper: str
    differences: dict[str, Annotated[list[Explanation], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="artifact, such as fedfv_table3, or setting -> what was tried, in the order of trying",
    )
    findings: list[str] = Field(
        default_factory=list,
        description="choices and observations that no table shows, each a few sentences",
    )
    questions: list[Question] = Field(
        default_factory=list,
        max_length=5,
        description="questions to the authors, each one sentence that names the table or section",
    )

    def on(
        self, artifact: str, setting: str, variant: Variant, metric: str
    ) -> Iterator[Explanation]:
        """Attempts to explain a number."""
        for place in (artifact, setting):
            yield from (
                tried for tried in self.differences.get(place, ()) if tried.covers(variant, metric)
            )


def load_explanations(root: Path, papers: Mapping[str, Paper]) -> dict[str, Explanations]:
    """Explanations by paper; an empty one for papers without a file.

    Raises SpecError with file, key, value and the nearest name if a file names a paper, an artifact, a setting, an
    algorithm or a metric that does not exist.
    """
    explanations = {name: Explanations(paper=name) for name in papers}
    for path in yaml_files(root / FOLDER).values():
        file = str(FOLDER / path.name)
        read = called_like_file(check(load(path), Explanations, file), "paper", Path(file))
        if path.stem not in papers:
            raise SpecError(f"{file}: no paper {shown(path.stem)}{nearest(path.stem, papers)}")
        _check_names(file, read, papers[path.stem])
        explanations[path.stem] = read
    return explanations


def _check_names(file: str, read: Explanations, paper: Paper) -> None:
    places = [*(f"{paper.paper}_{key}" for key in paper.artifacts), *paper.settings]
    selectors = names_of(
        row.variant
        for artifact in paper.artifacts.values()
        for setting in artifact.settings
        for row in artifact.variants_in(setting)
    )
    for place, tried in read.differences.items():
        where = f"{file}: differences.{place}"
        if place not in places:
            hint = f"no artifact or setting {shown(place)}{nearest(place, places)}"
            raise SpecError(f"{file}: differences: {hint}")
        for number, one in enumerate(tried):
            for name in one.algorithms or ():
                if selected_by(name) not in selectors:
                    hint = f"no row has {shown(name)}{nearest(name, sorted(selectors.values()))}"
                    raise SpecError(f"{where}.{number}.algorithms: {hint}")
            for name in one.metrics or ():
                if not {name, family(name)} & paper.metrics.keys():
                    hint = f"no metric {shown(name)}{nearest(name, paper.metrics)}"
                    raise SpecError(f"{where}.{number}.metrics: {hint}")
