"""Every command in README, docs/ and messages is read by the parser that reads it when a user types it."""

import ast
import functools
import re
import shlex
from pathlib import Path

import pytest
from snakemake import cli

from fairfl.commands import compare, main, new, show
from fairfl.commands.main import COMMANDS, TARGETS
from fairfl.commands.snakemake import config_of, line_of, split_at, with_cores
from fairfl.experiments.workload import load_workload
from fairfl.runtime.errors import FairflError
from tests.defaults import CONFIG

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MAKEFILE = (ROOT / "Makefile").read_text()
LAUNCHERS = ("fairfl", "snakemake", "make", ".venv/bin/snakemake", ".venv/bin/fairfl")
OWN = {"mine", "points", "tilted"}  # what a reader writes
RULES = set(re.findall(r"^rule (\w+):", "\n".join(file.read_text() for file in ROOT.glob("rules/*.smk")), re.M))


def documented() -> list[str]:
    """Commands in blocks of code and between backquotes, of pages and messages, without ellipses and <names>."""
    lines = []
    for page in PAGES:
        text = re.sub(r"<!-- derived.*?-->", "", page.read_text(), flags=re.S)
        blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
        lines += [line.split("  #")[0] for block in blocks for line in block.replace("\\\n", " ").splitlines()]
        lines += re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    for module in (ROOT / "src/fairfl").rglob("*.py"):
        found = (node.value for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Constant))
        lines += [line for text in found if isinstance(text, str) for line in re.findall(r"`([^`\n]+)`", text)]
    lines += [line for text in lines for line in re.findall(r'--wrap "([^"]+)"', text)]  # of sbatch
    parts = [part.strip() for line in lines for part in re.split("&&| [|] ", line)]
    asked = [part for part in parts if part.split(" ")[0] in LAUNCHERS and not re.search(r"\.\.\.|[<>{]", part)]
    return sorted(dict.fromkeys(asked))


def read_snakemake(words: list[str], targets: tuple[str, ...] = ()) -> None:
    """Options are Snakemake's, keys and values those of config.yaml, targets exist. Nothing is planned."""
    pairs, others = config_of(words)
    _, args = cli.parse_args(with_cores(others))
    given = cli.parse_config(pairs)
    names = [*args.targets, *targets]
    if OWN & set(re.findall(r"[a-z]+", f"{given} {names}")):
        return
    known = targets_of(repr(CONFIG | given))
    assert set(names) <= known, sorted(set(names) - known)


@functools.cache
def targets_of(config: str) -> set[str]:
    workload = load_workload(ROOT, ast.literal_eval(config))
    return {*workload.papers, *workload.known, *RULES, *TARGETS.values(), "all"}


def read_fairfl(words: list[str]) -> None:
    command, *rest = words or ["--help"]
    assert command == "--help" or command in COMMANDS
    if command in ("new", "show", "compare", "--help") and not rest:
        return
    if command in ("new", "show"):
        {"new": new, "show": show}[command].make_parser().parse_args(rest)
    elif command in ("verify", "clear"):
        main.make_parser(command).parse_args(config_of(rest)[1])
    elif command == "compare":
        config, others = config_of(rest)
        _, unknown = compare.make_parser().parse_known_args(split_at(others, "--")[0])
        read_snakemake(line_of(["--config", *config] if config else [], unknown))
    else:
        read_snakemake(rest, (TARGETS[command],) if command in TARGETS else ())


def read_make(words: list[str]) -> None:
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.M))
    for word in words:
        name, assigned, value = word.partition("=")
        if not assigned:
            assert name in targets, f"no target {name!r}"
            continue
        assert re.search(rf"\b{name}\b", MAKEFILE), f"the Makefile reads no {name}"
        if name == "ARGS" and not targets & {*words} - {"calibrate", "report", "stored-results"}:
            read_snakemake(shlex.split(value))


@pytest.mark.parametrize("line", documented())
def test_a_documented_command_is_understood(line, root, monkeypatch):
    monkeypatch.chdir(root)
    launcher, *words = shlex.split(line)
    try:
        {"make": read_make, "fairfl": read_fairfl}.get(Path(launcher).name, read_snakemake)(words)
    except (SystemExit, FairflError, AssertionError) as error:
        pytest.fail(f"{line}: {error}")


WRONG = """
fairfl run --config scale=full artifacts=[fedfv_table3] --download
fairfl compare mine --with fedfv_table3 --downlaod
fairfl plan --config sclae=full
snakemake --cores all eagle_tabel8
make stored-result
make ARGS="--confg scale=small"
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_a_wrong_one_is_not(line, root, monkeypatch):
    with pytest.raises(pytest.fail.Exception):
        test_a_documented_command_is_understood(line, root, monkeypatch)
