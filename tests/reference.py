"""docs/reference.md and docs/configuration.md, made from the code: metrics, units, claims, plots; keys of config.yaml.

make reference
"""

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from fairfl.experiments.config import Config, VerdictConfig
from fairfl.experiments.declaration import declaration
from fairfl.experiments.origin import CONFIGURED, STATISTICS, TIMED
from fairfl.experiments.plugins import names
from fairfl.experiments.setting import Setting
from fairfl.experiments.workload import load_workload
from fairfl.judgement.claims import grammar
from fairfl.judgement.units import shown_as, unit_words
from fairfl.metrics import registry
from tests.defaults import CONFIG

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ("eagle", "fedeba", "focus", "fedfv", "vred")
WORDS = yaml.safe_load((ROOT / "tests/reference.yaml").read_text(encoding="utf-8"))
FORMULAS = {name: formula for formula, metrics in WORDS["formulas"].items() for name in metrics}
OF, SAID, FAMILIES, SELECTED = (WORDS[key] for key in ("of", "said", "families", "selected"))


def meanings() -> dict[str, str]:
    """Metric -> what the first paper that has it says."""
    papers = load_workload(ROOT, {"scale": "full", "papers": list(PAPERS)}).papers
    return {key: m.meaning for paper in reversed(PAPERS) for key, m in papers[paper].metrics.items()}


def meaning(metric: str, function: Any, said: dict[str, str]) -> str:
    """Of a metric. Raises KeyError for one that nobody describes."""
    percent = function.keywords["percent"] if isinstance(function, partial) and "percent" in function.keywords else None
    if metric in SAID:
        return SAID[metric]
    text = inspect.getdoc(function.func if isinstance(function, partial) else function) if function else None
    if not text or metric.startswith("rounds_to"):
        return said.get(metric) or said[re.sub(r"\d+$", "90", metric)].replace("0.90", f"0.{metric[-2:]}")
    first = text.partition("\n\n")[0].replace("\n", " ")
    return first.replace("`percent` %", f"{percent} %").rstrip(".")


def metrics() -> Iterator[tuple[str, ...]]:
    """id, unit, what of, what it is: of all that runs measure, in the order of the registry."""
    said = meanings()
    for name, (unit, of, function) in registry.METRICS.items():
        yield name, unit, OF[of], meaning(name, None if of == "optimum" else function, said)
    for name, unit in registry.SUMMED.items():
        yield name, unit, "the run", meaning(name, None, said)
    yield "assignment_rand", "", "the algorithm's clusters", SAID["assignment_rand"]
    yield "n_skipped", "count", "the setting", SAID["n_skipped"]
    for family in registry.FAMILIES:
        clients = "client k = 0, 1, ...; as a column `_k` is all"
        yield f"{family}_k", registry.FAMILIES[family], clients, FAMILIES[family]
    for name in STATISTICS:
        yield name, "", "the partition", meaning(name, None, said)
    for name in CONFIGURED:
        yield name, "", "the setting", meaning(name, None, said)
    for name in TIMED:
        yield name, "seconds", "the job `timing`", meaning(name, None, said)
    yield "learning_rate", "", "the job `tune`", "the rate that tuning chose"
    yield "hp_NAME", "", "the job `tune`", "the hyper-parameter NAME that tuning chose"


def described() -> Iterator[tuple[str, ...]]:
    for name, *rest in metrics():
        yield f"`{name}`", *rest, f"`{FORMULAS[name]}`" if name in FORMULAS else ""


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def units() -> Iterator[tuple[str, ...]]:
    for unit in dict.fromkeys(unit for unit in registry.UNITS.values() if unit):
        yield f"`{unit}`", unit_words(unit) or "a number", ", ".join(f"`{wanted}`" for wanted in shown_as(unit))


def plot(name: str) -> Iterator[str]:
    """A plot's section: its docstring, what it needs, its keys."""
    declared = declaration("reporting/plots", name)
    module = ast.parse((ROOT / f"src/fairfl/reporting/plots/{name}.py").read_text())
    yield f"### {name}\n\n{ast.get_docstring(module)}\n"
    needs = ["`settings`"] * bool(declared.NEEDS)
    needs += ["`rows`"] * bool({"tidy", "rounds", "model"} & set(declared.NEEDS))
    needs += ["`columns`"] * getattr(declared, "DRAWS_COLUMNS", False)
    yield f"Needs {', '.join(needs) or 'nothing but its options'}.\n"
    yield from keys(declared.Config.model_json_schema())


def keys(schema: dict[str, Any]) -> Iterator[str]:
    """A table of the keys of a JSON schema's object; nothing if it has none."""
    required = schema.get("required", [])
    lines = []
    for key, one in schema.get("properties", {}).items():
        default = "none" if key in required else f"`{json.dumps(one.get('default'), ensure_ascii=False)}`"
        lines.append((f"`{key}`", default, _kind(one), one.get("description", "")))
    if lines:
        yield table(("option", "default", "values", "is"), iter(lines)) + "\n"


def setting() -> Iterator[str]:
    """Tables of a setting's keys, and of those of its parts."""
    schema = Setting.model_json_schema()
    yield from keys(schema)
    for name, part in sorted(schema["$defs"].items()):
        if part.get("properties"):
            yield f"### {name}\n"
            yield from keys(part)


def options(kind: str) -> Iterator[str]:
    """A section for each plug-in of a kind: what it is, and its options."""
    for name in names(kind):
        module = ast.parse((ROOT / f"src/fairfl/{kind}/{name}.py").read_bytes())
        first = (ast.get_docstring(module) or "").partition("\n\n")[0].replace("\n", " ")
        yield f"### {name}\n\n{first}\n"
        yield from keys(declaration(kind, name).Config.model_json_schema())


def _kind(one: dict[str, Any]) -> str:
    """'test, train' or 'number' of a JSON schema's property."""
    if "enum" in one:
        return ", ".join(f"`{value}`" for value in one["enum"])
    if "$ref" in one:
        return f"keys of {one['$ref'].rpartition('/')[2]}"
    if "const" in one:
        return f"`{one['const']}`"
    if "anyOf" in one:
        return " or ".join(_kind(each) for each in one["anyOf"])
    kinds = {"array": "list", "object": "map", "string": "text", "boolean": "true or false"}
    return kinds.get(one.get("type", ""), one.get("type", "any"))


def suffixes() -> Iterator[tuple[str, ...]]:
    yield "`_late`", "as the mean over the last evaluations"
    for name in registry.ROUND_SELECTORS:
        yield f"`_{name}`", SELECTED[name]
    optima = (f"`{name}`" for name, (_, of, _) in registry.METRICS.items() if of == "optimum")
    yield "`_validation`", f"on validation data, of {' and '.join(optima)}"


def page() -> str:
    """The page's text: tests/reference.md with its tables."""
    parts = {
        "metrics": table(("id", "unit", "of", "is", "formula"), described()),
        "suffixes": table(("suffix", "is the metric"), suffixes()),
        "units": table(("measured in", "in words", "may be printed in"), units()),
        "claims": (grammar.__doc__ or "").partition("\n\n")[2].strip(),
        "grammar": inspect.cleandoc(grammar.GRAMMAR),
        "plots": "\n".join(text for name in names("reporting/plots") for text in plot(name)).strip(),
    }
    parts["setting"] = "\n".join(setting()).strip()
    parts |= {kind: "\n".join(options(kind)).strip() for kind in ("data", "partition", "models")}
    text = (ROOT / "tests/reference.md").read_text()
    for name, part in parts.items():
        text = text.replace(f"{{{{ {name} }}}}", part)
    return text


def config_keys(model: type[BaseModel], values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, ...]]:
    """key, default of config.yaml, values and description of each field."""
    properties = model.model_json_schema()["properties"]
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from config_keys(VerdictConfig, value, f"{key}.")
        else:
            one, shown = properties[key], json.dumps(value, ensure_ascii=False).strip('"')
            yield f"`{prefix}{key}`", f"`{shown}`", _kind(one), one["description"]


def configuration() -> str:
    """Text of docs/configuration.md."""
    rows = config_keys(Config, CONFIG)
    text = (ROOT / "tests/configuration.md").read_text()
    return text.replace("{{ keys }}", table(("key", "default", "values", "meaning"), rows))


PAGES = {"reference.md": page, "configuration.md": configuration}

if __name__ == "__main__":
    for name, text in PAGES.items():
        (Path(sys.argv[1]) / name).write_text(text())
