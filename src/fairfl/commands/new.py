"""fairfl new algorithm|paper|dataset NAME: a working skeleton with its test, which passes as it is."""

import argparse
import math
import re
from collections.abc import Callable
from pathlib import Path
from string import Template

from fairfl.experiments.config import TEMPLATE, Config
from fairfl.experiments.strict import load
from fairfl.experiments.taken import taken
from fairfl.runtime import atomic
from fairfl.runtime.errors import FairflError
from fairfl.runtime.plain_data import shown
from fairfl.runtime.validation import check

SKELETONS = Path(__file__).with_name("skeletons")
_LONGEST = 40


def main(root: Path, argv: list[str]) -> None:
    """Raises FairflError for a bad name, and if a file is there already; then nothing is written."""
    args = make_parser().parse_args(argv)
    name = checked(args.kind, args.name)
    files, advice = KINDS[args.kind](root, name)
    for path in files:
        if path.exists():
            raise FairflError(
                f"{_shown(root, path)} is there already; choose another name, or move it away"
            )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write_text(path, text)
        print(f"wrote {_shown(root, path)}")
    test = next(path for path in files if path.name.startswith("test_"))
    print(f"\ntest it: .venv/bin/python -m pytest {_shown(root, test)}\n{advice}")


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command's options."""
    parser = argparse.ArgumentParser(prog="fairfl new", description=__doc__)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument(
        "name", help="small letters, digits and _; of a paper, letters and digits only"
    )
    return parser


def checked(kind: str, name: str) -> str:
    """The name. Raises FairflError if none of the kind can have it."""
    named = "an algorithm" if kind == "algorithm" else f"a {kind}"
    pattern = "[a-z][a-z0-9]*" if kind == "paper" else "[a-z][a-z0-9_]*"
    if not re.fullmatch(pattern, name) or len(name) > _LONGEST:
        allowed = "small letters and digits" if kind == "paper" else "small letters, digits and _"
        raise FairflError(
            f"{shown(name)} cannot name {named}: expected {allowed}, a letter first, {_LONGEST} at most"
        )
    if what := taken(kind, name):
        raise FairflError(f"{shown(name)} cannot name {named}: the name is taken, by {what}")
    return name


def _shown(root: Path, path: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _filled(skeleton: str, name: str) -> str:
    words = [word.capitalize() for word in name.split("_") if word]
    names = {"name": name, "title": " ".join(words), "class_name": "".join(words)}
    return Template((SKELETONS / f"{skeleton}.txt").read_text()).substitute(names)


Files = dict[Path, str]


def _algorithm(root: Path, name: str) -> tuple[Files, str]:
    files = {
        root / f"src/fairfl/algorithms/{name}.py": _filled("algorithm", name),
        root / f"tests/unit/algorithms/test_{name}.py": _filled("test_algorithm", name),
    }
    return files, _filled("use_algorithm", name)


def _dataset(root: Path, name: str) -> tuple[Files, str]:
    data = check(load(root / "config.yaml"), Config, "config.yaml").data_folder
    files = {
        root / f"src/fairfl/data/{name}.py": _filled("dataset", name),
        root / f"tests/unit/data/test_{name}.py": _filled("test_dataset", name),
        root / data / name / f"{name}.csv": points(),
    }
    return files, _filled("use_dataset", name)


def _paper(root: Path, name: str) -> tuple[Files, str]:
    files = {
        root / f"papers/{name}.yaml": paper(
            (root / "papers" / f"{TEMPLATE}.yaml").read_text(), name
        ),
        root / f"tests/unit/experiments/test_{name}_paper.py": _filled("test_paper", name),
    }
    return files, _filled("use_paper", name)


KINDS: dict[str, Callable[[Path, str], tuple[Files, str]]] = {
    "algorithm": _algorithm,
    "dataset": _dataset,
    "paper": _paper,
}


def paper(template: str, name: str) -> str:
    """papers/template.yaml under another name, without what it says about itself."""
    head, _, rest = template.partition("\n\n")
    return f"{head.splitlines()[0]}\n\n{re.sub(TEMPLATE, name, rest, flags=re.I)}"


def points() -> str:
    """An example table: two features, the class as a word, and one of four owners; nothing in it is drawn by chance."""
    lines = ["x,y,label,owner"]
    for number in range(240):
        owner, sign = number % 4, 1 if number // 4 % 2 else -1
        x = sign + 1.2 * math.sin(12.9898 * number)
        y = 0.5 * sign * (owner - 1.5) + 1.2 * math.sin(78.233 * number)
        lines.append(f"{x:.3f},{y:.3f},{'right' if sign > 0 else 'left'},{'abcd'[owner]}")
    return "\n".join(lines) + "\n"
