"""papers/*.yaml and scales/*.yaml read: templates resolved, patches of a scale applied."""

import fnmatch
from pathlib import Path
from typing import Any

from fairfl.spec.paper import Paper, Scale
from fairfl.spec.setting import Setting
from fairfl.spec.strict import SpecError, check, load, merged, nearest


def nested(key: str, value: Any) -> dict[str, Any]:
    """`a.b` and v -> {"a": {"b": v}}."""
    head, _, rest = key.partition(".")
    return {head: nested(rest, value)} if rest else {head: value}


def _with_templates(raw: dict[str, Any], file: str) -> dict[str, Any]:
    """Resolve `extends: name` of settings against `templates` and earlier settings."""
    templates = raw.pop("templates", None) or {}
    settings = raw.get("settings") or {}
    done: dict[str, dict] = {}

    def resolve(name: str, trail: tuple[str, ...]) -> dict:
        if name in trail:
            raise SpecError(f"{file}: settings.{trail[0]}: extends runs in a circle: {' -> '.join(trail)}")
        body = settings.get(name, templates.get(name))
        if not isinstance(body, dict):
            known = list(templates) + list(settings)
            raise SpecError(f"{file}: settings.{(*trail, name)[0]}: extends unknown {name!r}{nearest(name, known)}")
        own = {key: value for key, value in body.items() if key != "extends"}
        parent = body.get("extends")
        return merged(resolve(parent, (*trail, name)), own) if parent else own

    for name in settings:
        done[name] = resolve(name, ())
    return {**raw, "settings": done}


def load_paper(path: Path) -> Paper:
    """Read papers/<paper>.yaml. Raises SpecError with file, key, value and nearest valid name."""
    raw = load(path)
    if not isinstance(raw, dict):
        raise SpecError(f"{path}: expected `key: value` lines")
    paper = check(_with_templates(raw, str(path)), Paper, str(path))
    if paper.paper != path.stem:
        raise SpecError(f"{path}: paper: {paper.paper!r} must equal the file's name {path.stem!r}")
    return paper


def patched(name: str, setting: Setting, scale: Scale, file: str) -> Setting:
    """A setting under a scale."""
    data = setting.model_dump(mode="json")
    asked_for = setting.data.name
    touched = False
    for number, patch in enumerate(scale.patches):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patch.match):
            continue
        touched = True
        for key, value in patch.set.items():
            tree = nested(key, value)
            head = next(iter(tree))
            if head not in Setting.model_fields:
                hint = nearest(head, Setting.model_fields)
                raise SpecError(f"{file}: patches.{number}.set.{key}: unknown key (value {value!r}){hint}")
            # A plug-in that is named anew starts from its own defaults, not from the old one's options.
            fresh = isinstance(value, dict) and "name" in value
            data = {**data, head: value} if fresh else merged(data, tree)
    if not touched:
        return setting
    if data["data"]["name"] != asked_for:
        data["data"] = {**data["data"], "stands_in_for": asked_for}
    return check(data, Setting, file, f"{name} at scale {scale.scale}")
