"""What config.yaml selects of papers at a scale: artifacts, settings, variants."""

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from fairfl.experiments.artifact import Artifact
from fairfl.experiments.config import Config
from fairfl.experiments.paper import Paper
from fairfl.experiments.scale import Scale
from fairfl.experiments.setting import Setting
from fairfl.experiments.variant import Variant, selected_by
from fairfl.runtime.plain_data import few, shown
from fairfl.runtime.validation import SpecError, nearest


@dataclass
class ExperimentSelection:
    """The selected parts.

    `papers` are `config.papers`, whose artifacts are built, and papers that only lend them settings.
    """

    config: Config
    papers: dict[str, Paper]
    scale: Scale
    settings: dict[str, Setting]
    paper_of: dict[str, str]
    # Papers that only a pattern means -> why they are left out.
    faulty: dict[str, str] = field(default_factory=dict)
    unselected: frozenset[str] = frozenset()  # papers that there are, and config.yaml leaves out

    @cached_property
    def known(self) -> dict[str, tuple[str, str, Artifact]]:
        """Artifacts that may be targets: 'eagle_table8' -> (paper, id, artifact), each with its selected settings."""
        every = {
            f"{name}_{key}": (name, key, part)
            for name in self.config.papers
            for key, artifact in self.papers[name].artifacts.items()
            if (part := self._restricted(artifact)) is not None
        }
        if self.config.artifacts is None:
            return every
        for name in self.config.artifacts:
            if name not in every:
                why = self.why_left_out(name) or nearest(name, every)
                raise SpecError(f"config.yaml: artifacts: no artifact {shown(name)}{why}")
        return {key: value for key, value in every.items() if key in self.config.artifacts}

    def why_left_out(self, name: str) -> str:
        """Key that leaves out a paper or an artifact that there is; "" for names of nothing."""
        paper, _, key = name.partition("_")
        if paper in self.faulty:
            return f": {self.faulty[paper]}"
        if paper in self.unselected:
            return f": `papers` leaves out {paper}"
        if paper not in self.config.papers or key not in self.papers[paper].artifacts:
            return ""
        settings = self.papers[paper].artifacts[key].settings
        if settings and not any(map(self.selected, settings)):
            return f": `settings` leaves out all that it shows: {few(settings, 3)}"
        return ": `artifacts` leaves it out"

    @cached_property
    def artifacts(self) -> dict[str, tuple[str, str, Artifact]]:
        """Selected artifacts: the known ones, without those on request unless config.yaml asks for these."""
        asked_for = self.config.artifacts is not None or self.config.tuned
        left_out = [name for name in self.scale.on_request if not asked_for]
        return {name: entry for name, entry in self.known.items() if name not in left_out}

    def shown_settings(self) -> Iterator[tuple[Artifact, str]]:
        """Each selected artifact with each of its settings."""
        for _, _, artifact in self.artifacts.values():
            for setting in artifact.settings:
                yield artifact, setting

    def file_of(self, setting: str) -> str:
        """The file that defines a setting, 'papers/eagle.yaml'."""
        return f"papers/{self.paper_of[setting]}.yaml"

    def selected(self, setting: str) -> bool:
        matches, patterns = partial(fnmatch.fnmatchcase, setting), self.config.settings
        if patterns is None:
            return not any(map(matches, self.scale.left_out))
        return any(map(matches, patterns))

    @property
    def open(self) -> list[str]:
        """Settings of the selected artifacts that have facts to calibrate."""
        used = dict.fromkeys(setting for _, setting in self.shown_settings())
        return [name for name in used if self.settings[name].unstated]

    @cached_property
    def _selectors(self) -> set[str | Variant]:
        """Names in `algorithms` of config.yaml: algorithms, or variants of them."""
        return {selected_by(text) for text in self.config.algorithms or ()}

    def wants(self, variant: Variant) -> bool:
        """True if a variant is to run: config.yaml says qffl/q=0.1 or qffl."""
        return self.config.algorithms is None or not self._selectors.isdisjoint(
            (variant.algorithm, variant)
        )

    def _restricted(self, artifact: Artifact) -> Artifact | None:
        """The artifact without settings that are not to run; None if nothing of it is left."""
        settings = list(filter(self.selected, artifact.settings))
        return (
            artifact.model_copy(update={"settings": settings})
            if settings or not artifact.settings
            else None
        )
