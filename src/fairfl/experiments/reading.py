"""papers/*.yaml and scales/*.yaml read: templates resolved, patches of a scale applied."""

import fnmatch
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from fairfl.experiments.declaration import declaration
from fairfl.experiments.paper import Paper
from fairfl.experiments.scale import Scale
from fairfl.experiments.setting import Setting
from fairfl.experiments.strict import load, merged
from fairfl.experiments.taken import rule
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import format_place, shown
from fairfl.runtime.validation import Model, SpecError, check, nearest


def nested(key: str, value: Any) -> dict[str, Any]:
    """`a.b` and v -> {"a": {"b": v}}."""
    head, _, rest = key.partition(".")
    return {head: nested(rest, value)} if rest else {head: value}


def with_key(data: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A setting as data with key `a.b` set. A plug-in that is named again starts from its own defaults, not from the
    old one's options."""
    tree = nested(key, value)
    return data | tree if isinstance(value, dict) and "name" in value else merged(data, tree)


def _mapping(raw: dict[str, Any], key: str, file: str) -> dict[str, Any]:
    """Entries by name; {} if the key is not there."""
    value = raw.get(key) or {}
    if not isinstance(value, dict):
        raise SpecError(f"{file}: {key}: {shown(value)}: expected entries by name, `name: ...`")
    return value


def _extended(parent: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """A setting laid over the one that it extends. Another plug-in starts from its own defaults, not from the old one's
    options."""

    def is_another(new: Any, old: Any) -> bool:
        return (
            isinstance(new, dict)
            and isinstance(old, dict)
            and new.get("name", old.get("name")) != old.get("name")
        )

    return merged(
        {key: old for key, old in parent.items() if not is_another(own.get(key), old)}, own
    )


class SettingFactors:
    """The factors of a grid of settings, `factors: {heterogeneity: {mild: {partition: ...}, ...}, ...}`.

    A setting with `levels: [mnist, mild, all]`, one of each factor, has what these levels set, later factors over
    earlier ones and all over what it extends. An artifact with `settings: {heterogeneity: [mild]}` has all settings of
    these levels, in their order.
    """

    def __init__(self, factors: dict[str, Any], file: str) -> None:
        self.levels = {factor: _mapping(factors, factor, f"{file}: factors") for factor in factors}
        self.file = file

    def chosen(self, levels: Any, where: str) -> list[dict[str, Any]]:
        """Keys that the levels of a setting set, one for each factor, and then their names."""
        if levels is None:
            return []
        names = levels if isinstance(levels, list) else [levels]
        if len(names) != len(self.levels):
            raise SpecError(
                f"{where}: levels: {shown(levels)}: expected one each of {', '.join(self.levels) or 'no factors'}"
            )
        for (factor, options), name in zip(self.levels.items(), names, strict=True):
            if name not in options:
                raise SpecError(
                    f"{where}: levels: {factor} has no level {shown(name)}{nearest(name, options)}"
                )
        named = dict(zip(self.levels, names, strict=True))
        return [self.levels[factor][name] or {} for factor, name in named.items()] + [
            {"levels": named}
        ]

    def settled(self, artifact: Any, settings: Mapping[str, dict[str, Any]]) -> Any:
        """An artifact with the settings that its levels name."""
        selection = artifact.get("settings") if isinstance(artifact, dict) else None
        if not isinstance(selection, dict):
            return artifact
        for factor, names in selection.items():
            if factor not in self.levels:
                raise SpecError(
                    f"{self.file}: artifacts: settings: no factor {shown(factor)}{nearest(factor, self.levels)}"
                )
            if unknown := [name for name in names if name not in self.levels[factor]]:
                text = f"{factor} has no level {shown(unknown[0])}{nearest(unknown[0], self.levels[factor])}"
                raise SpecError(f"{self.file}: artifacts: settings: {text}")
        matches = [
            name
            for name, setting in settings.items()
            if (levels := setting.get("levels"))
            and all(levels[factor] in names for factor, names in selection.items())
        ]
        return {**artifact, "settings": matches}


def _with_templates(raw: dict[str, Any], file: str) -> dict[str, Any]:
    """Resolve `extends: name` of settings against `templates` and earlier settings, and their `levels`."""
    templates, settings = _mapping(raw, "templates", file), _mapping(raw, "settings", file)
    names, factors = [*templates, *settings], SettingFactors(_mapping(raw, "factors", file), file)

    def resolve(name: str, trail: tuple[str, ...]) -> dict:
        where = f"{file}: settings.{format_place((*trail, name)[:1])}"
        if name in trail:
            raise SpecError(f"{where}: extends runs in a circle: {' -> '.join((*trail, name))}")
        body = settings.get(name, templates.get(name))
        if not isinstance(body, dict):
            fault = (
                f"extends unknown {shown(name)}{nearest(name, names)}"
                if trail
                else "expected `key: value` lines"
            )
            raise SpecError(f"{where}: {fault}")
        own = {key: value for key, value in body.items() if key not in ("extends", "levels")}
        parent = body.get("extends")
        if not isinstance(parent, str | None):
            raise SpecError(f"{where}: extends: {shown(parent)} is no name{nearest(parent, names)}")
        laid = {} if parent is None else resolve(parent, (*trail, name))
        laid.pop("levels", None)  # another setting is another point of the grid, or none
        for level in factors.chosen(body.get("levels"), where):
            laid = _extended(laid, level)
        return _extended(laid, own)

    resolved = {name: resolve(name, ()) for name in settings}
    rest = {
        key: value for key, value in raw.items() if key not in ("templates", "factors", "settings")
    }
    if "artifacts" in raw and factors.levels:
        rest["artifacts"] = {
            name: factors.settled(one, resolved)
            for name, one in _mapping(raw, "artifacts", file).items()
        }
    return {**rest, "settings": resolved} if "settings" in raw else rest


def load_paper(path: Path) -> Paper:
    """Read papers/<paper>.yaml. Raises SpecError with file, key, value and nearest valid name."""
    raw = load(path)
    if not isinstance(raw, dict):
        raise SpecError(f"{path}: expected `key: value` lines, found {shown(raw)}")
    paper = called_like_file(
        check(_with_templates(raw, str(path)), Paper, str(path)), "paper", path
    )
    for key in (paper.paper, *(f"{paper.paper}_{key}" for key in paper.artifacts)):
        if why := rule(key):
            raise SpecError(f"{path}: {shown(key)} is {why}: choose another name")
    for name in paper.algorithms:
        try:
            declaration("algorithms", name)
        except FairflError as error:
            raise SpecError(f"{path}: algorithms.{format_place((name,))}: {error}") from None
    return paper


def load_scale(path: Path) -> Scale:
    """Read scales/<scale>.yaml. Raises SpecError with file, key, value and nearest valid name."""
    return called_like_file(check(load(path), Scale, str(path)), "scale", path)


def check_artifacts(
    scale: Scale, papers: dict[str, Paper], available: Collection[str], file: str
) -> None:
    """Raises SpecError if a scale names an artifact that does not exist, or makes one on request that needs runs.

    Artifacts of papers that are not selected may all exist.
    """
    every = {
        f"{name}_{key}": one
        for name, paper in papers.items()
        for key, one in paper.artifacts.items()
    }
    for key, names in (
        ("opt_in.artifacts", scale.on_request),
        ("uninformative", scale.uninformative),
    ):
        for name in names:
            paper = name.partition("_")[0]
            if name not in every and (paper in papers or paper not in available):
                raise SpecError(f"{file}: {key}: no artifact {shown(name)}{nearest(name, every)}")
    for name in scale.on_request:
        if name in every and "tidy" in every[name].origins:
            raise SpecError(
                f"{file}: opt_in.artifacts: {name} prints results of runs, expected one that prints what tuning chose"
            )


def called_like_file(spec: Model, key: str, path: Path) -> Model:
    """The spec, if it is called like its file: results lie under this name."""
    if getattr(spec, key) != path.stem:
        raise SpecError(
            f"{path}: {key}: {getattr(spec, key)!r} must equal the file's name {path.stem!r}"
        )
    return spec


def patched(name: str, setting: Setting, scale: Scale, file: str) -> Setting:
    """A setting under a scale."""
    data = setting.model_dump(mode="json")
    asked_for = setting.data.name
    touched = False
    for patch in scale.patches:
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patch.match):
            continue
        touched = True
        for key, value in patch.set.items():
            data = with_key(data, key, value)
    if not touched:
        return setting
    source = data["data"]
    if isinstance(source, dict) and source.get("name") != asked_for:
        data["data"] = {**source, "stands_in_for": asked_for}
    return check(data, Setting, file, f"{name} at scale {scale.scale}")
