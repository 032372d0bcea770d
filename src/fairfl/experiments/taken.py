"""Names that are taken: of rules, of folders, of modules."""

import keyword
import re
from functools import cache

from fairfl.experiments.paper import FOLDERS
from fairfl.experiments.plugins import PACKAGE

_FOLDER = {"algorithm": "algorithms", "dataset": "data"}


@cache
def _rules() -> frozenset[str]:
    """Names of the rules of the Snakefile: papers and their artifacts are targets beside them."""
    root = PACKAGE.parents[1]
    files = (root / "Snakefile", *sorted(root.glob("rules/*.smk")))
    text = "\n".join(path.read_text(encoding="utf-8") for path in files if path.is_file())
    return frozenset(re.findall(r"^ *(?:rule|checkpoint) +(\w+) *:", text, flags=re.M))


def rule(name: str) -> str:
    """'a rule of the workflow' if a target of this name would be one, else ''."""
    return "a rule of the workflow" if name in _rules() else ""


def taken(kind: str, name: str) -> str:
    """Thing that has the name that an algorithm, a dataset or a paper is to have; "" if nothing has."""
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        return "a word of Python"
    if kind == "paper":
        return "a folder of results/" if name in FOLDERS else rule(name)
    if (PACKAGE / _FOLDER[kind] / name).is_dir():
        return f"a folder of src/fairfl/{_FOLDER[kind]}/"
    return "a separate module" if name == "interface" else ""
