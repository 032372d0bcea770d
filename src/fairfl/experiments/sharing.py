"""Settings that several papers use: one defines it, others borrow it, as your experiment does."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fairfl.experiments.described import DescribedAlgorithm, Metric
from fairfl.experiments.paper import Paper
from fairfl.experiments.reading import load_paper
from fairfl.runtime.plain_data import shown
from fairfl.runtime.validation import SpecError


def with_setting_owners(
    papers: dict[str, Paper], available: Mapping[str, Path]
) -> dict[str, Paper]:
    """These papers, and behind them the lenders of their settings: a setting's id begins with its paper's name."""
    own = {setting for paper in papers.values() for setting in paper.settings}
    borrowers: dict[str, str] = {}  # lender -> the first that takes a setting from it
    for key, paper in papers.items():
        for artifact in paper.artifacts.values():
            for setting in {*artifact.settings} - own:
                borrowers.setdefault(setting.partition("_")[0], key)
    every = dict(papers)
    for name in sorted(borrowers.keys() & available.keys() - papers.keys()):
        try:
            every[name] = load_paper(available[name])
        except SpecError as error:
            raise SpecError(
                f"papers/{borrowers[name]}.yaml: takes a setting from another file: {error}"
            ) from None
    return every


class Sharing:
    """Users of each setting among `papers`. Artifacts of `built` are built, the others only lend settings."""

    def __init__(
        self, papers: Mapping[str, Paper], built: Sequence[str], paper_of: Mapping[str, str]
    ) -> None:
        self._papers, self._built = papers, built
        self._users = {setting: [paper] for setting, paper in paper_of.items()}
        for name in built:
            for artifact in papers[name].artifacts.values():
                for setting in artifact.settings:
                    if name not in self._users.setdefault(setting, []):
                        self._users[setting].append(name)

    def users(self, setting: str) -> list[str]:
        """The paper that defines a setting (a point of a grid: the one whose grid it is), then its borrowers."""
        return self._users[setting.partition("~")[0]]

    def builders(self, setting: str) -> list[str]:
        """Users of a setting whose artifacts are built."""
        return [name for name in self.users(setting) if name in self._built]

    def author(self, setting: str, algorithm: str) -> str:
        """The first paper with a setting that describes an algorithm; the one that defines the setting if none does."""
        users = self.users(setting)
        return next(
            (name for name in users if algorithm in self._papers[name].algorithms), users[0]
        )

    def usage(self, setting: str, algorithm: str) -> DescribedAlgorithm | None:
        """Use of an algorithm in a setting by its author; None if no paper describes it."""
        return self._papers[self.author(setting, algorithm)].algorithms.get(algorithm)

    def metrics(self, setting: str) -> dict[str, Metric]:
        """Metrics by id, each as the first paper with the setting that has it describes it."""
        papers = [self._papers[name] for name in reversed(self.users(setting))]
        return {key: metric for paper in papers for key, metric in paper.metrics.items()}

    def faults(self) -> Iterator[str]:
        """Contradictions of a borrower to what holds for all numbers of a setting: fixed parameters, units."""
        for setting, (lender, *borrowers) in self._users.items():
            for name in borrowers:
                metrics = self.metrics(setting)
                for key, metric in self._papers[name].metrics.items():
                    if metric.unit != metrics[key].unit:
                        yield (
                            f"papers/{name}.yaml: metrics.{key}.unit: {shown(metric.unit)}: numbers of "
                            f"{setting} are in {shown(metrics[key].unit)}, as papers/{lender}.yaml says"
                        )
                for key in self._in(name, setting):
                    defaults, usage = (
                        self._papers[name].algorithms[key].defaults,
                        self.usage(setting, key),
                    )
                    if usage and defaults and defaults != usage.defaults:
                        yield (
                            f"papers/{name}.yaml: algorithms.{key}.defaults: {shown(defaults)}: {setting} is of "
                            f"papers/{lender}.yaml, where they are {shown(usage.defaults)}; leave them out, and "
                            "name what differs in the rows' hyperparameters"
                        )

    def _in(self, paper: str, setting: str) -> dict[str, None]:
        """Algorithms of a paper's rows in a setting."""
        return {
            row.algorithm: None
            for one in self._papers[paper].artifacts.values()
            if setting in one.settings
            for row in one.variants_in(setting)
        }
