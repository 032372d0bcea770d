"""What the commands say to Snakemake."""

import argparse
import gc
import io
import pkgutil
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from fairfl.experiments.config import Config
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

_CORES = re.compile(r"--cores(=.*)?|--jobs(=.*)?|-[cj]\d*|--(workflow-)?profile(=.*)?")
_JOINED = re.compile(
    r"(-[ntkfFlSDvpa]+)([cjC].*)"
)  # flags of one letter, then an option with a value: -nC, -Fc1


def line_of(*parts: Sequence[str]) -> list[str]:
    """One command line of several parts: targets that stand behind a `--` in any of them come last, behind one `--`."""
    options: list[str] = []
    targets: list[str] = []
    behind = False
    for word in (word for part in parts for word in (*part, "")):
        behind = (behind and bool(word) and not word.startswith("-")) or word == "--"
        if word not in ("", "--"):
            (targets if behind else options).append(word)
    return [*options, *(["--", *targets] if targets else [])]


def with_cores(words: Sequence[str]) -> list[str]:
    """Options of Snakemake, with all cores unless they say otherwise."""
    return line_of(words, [] if any(map(_CORES.fullmatch, _apart(words))) else ["--cores", "all"])


def _apart(words: Sequence[str]) -> list[str]:
    """-nC KEY=VALUE as -n -C KEY=VALUE."""
    joined = map(_JOINED.fullmatch, words)
    return [
        p
        for word, m in zip(words, joined, strict=True)
        for p in ([m[1], f"-{m[2]}"] if m else [word])
    ]


def config_of(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """KEY=VALUE of all `--config`, and the other words. Of a key that is given twice the later value counts.

    Snakemake's own parser forgets every `--config` but the last. Raises FairflError for a word that is not KEY=VALUE.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--config", "-C", nargs="*", action="extend", default=[])
    options, rest = split_at(line_of(words), "--")
    options_found, others = parser.parse_known_args(_apart(options))
    for word in options_found.config:
        _check(word)
    return options_found.config, [*others, *rest]


def split_at(words: list[str], word: str) -> tuple[list[str], list[str]]:
    """Split words before a given one: the word and what stands behind it."""
    place = words.index(word) if word in words else len(words)
    return words[:place], words[place:]


def _check(word: str) -> None:
    """Snakemake ends in a traceback for a key that is not a name."""
    key, equals, value = word.partition("=")
    if not equals:
        raise FairflError(
            f"--config: {word!r} has no '=': put `--` before targets that follow --config"
        )
    name, dot, part = key.partition(".")
    if name not in Config.model_fields:
        raise FairflError(
            f"--config {word}: config.yaml has no key {name!r}{nearest(name, Config.model_fields)}"
        )
    if dot:
        raise FairflError(f"--config {word}: write --config '{name}={{{part}: {value}}}'")


def run(words: Sequence[str]) -> None:
    """Snakemake's command line in this process. Ends it.

    Of its profile Snakemake speaks before any logger is there: that line is left out, it says nothing of the work.
    """
    gc.disable()  # planning makes millions of objects that stay: a seventh of its time; Session.start enables it
    for library in {"pandas", "requests"} - sys.modules.keys():
        if spec := find_spec(library):
            sys.modules[library] = _WhenUsed(library)
            sys.modules[library].__spec__ = spec
    # Snakemake looks at all that is installed once for each of its five kinds of plugins.
    installed, listed = list(pkgutil.iter_modules()), pkgutil.iter_modules
    pkgutil.iter_modules = lambda path=None, prefix="": (
        listed(path, prefix) if path or prefix else iter(installed)
    )

    from snakemake import cli

    original, words = cli.parse_args, line_of(words)
    config, _ = config_of(words)

    def parse_args(argv: Any) -> Any:
        output = io.StringIO()
        try:
            with redirect_stderr(output):
                parser, args = original(argv)
        finally:
            sys.stderr.write(
                re.sub(
                    r"^Using .* for setting default command line arguments\.\n",
                    "",
                    output.getvalue(),
                )
            )
        args.config = config or args.config
        return parser, args

    cli.parse_args = parse_args
    sys.argv = ["snakemake", *words]
    cli.main(list(words))


class _WhenUsed(ModuleType):
    """A library that is imported at its first use: Snakemake and its plugins import some that no plan needs.

    importlib's LazyLoader would import it at the next `import`, which looks at its `__spec__`.
    """

    def __getattr__(self, name: str) -> Any:
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)
