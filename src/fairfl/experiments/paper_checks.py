"""What a paper says in one place and names in another, compared with each other."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from fairfl.experiments.setting import SOURCED, Setting
from fairfl.runtime.validation import nearest

if TYPE_CHECKING:
    from fairfl.experiments.paper import Paper


def check_sources(paper: "Paper") -> None:
    """Raises ValueError unless each value of a quoted paper has a source, and each claim a reference."""
    if paper.sources == "own":
        return
    missing = [(f"no {key}", [""]) for key in ("citation", "arxiv") if not getattr(paper, key)]
    for name, algorithm in paper.algorithms.items():
        bare = sorted({*algorithm.defaults, *algorithm.grid} - algorithm.sources.keys())
        missing.append((f"algorithms.{name}: no source for ", bare))
    for name, setting in paper.settings.items():
        bare = [key for key in SOURCED if key not in setting.sources]
        missing.append((f"settings.{name}: no source for ", bare))
    for name, artifact in paper.artifacts.items():
        bare = [claim.id for claim in artifact.claims if "reference" not in claim.model_fields_set]
        missing.append((f"artifacts.{name}: no reference for claim ", bare))
    if faults := [what + ", ".join(keys) for what, keys in missing if keys]:
        raise ValueError(
            f"{'; '.join(faults)}. `sources: own` is for an experiment of your own, which needs none"
        )


def check_names(paper: "Paper") -> None:
    """Raises ValueError if a part of the paper names what there is not, or two parts have one name."""
    for where, name, valid in _names(paper):
        if name not in valid:
            described = f"{name}: {{name: ..., meaning: ..., unit: ..., digits: 2}}"
            hint = f". Describe it under `metrics`: {described}" if valid is paper.metrics else ""
            raise ValueError(f"{where}: unknown {name!r}{nearest(name, valid)}{hint}")
    for name, artifact in paper.artifacts.items():
        if len({claim.id for claim in artifact.claims}) < len(artifact.claims):
            raise ValueError(f"artifacts.{name}: two claims share an id")
    if len({relation.id for relation in paper.consistency}) < len(paper.consistency):
        raise ValueError("consistency: two relations share an id")


def _names(paper: "Paper") -> Iterator[tuple[str, str, Collection[str]]]:
    """(where, name, valid names) of each name that a part of the paper gives of another."""
    for key, artifact in paper.artifacts.items():
        for row in filter(None, [*artifact.rows, artifact.baseline]):
            yield f"artifacts.{key}: rows: algorithm", row.algorithm, paper.algorithms
        for metric in artifact.columns:
            yield f"artifacts.{key}.columns: metric", metric, paper.metrics
    if paper.headline:
        yield "headline.setting", paper.headline.setting, paper.settings
        yield "headline.method", paper.headline.method.algorithm, paper.algorithms
        yield "headline.baseline", paper.headline.baseline.algorithm, paper.algorithms
        yield "headline.fairness", paper.headline.fairness, paper.metrics
        yield "headline.utility", paper.headline.utility, paper.metrics
    for relation in paper.consistency:
        if relation.setting is not None:
            yield f"consistency.{relation.id}: setting", relation.setting, paper.settings
    for name, setting in paper.settings.items():
        for metric in setting.unstated.targets if setting.unstated else ():
            yield f"settings.{name}.unstated.targets: metric", metric, paper.metrics
        for source in setting.sources:
            yield f"settings.{name}.sources", source.partition(".")[0], Setting.model_fields
        there = (artifact for artifact in paper.artifacts.values() if name in artifact.settings)
        rows = {row.variant.selector for artifact in there for row in artifact.variants_in(name)}
        for fitted in setting.fitted or ():
            yield f"settings.{name}.fitted", fitted, rows | paper.algorithms.keys()
