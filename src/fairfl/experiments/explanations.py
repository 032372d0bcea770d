"""papers/explanations/<paper>.yaml: where our numbers differ from a paper's, what was tried to find out why."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fairfl.experiments.base import DISTINCT, Strict
from fairfl.experiments.paper import Paper
from fairfl.experiments.strict import load, yaml_files
from fairfl.experiments.variant import Variant
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain import shown
from fairfl.runtime.validation import SpecError, check, nearest

FOLDER = Path("papers/explanations")
Names = Annotated[list[str], Field(min_length=1), DISTINCT]
Sentence = Annotated[str, Field(min_length=1)]


def family(metric: str) -> str:
    """gap_client_3 -> gap_client_k"""
    return re.sub(r"_\d+$", "_k", metric)


def _selects(text: str, variant: Variant) -> bool:
    """True if `text` is the variant's algorithm, or the variant. Raises FairflError if it can be neither."""
    return text == variant.algorithm or ("/" in text and Variant.from_selector(text) == variant)


class Explanation(Strict):
    """One hypothesis on why numbers of an artifact or a setting differ, and what became of it."""

    hypothesis: Sentence
    evidence: Sentence = Field(description="what was run or read to test it, and what came out")
    outcome: Literal["explained", "open", "mended"] = Field(
        description="explained: it is the reason; open: it is not, or cannot be told; mended: it was, and is put right"
    )
    algorithms: Names | None = Field(None, description="null: all; else algorithms, or variants such as qffl/q=0.1")
    metrics: Names | None = Field(None, description="null: all; else ids such as var_acc")

    def covers(self, variant: Variant, metric: str) -> bool:
        """True if it is about a number of this variant and metric."""
        named = self.algorithms is None or any(_selects(text, variant) for text in self.algorithms)
        return named and (self.metrics is None or not {metric, family(metric)}.isdisjoint(self.metrics))


class Explanations(Strict):
    """papers/explanations/<paper>.yaml."""

    paper: str
    differences: dict[str, Annotated[list[Explanation], Field(min_length=1)]] = Field(
        description="artifact, such as fedfv_table3, or setting -> what was tried, in the order of trying"
    )

    def on(self, artifact: str, setting: str, variant: Variant, metric: str) -> Iterator[Explanation]:
        """What was tried to explain a number."""
        for place in (artifact, setting):
            yield from (tried for tried in self.differences.get(place, ()) if tried.covers(variant, metric))


def load_explanations(root: Path, papers: Mapping[str, Paper]) -> dict[str, Explanations]:
    """What was tried, by paper; an empty one for papers without a file.

    Raises SpecError with file, key, value and the nearest name if a file names a paper, an artifact, a setting, an
    algorithm or a metric that does not exist.
    """
    found = {name: Explanations(paper=name, differences={}) for name in papers}
    for path in yaml_files(root / FOLDER).values():
        file = str(FOLDER / path.name)
        read = check(load(path), Explanations, file)
        if path.stem not in papers:
            raise SpecError(f"{file}: no paper {shown(path.stem)}{nearest(path.stem, papers)}")
        if read.paper != path.stem:
            raise SpecError(f"{file}: paper: {shown(read.paper)} must equal the file's name {path.stem!r}")
        _check_names(file, read, papers[path.stem])
        found[path.stem] = read
    return found


def _check_names(file: str, read: Explanations, paper: Paper) -> None:
    places = [*(f"{paper.paper}_{key}" for key in paper.artifacts), *paper.settings]
    variants = {
        row.variant
        for artifact in paper.artifacts.values()
        for setting in artifact.settings
        for row in artifact.variants_in(setting)
    }
    known = sorted({name for variant in variants for name in (variant.algorithm, variant.selector)})
    for place, tried in read.differences.items():
        where = f"{file}: differences.{place}"
        if place not in places:
            raise SpecError(f"{file}: differences: no artifact or setting {shown(place)}{nearest(place, places)}")
        for number, one in enumerate(tried):
            for name in one.algorithms or ():
                if not _named(name, variants):
                    raise SpecError(f"{where}.{number}.algorithms: no row has {shown(name)}{nearest(name, known)}")
            for name in one.metrics or ():
                if not {name, family(name)} & paper.metrics.keys():
                    raise SpecError(f"{where}.{number}.metrics: no metric {shown(name)}{nearest(name, paper.metrics)}")


def _named(text: str, variants: Iterable[Variant]) -> bool:
    try:
        return any(_selects(text, variant) for variant in variants)
    except FairflError:
        return False
